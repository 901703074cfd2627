// Checks of the arguments of operations that start with a residual sum u = a + b.
#pragma once

#include "engine/ops/check_like.h"

namespace sink {

// b may be BF16 where a is F32.
inline void check_sum(const char* tag, const Tensor& a, const Tensor& b, const Tensor& u) {
  check_like(tag, "u", u, a);
  bool fits =
      b.shape() == a.shape() && (b.dtype() == a.dtype() || (b.dtype() == DType::BF16 && a.dtype() == DType::F32));
  SINK_CHECK(fits, tag, "b must have the shape of a and its type, or bf16: a is " + a.str() + ", b is " + b.str());
}

// du may be undefined. db is undefined, or BF16 if da is F32.
inline void check_sum_gradient(const char* tag, const Tensor& u, const Tensor& du, const Tensor& da, const Tensor& db) {
  if (du.defined()) check_like(tag, "du", du, u);
  check_like(tag, "da", da, u);
  SINK_CHECK(!db.defined() || (db.shape() == u.shape() && db.dtype() == DType::BF16 && u.dtype() == DType::F32), tag,
             "db must be bf16 of the shape of u, or undefined: u is " + u.str() + ", db is " + db.str());
}

}  // namespace sink
