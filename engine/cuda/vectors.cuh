// Neighbouring numbers that a thread loads and stores together, up to 16 bytes an instruction: what rows and elements
// are read by where their size and address allow it, else one by one (N = 1).
#pragma once

#include <algorithm>
#include <type_traits>

#include "engine/cuda/device.cuh"
#include "engine/dtype.h"

namespace sink::cuda {

template <class T, int N>
struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Vector {
  T at[N];
  __device__ T& operator[](int n) { return at[n]; }
  __device__ const T& operator[](int n) const { return at[n]; }
};

// How many numbers fill 16 bytes, of the largest of the types.
template <class... T>
inline constexpr int kVector = static_cast<int>(16 / std::max({sizeof(T)...}));

// Whether rows of `columns` numbers, one after the other from these addresses on, can be taken N numbers at a time.
template <int N, class... T>
bool in_vectors(std::int64_t columns, const T*... rows) {
  return columns % N == 0 && ((reinterpret_cast<std::uintptr_t>(rows) % alignof(Vector<T, N>) == 0) && ...);
}

// Calls f with N as a constant, or with 1 where rows are no vectors.
template <int N, class F>
void with_vectors(bool are_vectors, F&& f) {
  if (are_vectors)
    f(std::integral_constant<int, N>{});
  else
    f(std::integral_constant<int, 1>{});
}

// A GPU takes vectors from multiples of their bytes alone, and so does the emulated device.
template <class V>
__device__ inline void check_alignment([[maybe_unused]] const void* address) {
#ifndef __CUDACC__
  if (reinterpret_cast<std::uintptr_t>(address) % alignof(V) != 0)
    emulated::kernel_error("takes a vector of " + std::to_string(sizeof(V)) +
                           " bytes from an address that is no multiple of " + std::to_string(alignof(V)));
#endif
}

template <int N, class T>
__device__ Vector<T, N> load_vector(const T* from) {
  check_alignment<Vector<T, N>>(from);
  return *reinterpret_cast<const Vector<T, N>*>(from);
}
// The same as floats.
template <int N, class T>
__device__ Vector<float, N> load_floats(const T* from) {
  Vector<T, N> x = load_vector<N>(from);
  Vector<float, N> floats;
  for (int n = 0; n < N; ++n) floats[n] = static_cast<float>(x[n]);
  return floats;
}
// Rounded to T, each once.
template <class T, class From, int N>
__device__ void store_vector(T* to, const Vector<From, N>& x) {
  Vector<T, N> rounded;
  for (int n = 0; n < N; ++n) store(rounded[n], x[n]);
  check_alignment<Vector<T, N>>(to);
  *reinterpret_cast<Vector<T, N>*>(to) = rounded;
}

}  // namespace sink::cuda
