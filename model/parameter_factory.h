// Creates the parameters of a model, in order, with the initial values of the paper (Gu et al. 2025).
#pragma once

#include "autograd/parameter_arena.h"
#include "engine/implementation.h"
#include "model/sizes.h"

namespace sink {

// `torch`: the defaults of PyTorch, which the multi-GPU runs of the paper effectively had. `formula_study`: the formula
// in its code, which scales down the last matrix of SwiGLU with depth, but not that of other feed-forward blocks.
// `formula` scales it in all of them but mixtures of experts, so that these start from the same values.
enum class InitScheme {
  torch,
  formula,
  formula_study,
  uninitialized  // the parameters have no values before they are loaded from a WeightSource
};
InitScheme init_scheme(const std::string& name);  // throws Exit::usage on another name

class ParameterFactory {
 public:
  // `extra_tokens`: those that the model puts before every sequence.
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
  // The same for the last product of a feed-forward block, which the formula scales with depth: 1 / (sqrt(in) layers).
  // `of_swiglu`: whether formula_study does so, too.
  const Parameter& depth_scaled_linear(const std::string& name, std::int64_t out, std::int64_t in, bool of_swiglu);
  // Table of learned rows, (rows, C): standard normal | normal with variance 2 / (5 C). `axes` names the axes, as in "V
  // C".
  const Parameter& embedding(const std::string& name, std::int64_t rows, std::int64_t C, const std::string& axes);
  // Gain of a norm, ones; its bias, zeros. Over the C elements of the residual stream, or those of `axes`.
  const Parameter& gain(const std::string& name, std::int64_t C, const std::string& axes = "C");
  const Parameter& bias(const std::string& name, std::int64_t C, const std::string& axes = "C");
  // Bias of a product with `out` rows, zeros; null where the model has none.
  const Parameter* linear_bias(const std::string& name, std::int64_t out, bool present);
  // For a mixture of E experts: the (out, in) weights of all experts side by side, (out, E in), each initialised like
  // one matrix; and their biases, (out, E).
  const Parameter& stacked_linear(const std::string& name, std::int64_t out, std::int64_t in, std::int64_t E);
  const Parameter* linear_biases(const std::string& name, std::int64_t out, std::int64_t E, bool present);
  // Of a recurrence: the values of a sum of `in` terms.
  const Parameter& recurrence(const std::string& name, const Shape& shape, const std::string& axes, std::int64_t in);
  // Extra keys, values and logits, biases of scores: normal with deviation 0.02.
  const Parameter& normal_init(ParameterRole role, const std::string& name, const Shape& shape,
                               const std::string& axes);

  // Starts another gradient bucket: the gradients of a bucket are complete at the same time of backward.
  void begin_bucket() { parameters_.begin_bucket(); }

  const Sizes& sizes() const { return sizes_; }
  // The longest sequence inside the model.
  std::int64_t positions() const { return sizes_.context + extra_tokens_; }
  // The compute dtype, that of matrix products; and the dtype of values that are never rounded to BF16.
  DType compute() const { return compute_; }
  DType real() const { return accumulate_type(compute_); }
  Device device() const { return device_; }
  // A table that is not trained, on the device of the model; F64 becomes real().
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
