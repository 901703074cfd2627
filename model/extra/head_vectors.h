// One learned vector of D numbers for each head of a block, in the forms the study compares: a vector of its own for
// every head, one for all heads, or only the first few numbers learned and the others 0 (Gu et al. 2025, Tables 4, 12
// and 13).
#pragma once

#include "autograd/ops/gather_node.h"
#include "model/parameter_factory.h"

namespace sink {

enum class Scope { per_head, shared };

class HeadVectors {
 public:
  // `learned` numbers of D, at most all; 0: all.
  HeadVectors(ParameterFactory& make, ParameterRole role, const std::string& name, Scope scope,
              std::int64_t learned = 0)
      : parameter_(make.small(role, name, shape(make.sizes(), scope, learned), scope == Scope::shared ? "D" : "H D")) {
    std::int64_t H = make.sizes().heads, D = make.sizes().width_of_head();
    std::int64_t width = learned > 0 ? learned : D;
    index_HD_ = Tensor::empty({H, D}, DType::I32);
    for (std::int64_t n = 0; n < H * D; ++n) {
      std::int64_t row = scope == Scope::shared ? 0 : n / D, d = n % D;
      index_HD_.data<std::int32_t>()[n] = static_cast<std::int32_t>(d < width ? row * width + d : -1);
    }
  }

  // (H, D)
  Var operator()() const { return gather(parameter_, index_HD_, index_HD_.shape()); }

 private:
  static Shape shape(const Sizes& sizes, Scope scope, std::int64_t learned) {
    std::int64_t D = sizes.width_of_head();
    if (scope == Scope::shared) return {D};
    return {sizes.heads, learned > 0 ? learned : D};
  }

  const Parameter& parameter_;
  Tensor index_HD_;
};

}  // namespace sink
