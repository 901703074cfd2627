// An exam for a race detector: small kernels in the patterns of irregular and of block-wise programs (the idea is that
// of Indigo, Liu et al. 2022, and HiRace, Jacobson et al. 2024; the code is our own), each with and without a race.
//
// A kernel has a race if two of its threads access an element, one of them writes, at least one access is not atomic,
// and nothing orders the two. That is so for the inputs here, whatever the schedule is, and also where all threads
// write the same value.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/cuda/hopper_instructions.cuh"
#include "engine/dtype.h"
#include "engine/tensor.h"

namespace sink::test {

struct ExamKernel {
  std::string pattern, name;
  bool has_race;
  std::function<void()> launch;
};

template <class Body>
__global__ void body_kernel(Body body) {
  body();
}
template <class Body>
ExamKernel exam_kernel(const std::string& pattern, const std::string& name, bool has_race, cuda::Grid grid, Body body) {
  return {pattern, pattern + ": " + name, has_race, [=] { cuda::launch(grid, body_kernel<Body>, body); }};
}

// The engine's kernels have no atomics, so the emulated device has no instruction for them: these are the compiler's.
template <class T>
__device__ T atomic_add(T* x, T by) {
  return __atomic_fetch_add(x, by, __ATOMIC_RELAXED);
}
template <class T>
__device__ T atomic_load(const T* x) {
  return __atomic_load_n(x, __ATOMIC_RELAXED);
}

__device__ inline int thread_of_grid() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }
__device__ inline int thread_of_block() { return static_cast<int>(threadIdx.x); }

// Device memory that lives as long as the program.
template <class T>
T* device_array(std::int64_t count) {
  static std::vector<Tensor>* kept = new std::vector<Tensor>;
  kept->push_back(Tensor::zeros({(count * static_cast<std::int64_t>(sizeof(T)) + 3) / 4}, DType::I32, Device::cuda));
  return reinterpret_cast<T*>(kept->back().device_data<std::int32_t>());
}
inline int* device_ints(const std::vector<int>& values) {
  static std::vector<Tensor>* kept = new std::vector<Tensor>;
  Tensor host = Tensor::zeros({static_cast<std::int64_t>(values.size())}, DType::I32);
  for (std::size_t n = 0; n < values.size(); ++n) host.data<std::int32_t>()[n] = values[n];
  kept->push_back(host.to(Device::cuda));
  return kept->back().device_data<std::int32_t>();
}

}  // namespace sink::test
