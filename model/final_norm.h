// FinalNorm: what comes between the residual stream and the unembedding: the norm of the Spec, or none where its
// placement has normalised the stream already (post-norm).
#pragma once

#include <optional>

#include "autograd/ops/convert_node.h"
#include "model/parameter_factory.h"
#include "model/residual.h"

namespace sink {

template <class Spec>
class FinalNorm {
 public:
  explicit FinalNorm(ParameterFactory& make) : compute_(make.compute()) {
    if constexpr (Spec::Placement::kFinalNorm) norm_.emplace(make, "final_norm");
  }
  // In the precision of products.
  Var operator()(const Residual& x) const { return norm_ ? x.normed(*norm_).y : convert(x, compute_); }

 private:
  std::optional<typename Spec::Norm> norm_;
  DType compute_;
};

}  // namespace sink
