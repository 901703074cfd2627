// Makes the parameters of a model with their initial values (of the study, Gu et al. 2025: its code and what its runs
// effectively had) and keeps them in order of creation.
#pragma once

#include <memory>
#include <vector>

#include "autograd/parameter.h"
#include "model/sizes.h"

namespace sink {

// The two initialisations of the study: what its multi-GPU runs effectively had (PyTorch's defaults), and the formula
// written in its code.
enum class InitScheme { torch, formula };
InitScheme init_scheme(const std::string& name);  // throws Exit::usage on another name

class ParameterFactory {
 public:
  ParameterFactory(const Sizes& sizes, InitScheme scheme, std::uint64_t seed, DType compute)
      : sizes_(sizes), scheme_(scheme), seed_(seed), compute_(compute) {}

  // Weight of y = x W^T, (out, in): uniform +-1/sqrt(in) | normal with variance 2 / (5 in).
  const Parameter& linear(const std::string& name, std::int64_t out, std::int64_t in);
  // The same for the last product of a SwiGLU block, which the formula shrinks with depth: 1 / (sqrt(in) layers).
  const Parameter& depth_scaled_linear(const std::string& name, std::int64_t out, std::int64_t in);
  // Table of learned rows, (rows, C): standard normal | normal with variance 2 / (5 C).
  const Parameter& embedding(const std::string& name, std::int64_t rows, std::int64_t C);
  // Gain of a norm: ones.
  const Parameter& gain(const std::string& name, std::int64_t C);

  const Sizes& sizes() const { return sizes_; }
  DType compute() const { return compute_; }
  std::vector<std::unique_ptr<Parameter>> take() { return std::move(parameters_); }

 private:
  const Parameter& add(const std::string& name, const Shape& shape, const Init& init);

  Sizes sizes_;
  InitScheme scheme_;
  std::uint64_t seed_;
  DType compute_;
  std::vector<std::unique_ptr<Parameter>> parameters_;
};

}  // namespace sink
