// Learned vectors of D elements for the heads of a block, in the variants of the paper: one for each head, one for all
// heads, or only the first elements learned and the others 0 (Gu et al. 2025, Tables 4, 12 and 13).
#pragma once

#include "autograd/ops/gather_node.h"
#include "model/parameter_factory.h"

namespace sink {

enum class Scope { per_head, shared };

class HeadVectors {
 public:
  // `learned`: how many of the D elements are learned; 0: all.
  HeadVectors(ParameterFactory& make, ParameterRole role, const std::string& name, Scope scope,
              std::int64_t learned = 0)
      : parameter_(
            make.normal_init(role, name, shape(make.sizes(), scope, learned), scope == Scope::shared ? "D" : "H D")) {
    std::int64_t D = make.sizes().width_of_head(), width = learned > 0 ? learned : D;
    auto index = [&](std::int64_t h, std::int64_t d) {
      return d < width ? (scope == Scope::shared ? 0 : h) * width + d : -1;
    };
    index_HD_ = make.constant(Tensor::table<std::int32_t>(make.sizes().heads, D, index));
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
