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

// The switch `--precision int8`: on the CPU, products of F32 with stored weights in blocks round their inputs to 8 bits
// (engine/stored/int8_product.h); all else is F32. Set it before work starts.
inline bool& use_int8() {
  static bool on = false;
  return on;
}

// Of f32, bf16, tf32, int8 and f64.
inline DType stored_type(const std::string& precision) {
  return precision == "tf32" || precision == "int8" ? DType::F32 : dtype_named(precision);
}

}  // namespace sink
