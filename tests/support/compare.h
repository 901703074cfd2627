// Comparison of tensors with their expected values, and random tensors to compare on.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "engine/rng.h"
#include "engine/tensor.h"

namespace sink {

// "(1, 0, 5)": the index of element i of a contiguous tensor.
inline std::string index_text(const Shape& shape, std::int64_t i) {
  std::string text;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    text = std::to_string(i % shape[axis]) + (text.empty() ? "" : ", ") + text;
    i /= shape[axis];
  }
  return "(" + text + ")";
}

// Passes when every |actual - expected| <= relative * max|expected| + absolute; the maximum is the whole tensor's,
// because an element that is nearly zero by cancellation carries the rounding of its neighbours. An element that is NaN
// or infinite only matches its like. Reports at most five offenders.
inline void check_close(const std::string& what, const Tensor& actual, const Tensor& expected, double relative,
                        double absolute = 0) {
  CHECK_MESSAGE(actual.shape() == expected.shape(), what, ": expected shape ", expected.shape().str(), ", got ",
                actual.shape().str());
  if (!(actual.shape() == expected.shape())) return;
  double largest = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    if (std::isfinite(expected.item(i))) largest = std::max(largest, std::abs(expected.item(i)));
  }
  double tolerance = relative * largest + absolute;
  std::int64_t offenders = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    double a = actual.item(i), e = expected.item(i);
    bool close = std::isfinite(a) && std::isfinite(e) ? std::abs(a - e) <= tolerance
                                                      : a == e || (std::isnan(a) && std::isnan(e));
    if (close || ++offenders > 5) continue;
    CHECK_MESSAGE(close, what, " at ", index_text(expected.shape(), i), ": expected ", e, ", got ", a, ", off by ",
                  std::abs(a - e), ", tolerance ", tolerance);
  }
  CHECK_MESSAGE(offenders == 0, what, ": ", offenders, " of ", expected.size(), " elements are off");
}

// Normal draws of mean 0 and the given standard deviation, the same for every element type up to rounding.
inline Tensor random_tensor(const Shape& shape, DType dtype, std::uint64_t seed, double scale = 1) {
  Rng rng(seed, "test");
  Tensor values = Tensor::empty(shape, DType::F64);
  double* data = values.data<double>();
  for (std::int64_t i = 0; i < values.size(); ++i) data[i] = scale * rng.normal(static_cast<std::uint64_t>(i));
  return values.to(dtype);
}

}  // namespace sink
