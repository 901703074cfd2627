// Instructions of the tensor cores on the emulated device: errors, races, and bank conflicts of tiles in shared memory.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "engine/cuda/emulated/counters.h"
#include "engine/cuda/matrix_instructions.cuh"
#include "engine/cuda/warp.cuh"
#include "engine/rng.h"
#include "tests/support/keep_worst.h"
#include "tests/support/kernel_errors.h"
#include "tests/support/schedules.h"
#include "tools/selftest/selftest_kernels.h"

using namespace sink;
using namespace sink::cuda;
using namespace sink::selftest;

namespace {

enum class Bug { none, misaligned, outside, before, without_lane, without_lane_product, write_before, write_after };

// Twice, a warp writes 32 rows of 16 bytes and loads them; each lane writes a row that another lane addresses.
__global__ void load_kernel(std::int32_t* y, Bug bug, bool transposed) {
  auto* shared = shared_memory<std::int32_t>();
  auto t = static_cast<int>(threadIdx.x);
  Bf16Pair got[4] = {};
  float sums[4] = {};
  for (int round = 0; round < 2; ++round) {
    for (int n = 0; n < 4; ++n) shared[(31 - t) * 4 + n] = t * 4 + n;
    if (bug != Bug::write_before) sync_block();
    const std::int32_t* row = shared + t * 4;
    if (t == 21 && bug == Bug::misaligned) row += 2;
    if (t == 21 && bug == Bug::outside) row = shared + 32 * 4;
    if (t == 21 && bug == Bug::before) row = shared - 4;
    if (t == 21 && bug == Bug::without_lane) return;
    transposed ? ldmatrix_x4_trans(got, row) : ldmatrix_x4(got, row);
    if (t == 21 && bug == Bug::without_lane_product) return;
    mma_m16n8k16(sums, got, got);
    if (bug != Bug::write_after) sync_block();
  }
  for (int r = 0; r < 4; ++r) y[t * 4 + r] = static_cast<std::int32_t>(got[r]);
}

std::string error_of(Bug bug, bool transposed, unsigned threads = 32) {
  Tensor y = Tensor::zeros({128}, DType::I32, Device::cuda);
  return sink::error_of([&] {
    launch({1, threads, 32 * 16}, load_kernel, y.device_data<std::int32_t>(), bug, transposed);
  });
}

template <class F>
void for_each_schedule(F&& f) {
  for (unsigned schedule : {0u, 1u, 7u})
    for (bool transposed : {false, true}) {
      Schedule only(schedule);
      CAPTURE(schedule);
      CAPTURE(transposed);
      f(transposed);
    }
}

const std::string kHere = "tests/engine/cuda/emulated_matrices_test.cpp:";

Tensor tile(std::int64_t width) {
  return Tensor::table<bf16>(64, width,
                             [&](std::int64_t row, std::int64_t column) { return static_cast<float>(row + column); });
}

}  // namespace

TEST_CASE("emulated matrices: a misaligned address or one outside of shared memory is reported") {
  for_each_schedule([](bool transposed) {
    CHECK(error_of(Bug::none, transposed) == "");
    check_says(error_of(Bug::misaligned, transposed), {"no multiple of 16 bytes", "thread (21,0,0)", kHere});
    for (Bug bug : {Bug::outside, Bug::before})
      check_says(error_of(bug, transposed),
                 {"a read outside of the block's shared memory", "thread (21,0,0)", "a matrix load", kHere});
  });
}

TEST_CASE("emulated matrices: a warp without one of its lanes is refused") {
  for_each_schedule([](bool transposed) {
    const std::string load = transposed ? "ldmatrix_x4_trans" : "ldmatrix_x4";
    check_says(error_of(Bug::none, transposed, 31), {load + " needs all 32 lanes", kHere});
    check_says(error_of(Bug::without_lane, transposed), {"a lane returned while others of its warp wait at " + load});
    check_says(error_of(Bug::without_lane_product, transposed),
               {"a lane returned while others of its warp wait at mma_m16n8k16"});
  });
}

#ifdef __SANITIZE_THREAD__  // else accesses of these kernels are not seen
TEST_CASE("emulated matrices: a load that races with a write is reported with both lines") {
  FindRaces on;
  for_each_schedule([](bool transposed) {
    CHECK(error_of(Bug::none, transposed) == "");
    for (Bug bug : {Bug::write_before, Bug::write_after}) {
      std::string text = error_of(bug, transposed);
      check_says(text, {"race in shared memory", kHere});
      CHECK_MESSAGE(text.find(kHere, text.find(kHere) + 1) != std::string::npos, text);
    }
  });
}
#endif

TEST_CASE("emulated matrices: swizzled rows are read without bank conflicts, plain ones are not") {
  for (std::int64_t width : {32, 64, 96, 128}) {
    CAPTURE(width);
    Tensor x = tile(width).to(Device::cuda);
    Tensor registers = Tensor::empty({4, width / 16, 32, 4}, DType::I32, Device::cuda);
    // Eight rows of 64 or 128 values all begin in the same bank, of 32 or 96 four.
    std::int64_t eights = 8 * width / 8, extra_of_eight = width % 64 == 0 ? 7 : 3;
    for (TileLoad load : {TileLoad::left, TileLoad::rows, TileLoad::columns})
      for (Order order : {Order::plain, Order::swizzled}) {
        emulated::take_counters();
        load_tile(x, 40, order, load, registers);
        emulated::Counters counted = emulated::take_counters();
        CHECK(counted.matrix_loads == 4 * width / 16);
        CHECK(counted.extra_wavefronts == (order == Order::plain ? eights * extra_of_eight : 0));
        CHECK(counted.copied_bytes == 40 * width * 2);
      }
  }
}

TEST_CASE("emulated matrices: products are counted by the warp") {
  emulated::take_counters();
  Tensor left = Tensor::zeros({5, 32, 4}, DType::I32, Device::cuda),
         right = Tensor::zeros({5, 32, 2}, DType::I32, Device::cuda),
         sums = Tensor::zeros({5, 32, 4}, DType::F32, Device::cuda);
  multiply_registers(left, right, sums);
  CHECK(emulated::take_counters().matrix_products == 5);
  CHECK(emulated::take_counters().matrix_products == 0);
}

TEST_CASE("emulated approximations: errors are close to the documented ones, and the same in every run") {
  struct Case {
    Approximation which;
    double lowest, highest, error;
    double (*exact)(double);
    bool absolute;
  };
  const std::vector<Case> cases{
      {Approximation::exp2, -120, 120, 0x1p-22, [](double x) { return std::exp2(x); }, false},
      {Approximation::log2, 2, 1000, 0x1p-22, [](double x) { return std::log2(x); }, false},
      {Approximation::log2, 0.51, 1.99, 0x1p-22, [](double x) { return std::log2(x); }, true},
      {Approximation::reciprocal, 0.001, 1000, 0x1p-23, [](double x) { return 1 / x; }, false},
  };
  constexpr std::int64_t kCount = 5000;
  Rng random(0, "approximations");
  for (const Case& one : cases) {
    Tensor x = Tensor::table<float>(1, kCount, [&](std::int64_t, std::int64_t i) {
      return one.lowest + (one.highest - one.lowest) * random.uniform(static_cast<std::uint64_t>(i));
    });
    Tensor first, y = Tensor::empty(x.shape(), DType::F32, Device::cuda);
    for (unsigned schedule : {0u, 1u, 7u}) {
      Schedule only(schedule);
      emulated::take_counters();
      approximate(one.which, x.to(Device::cuda), y);
      CHECK(emulated::take_counters().approximations == kCount);
      Tensor got = y.to(Device::cpu);
      if (!first.defined()) first = got;
      double worst = 0;
      int exact = 0;
      for (std::int64_t i = 0; i < kCount; ++i) {
        double expected = one.exact(x.item(i)), wrong = std::abs(got.item(i) - expected);
        keep_worst(worst, one.absolute ? wrong : wrong / std::abs(expected));
        exact += got.item(i) == static_cast<double>(static_cast<float>(expected));
        CHECK(got.item(i) == first.item(i));
      }
      CHECK(worst <= one.error);
      CHECK(worst > 0.8 * one.error);
      CHECK(exact < kCount * 3 / 4);
    }
  }
}
