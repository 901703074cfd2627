#include "engine/cuda/tensor_kernels.h"

#include "engine/cuda/elements.cuh"

namespace sink::cuda {
namespace {

template <class T>
void fill_with(Tensor& x, T value) {
  T* out = x.device_data<T>();
  for_each_element(x.size(), [=] __device__(std::int64_t i) { out[i] = value; });
}

template <class From, class To>
void copy(const Tensor& from, Tensor& to) {
  const From* in = from.device_data<From>();
  To* out = to.device_data<To>();
  for_each_element(from.size(), [=] __device__(std::int64_t i) { store(out[i], in[i]); });
}

}  // namespace

void fill(Tensor& x, double value) {
  if (x.dtype() == DType::I32) return fill_with(x, static_cast<std::int32_t>(value));
  with_real(x.dtype(), [&](auto element) {
    store(element, value);
    fill_with(x, element);
  });
}

void convert(const Tensor& from, Tensor& to) {
  if (from.dtype() == DType::I32) return copy<std::int32_t, std::int32_t>(from, to);
  with_real(from.dtype(), [&](auto from_zero) {
    with_real(to.dtype(), [&](auto to_zero) { copy<decltype(from_zero), decltype(to_zero)>(from, to); });
  });
}

}  // namespace sink::cuda
