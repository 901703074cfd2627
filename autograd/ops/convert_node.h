// y = x in another real type, between the precision of products and that of the residual stream.
#pragma once

#include "autograd/tape.h"

namespace sink {

struct ConvertNode : Node {
  Gradient dx;

  const char* name() const override { return "convert"; }
  void backward() override { dx.accumulate(output_grad().to(dx.dtype())); }
};

// x itself if it has this type already.
inline Var convert(const Var& x, DType type) {
  if (x.value().dtype() == type) return x;
  Tape* tape = Tape::recording(x);
  Var output(x.value().to(type), tape);
  if (tape) tape->add<ConvertNode>(output).dx = x.gradient();
  return output;
}

}  // namespace sink
