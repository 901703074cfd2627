// Makes the parameters of a model with their initial values (of the study, Gu et al. 2025: its code and what its runs
// effectively had), in order of creation.
#pragma once

#include "autograd/parameter_arena.h"
#include "engine/implementation.h"
#include "model/sizes.h"

namespace sink {

// The initialisations of the study: what its multi-GPU runs effectively had (PyTorch's defaults), and the formula
// written in its code, which shrinks the last matrix of SwiGLU with depth and that of no other feed-forward block:
// `formula_study` is that, `formula` shrinks it in all kinds, so that all start from the same numbers.
enum class InitScheme {
  torch,
  formula,
  formula_study,
  uninitialized  // the parameters have no values before they are loaded from a WeightSource
};
InitScheme init_scheme(const std::string& name);  // throws Exit::usage on another name

class ParameterFactory {
 public:
  // `extra_tokens` are those the model itself puts before every sequence.
  ParameterFactory(const Sizes& sizes, std::int64_t extra_tokens, InitScheme scheme, std::uint64_t seed, DType compute,
                   Device device = Device::cpu)
      : sizes_(sizes),
        extra_tokens_(extra_tokens),
        scheme_(scheme),
        seed_(seed),
        compute_(compute),
        device_(device),
        parameters_(compute, device) {}

  // Weight of y = x W^T, (out, in): uniform +-1/sqrt(in) | normal with variance 2 / (5 in).
  const Parameter& linear(const std::string& name, std::int64_t out, std::int64_t in,
                          const std::string& axes = "out in");
  // The same for the last product of a feed-forward block, which the formula shrinks with depth: 1 / (sqrt(in) layers).
  // `of_swiglu`: whether the study's formula does so, too.
  const Parameter& depth_scaled_linear(const std::string& name, std::int64_t out, std::int64_t in, bool of_swiglu);
  // Table of learned rows, (rows, C): standard normal | normal with variance 2 / (5 C). `axes` says what a row is of,
  // as in "V C".
  const Parameter& embedding(const std::string& name, std::int64_t rows, std::int64_t C, const std::string& axes);
  // Gain of a norm, ones; its bias, zeros. Over the C numbers of the residual stream, or those of `axes`.
  const Parameter& gain(const std::string& name, std::int64_t C, const std::string& axes = "C");
  const Parameter& bias(const std::string& name, std::int64_t C, const std::string& axes = "C");
  // Bias of a product with `out` rows, zeros; null where the model has none.
  const Parameter* linear_bias(const std::string& name, std::int64_t out, bool present);
  // Of a mixture of E experts: the weights of (out, in) of all of them side by side, (out, E in), drawn as those of one
  // are; and their biases, (out, E).
  const Parameter& stacked_linear(const std::string& name, std::int64_t out, std::int64_t in, std::int64_t E);
  const Parameter* linear_biases(const std::string& name, std::int64_t out, std::int64_t E, bool present);
  // Extra keys, values and logits, biases of scores: normal with deviation 0.02.
  const Parameter& normal_init(ParameterRole role, const std::string& name, const Shape& shape,
                               const std::string& axes);

  // What is made from here on is another bucket: its gradients are complete at another time of backward.
  void begin_section() { parameters_.begin_section(); }

  const Sizes& sizes() const { return sizes_; }
  // The longest sequence inside the model.
  std::int64_t positions() const { return sizes_.context + extra_tokens_; }
  // The type of products, and that of everything which is not rounded to bf16.
  DType compute() const { return compute_; }
  DType real() const { return accumulate_type(compute_); }
  Device device() const { return device_; }
  // A table that is not trained, as the model reads it: of type real() if it was F64, on the model's device.
  Tensor constant(const Tensor& table) const {
    return (table.dtype() == DType::F64 ? table.to(real()) : table).to(device_);
  }
  // The parameters with their initial values; the last call.
  ParameterArena take();

 private:
  Sizes sizes_;
  std::int64_t extra_tokens_;
  InitScheme scheme_;
  std::uint64_t seed_;
  DType compute_;
  Device device_;
  ParameterArena parameters_;
};

}  // namespace sink
