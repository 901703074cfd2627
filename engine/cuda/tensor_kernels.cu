// Fills and conversions of tensors on the device.
#include "engine/cuda/cuda_memory.h"
#include "engine/cuda/elements.cuh"
#include "engine/cuda/vectors.cuh"

namespace sink::cuda {
namespace {

template <int N, class T>
void fill_by(T* out, std::int64_t count, T value) {
  for_each_element(count / N, [=] __device__(std::int64_t group) {
    Vector<T, N> values;
    for (int n = 0; n < N; ++n) values[n] = value;
    store_vector(out + group * N, values);
  });
}

template <class T>
void fill_with(Tensor& x, T value) {
  T* out = x.device_data<T>();
  with_vectors<kVector<T>>(in_vectors<kVector<T>>(x.size(), out),
                           [&](auto width) { fill_by<decltype(width)::value>(out, x.size(), value); });
}

template <int N, class From, class To>
void copy_by(const From* in, To* out, std::int64_t count) {
  for_each_element(
      count / N, [=] __device__(std::int64_t group) { store_vector(out + group * N, load_vector<N>(in + group * N)); });
}

template <class From, class To>
void copy(const Tensor& from, Tensor& to) {
  const From* in = from.device_data<From>();
  To* out = to.device_data<To>();
  constexpr int kWidth = kVector<From, To>;
  with_vectors<kWidth>(in_vectors<kWidth>(from.size(), in) && in_vectors<kWidth>(to.size(), out),
                       [&](auto width) { copy_by<decltype(width)::value>(in, out, from.size()); });
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
