// xtensor adaptors of a Tensor's elements, for analysis and tests. Keep this header out of engine code: it is slow to
// compile.
#pragma once

#include <array>
#include <xtensor/xadapt.hpp>
#include <xtensor/xtensor.hpp>

#include "engine/tensor.h"

namespace sink {

namespace detail {
template <std::size_t N>
std::array<std::size_t, N> view_shape(const Tensor& tensor) {
  SINK_CHECK(tensor.rank() == static_cast<int>(N), "view",
             "asked for " + std::to_string(N) + " axes of " + tensor.str());
  std::array<std::size_t, N> shape;
  for (std::size_t axis = 0; axis < N; ++axis)
    shape[axis] = static_cast<std::size_t>(tensor.dim(static_cast<int>(axis)));
  return shape;
}
}  // namespace detail

// view<float, 3>(x_BTC)(b, t, c): shares the memory of the tensor, which must outlive the view.
template <class T, std::size_t N>
auto view(Tensor& tensor) {
  return xt::adapt(tensor.data<T>(), static_cast<std::size_t>(tensor.size()), xt::no_ownership(),
                   detail::view_shape<N>(tensor));
}
template <class T, std::size_t N>
auto view(const Tensor& tensor) {
  return xt::adapt(tensor.data<T>(), static_cast<std::size_t>(tensor.size()), xt::no_ownership(),
                   detail::view_shape<N>(tensor));
}

}  // namespace sink
