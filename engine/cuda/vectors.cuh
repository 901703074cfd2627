// Vectorized loads and stores of up to 16 bytes per instruction, used where size and address allow it; else N = 1.
#pragma once

#include <algorithm>
#include <type_traits>

#include "engine/cuda/instructions.cuh"
#include "engine/dtype.h"

namespace sink::cuda {

template <class T, int N>
struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Vector {
  T at[N];
  __device__ T& operator[](int n) { return at[n]; }
  __device__ const T& operator[](int n) const { return at[n]; }
};

// How many elements of the largest of the types fill 16 bytes.
template <class... T>
inline constexpr int kVector = static_cast<int>(16 / std::max({sizeof(T)...}));

// Whether contiguous rows of `columns` elements at these addresses can be accessed in vectors of N.
template <int N, class... T>
bool in_vectors(std::int64_t columns, const T*... rows) {
  return columns % N == 0 && ((reinterpret_cast<std::uintptr_t>(rows) % alignof(Vector<T, N>) == 0) && ...);
}

// Calls f with N as a constant, or with 1.
template <int N, class F>
void with_vectors(bool are_vectors, F&& f) {
  if (are_vectors)
    f(std::integral_constant<int, N>{});
  else
    f(std::integral_constant<int, 1>{});
}

// The emulated device checks the alignment that a GPU requires.
template <class V>
__device__ inline void check_alignment([[maybe_unused]] const void* address) {
#ifndef __CUDACC__
  if (reinterpret_cast<std::uintptr_t>(address) % alignof(V) != 0)
    emulated::kernel_error("accesses a vector of " + std::to_string(sizeof(V)) +
                           " bytes at an address that is no multiple of " + std::to_string(alignof(V)));
#endif
}

template <int N, class T>
__device__ Vector<T, N> load_vector(const T* from) {
  check_alignment<Vector<T, N>>(from);
  return *reinterpret_cast<const Vector<T, N>*>(from);
}
// The same, converted to floats.
template <int N, class T>
__device__ Vector<float, N> load_floats(const T* from) {
  Vector<T, N> x = load_vector<N>(from);
  Vector<float, N> floats;
  for (int n = 0; n < N; ++n) floats[n] = static_cast<float>(x[n]);
  return floats;
}
// Rounds each element once, to T. Two floats become bf16 by one instruction instead of some eight.
template <class T, class From, int N>
__device__ void store_vector(T* to, const Vector<From, N>& x) {
  check_alignment<Vector<T, N>>(to);
  if constexpr (std::is_same_v<T, bf16> && std::is_same_v<From, float> && N % 2 == 0) {
    Vector<Bf16Pair, N / 2> pairs;
    for (int n = 0; n < N; n += 2) pairs[n / 2] = pack_bf16x2(x[n], x[n + 1]);
    *reinterpret_cast<Vector<Bf16Pair, N / 2>*>(to) = pairs;
  } else {
    Vector<T, N> rounded;
    for (int n = 0; n < N; ++n) store(rounded[n], x[n]);
    *reinterpret_cast<Vector<T, N>*>(to) = rounded;
  }
}

}  // namespace sink::cuda
