// y = x in another dtype, between the compute dtype and that of the residual stream.
#pragma once

#include "autograd/record.h"

namespace sink {

struct ConvertNode {
  Gradient dx;

  static constexpr const char* name = "convert";
  void backward(const Tensor& dy) { dx.accumulate(dy.to(dx.dtype())); }
};

// x itself if it has this type already.
inline Var convert(const Var& x, DType type) {
  if (x.value().dtype() == type) return x;
  return record<ConvertNode>(x.value().to(type), x.gradient());
}

}  // namespace sink
