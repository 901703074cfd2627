// Rows of tensors as spans for the reference, because a debugger prints the elements of spans.
#pragma once

#include <span>

#include "engine/tensor.h"

namespace sink::ref {

using Row = std::span<const double>;

// Row n of x (F64) with rows of `width` elements; empty if x is undefined.
inline Row row_of(const Tensor& x, std::int64_t n, std::int64_t width) {
  if (!x.defined()) return {};
  return {x.data<double>() + n * width, static_cast<std::size_t>(width)};
}
inline std::span<double> row_of(Tensor& x, std::int64_t n, std::int64_t width) {
  if (!x.defined()) return {};
  return {x.data<double>() + n * width, static_cast<std::size_t>(width)};
}

}  // namespace sink::ref
