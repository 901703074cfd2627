// The values of `--precision`: the element type of tensors, and the exactness of F32 matrix products on a GPU.
#pragma once

#include <string>

#include "engine/dtype.h"

namespace sink {

// The switch `--precision tf32`: on the device, products of F32 matrices take 10 of the 23 fraction bits of their
// factors (TF32), which tensor cores multiply; sums and all else stay F32. Set it before work starts. The CPU has no
// such products.
inline bool& use_tf32() {
  static bool on = false;
  return on;
}

// Of f32, bf16, tf32 and f64.
inline DType stored_type(const std::string& precision) {
  return precision == "tf32" ? DType::F32 : dtype_named(precision);
}

}  // namespace sink
