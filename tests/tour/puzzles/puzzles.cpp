// The tests of the GPU puzzles (tools/tour/10_tensor_cores.md), on the emulated device. Compiled twice: with the files
// that a reader changes, where each test fails, and with the answers.
#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <vector>

#include "engine/cuda/emulated/counters.h"
#include "engine/cuda/emulated/traffic.h"
#include "engine/tensor.h"
#include "tests/support/schedules.h"
#ifdef SINK_TOUR_ANSWERS
#include "tests/tour/puzzles/answers/answer_1_race.cuh"
#include "tests/tour/puzzles/answers/answer_2_banks.cuh"
#include "tests/tour/puzzles/answers/answer_3_online.cuh"
#else
#include "tests/tour/puzzles/puzzle_1_race.cuh"
#include "tests/tour/puzzles/puzzle_2_banks.cuh"
#include "tests/tour/puzzles/puzzle_3_online.cuh"
#endif

namespace sink::tour {
namespace {

using cuda::Bf16Pair;

Tensor on_device(const std::vector<float>& x) {
  return Tensor::from<float>({static_cast<std::int64_t>(x.size())}, x).to(Device::cuda);
}
std::vector<float> values_of(const Tensor& x) {
  Tensor host = x.to(Device::cpu);
  return {host.data<float>(), host.data<float>() + host.size()};
}

// Stores the tile x, where element (r, c) is 64 r + c, and loads the chunks of each column of chunks:
// registers[c][l][m].
__global__ void load_chunks_kernel(const Bf16Pair* x, Bf16Pair* registers) {
  auto* shared = cuda::shared_memory<Bf16Pair>();
  int lane = static_cast<int>(threadIdx.x);
  for (int chunk = 0; chunk < 8; ++chunk)
    for (int n = 0; n < 4; ++n) shared[4 * place_of_chunk(lane, chunk) + n] = x[(8 * lane + chunk) * 4 + n];
  cuda::sync_warp();
  for (int chunk = 0; chunk < 8; ++chunk) {
    Bf16Pair own[4];
    cuda::ldmatrix_x4(own, shared + 4 * place_of_chunk(lane, chunk));
    for (int m = 0; m < 4; ++m) registers[(chunk * 32 + lane) * 4 + m] = own[m];
  }
}

}  // namespace

TEST_CASE("1 race: every order of threads gives the sums, and no access races") {
  std::vector<float> x(3 * 64);
  for (std::size_t n = 0; n < x.size(); ++n) x[n] = static_cast<float>(n % 64 + n / 64);
  cuda::FindRaces find_races;
  for (unsigned order : {0u, 1u, 2u, 7u}) {
    cuda::Schedule schedule(order);
    Tensor in = on_device(x), sums = on_device({0, 0, 0});
    cuda::launch({3, 64, 64 * sizeof(float)}, block_sums_kernel, in.device_data<float>(), sums.device_data<float>());
    CHECK(values_of(sums) == std::vector<float>{2016, 2080, 2144});
  }
}

TEST_CASE("2 banks: chunks are in 256 places, and each load takes one wavefront for eight rows") {
  std::set<int> places;
  for (int row = 0; row < 32; ++row)
    for (int chunk = 0; chunk < 8; ++chunk) places.insert(place_of_chunk(row, chunk));
  REQUIRE((places.size() == 256 && *places.begin() == 0 && *places.rbegin() == 255));

  std::vector<std::int32_t> pairs(32 * 32);  // any bits will do
  for (std::size_t n = 0; n < pairs.size(); ++n) pairs[n] = static_cast<std::int32_t>(n);
  Tensor x = Tensor::from<std::int32_t>({32 * 32}, pairs).to(Device::cuda);
  Tensor registers = Tensor::empty({8 * 32 * 4}, DType::I32, Device::cuda);
  emulated::take_counters();
  cuda::launch({1, 32, 32 * 128}, load_chunks_kernel, reinterpret_cast<const Bf16Pair*>(x.device_data<std::int32_t>()),
               reinterpret_cast<Bf16Pair*>(registers.device_data<std::int32_t>()));
  emulated::Counters counted = emulated::take_counters();
  Tensor loaded = registers.to(Device::cpu);
  for (int chunk = 0; chunk < 8; ++chunk)
    for (int lane = 0; lane < 32; ++lane)
      for (int m = 0; m < 4; ++m)
        REQUIRE(loaded.data<std::int32_t>()[(chunk * 32 + lane) * 4 + m] ==
                (8 * m + lane / 4) * 32 + 4 * chunk + lane % 4);
  CHECK(counted.matrix_loads == 8);
  CHECK(counted.extra_wavefronts == 0);
}

TEST_CASE("3 online: scores and values are read once, and large scores do not overflow") {
  for (int n : {1, 40, 1000}) {
    std::vector<float> s, v;
    double m = -INFINITY, S = 0, expected = 0;
    for (int j = 0; j < n; ++j) {
      s.push_back(static_cast<float>(j * 37 % 101) * 8 - 100);
      v.push_back(static_cast<float>(j * 53 % 97) / 97);
      m = std::max<double>(m, s.back());
    }
    for (int j = 0; j < n; ++j) S += std::exp(s[j] - m), expected += std::exp(s[j] - m) * v[j];
    Tensor s_in = on_device(s), v_in = on_device(v), o = on_device({0});
    emulated::start_traffic();
    cuda::launch({1, 32}, softmax_mean_kernel, s_in.device_data<float>(), v_in.device_data<float>(), n,
                 o.device_data<float>());
    auto traffic = emulated::stop_traffic();
    CHECK(values_of(o).front() == doctest::Approx(expected / S).epsilon(1e-5));
    REQUIRE(traffic.size() == 1);
    CHECK(traffic.begin()->second.requested == 8 * n + 4);
  }
}

}  // namespace sink::tour
