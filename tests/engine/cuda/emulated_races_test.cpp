// Races of kernels on the emulated device: each is reported with both threads and both lines, under every schedule,
// even if the results are right.
#include <doctest/doctest.h>

#include <string>

#include "engine/cuda/instructions.cuh"
#include "engine/tensor.h"
#include "tests/support/schedules.h"

using namespace sink;
using namespace sink::cuda;

namespace {

enum class Bug { none, before_use, before_reuse, between_blocks, within_warp, same_place };

__global__ void exchange_kernel(float* y, Bug bug) {
  float* shared = shared_memory<float>();
  unsigned t = threadIdx.x, n = blockDim.x;
  float mine = static_cast<float>(t);
  for (int round = 0; round < 2; ++round) {
    shared[t] = mine;
    if (bug != Bug::before_use) sync_block();
    mine = shared[n - 1 - t];
    if (bug != Bug::before_reuse) sync_block();
  }
  shared[t] = mine;
  if (bug != Bug::within_warp) sync_warp();
  mine = shared[t ^ 1];
  if (bug == Bug::same_place) y[0] = 1;
  y[(bug == Bug::between_blocks ? 0 : blockIdx.x * n) + t] = mine;
}

std::string error_of(Bug bug) {
  Tensor y = Tensor::zeros({128}, DType::F32, Device::cuda);
  try {
    launch({2, 64, 64 * sizeof(float)}, exchange_kernel, y.device_data<float>(), bug);
  } catch (const Error& error) { return error.what(); }
  return "";
}

// Every thread copies four values, and reads those that another one copied.
__global__ void copy_kernel(const float* x, float* y, bool wait) {
  float* shared = shared_memory<float>();
  unsigned t = threadIdx.x;
  cp_async_16(shared + 4 * t, x + 4 * t, true);
  cp_async_commit_group();
  cp_async_wait_group<0>();
  if (wait) sync_block();
  y[t] = shared[4 * (t ^ 1)];
}

std::string error_of_copies(bool wait) {
  Tensor x = Tensor::zeros({128}, DType::F32, Device::cuda), y = Tensor::zeros({32}, DType::F32, Device::cuda);
  try {
    launch({1, 32, 512}, copy_kernel, x.device_data<float>(), y.device_data<float>(), wait);
  } catch (const Error& error) { return error.what(); }
  return "";
}

// Lane 0 makes the first access to a value, lane 32 the second, in another warp.
enum class Kind { read, write, atomic_read, atomic_add };
__device__ void access(int* x, Kind kind, int* out) {
  if (kind == Kind::read) *out = *x;
  if (kind == Kind::write) *x = 1;
  if (kind == Kind::atomic_read) *out = __atomic_load_n(x, __ATOMIC_RELAXED);
  if (kind == Kind::atomic_add) __atomic_fetch_add(x, 1, __ATOMIC_RELAXED);
}
__global__ void two_accesses_kernel(int* x, int* out, Kind first, Kind second, bool barrier) {
  if (threadIdx.x == 0) access(x, first, out);
  if (barrier) sync_block();
  if (threadIdx.x == 32) access(x, second, out + 1);
}

std::string error_of_accesses(Kind first, Kind second, bool barrier) {
  Tensor x = Tensor::zeros({4}, DType::I32, Device::cuda);
  int* values = x.device_data<std::int32_t>();
  try {
    launch({1, 64, 0}, two_accesses_kernel, values, values + 2, first, second, barrier);
  } catch (const Error& error) { return error.what(); }
  return "";
}

}  // namespace

TEST_CASE("races: of two unordered accesses one writes and one is not atomic, in either order") {
  FindRaces on;
  const Kind kinds[] = {Kind::read, Kind::write, Kind::atomic_read, Kind::atomic_add};
  for (unsigned schedule : {0u, 1u, 7u})
    for (Kind first : kinds)
      for (Kind second : kinds) {
        Schedule only(schedule);
        const auto writes = [](Kind kind) { return kind == Kind::write || kind == Kind::atomic_add; };
        const auto atomic = [](Kind kind) { return kind == Kind::atomic_read || kind == Kind::atomic_add; };
        const bool race = (writes(first) || writes(second)) && !(atomic(first) && atomic(second));
        CAPTURE(static_cast<int>(first));
        CAPTURE(static_cast<int>(second));
        CHECK((error_of_accesses(first, second, false).find("race in device memory") != std::string::npos) == race);
        CHECK(error_of_accesses(first, second, true) == "");
      }
}

TEST_CASE("races: a copy that only its own thread has waited for is reported with the line that started it") {
  FindRaces on;
  CHECK(error_of_copies(true) == "");
  std::string text = error_of_copies(false), file = "tests/engine/cuda/emulated_races_test.cpp:";
  CHECK_MESSAGE(text.find("race in shared memory") != std::string::npos, text);
  CHECK_MESSAGE(text.find(file, text.find(file) + 1) != std::string::npos, text);
}

TEST_CASE("races: each missing barrier is reported under every schedule, and nothing else is") {
  FindRaces on;
  for (unsigned schedule : {0u, 1u, 2u, 7u, 12u}) {
    Schedule only(schedule);
    CAPTURE(schedule);
    CHECK(error_of(Bug::none) == "");
    for (Bug bug : {Bug::before_use, Bug::before_reuse, Bug::within_warp}) {
      std::string text = error_of(bug);
      CHECK_MESSAGE(text.find("race in shared memory") != std::string::npos, text);
      CHECK_MESSAGE(text.find("of its block") != std::string::npos, text);
      std::size_t line = text.find("tests/engine/cuda/emulated_races_test.cpp:");
      CHECK_MESSAGE(line != std::string::npos, text);
      CHECK_MESSAGE(text.find("tests/engine/cuda/emulated_races_test.cpp:", line + 1) != std::string::npos, text);
    }
    for (Bug bug : {Bug::between_blocks, Bug::same_place}) {
      std::string text = error_of(bug);
      CHECK_MESSAGE(text.find("race in device memory") != std::string::npos, text);
    }
    CHECK(error_of(Bug::between_blocks).find("of another block") != std::string::npos);
  }
}

TEST_CASE("races: the detector is off by default") { CHECK(error_of(Bug::between_blocks) == ""); }
