// The cost of the tensor-core kernels of attention, counted by the emulated device.
#include <doctest/doctest.h>

#include "engine/cuda/emulated/counters.h"
#include "tests/engine/ops/attention_case.h"

using namespace sink;
using namespace sink::test;

namespace {

// The number of tiles of `rows` queries and `columns` keys in which a query sees a key.
std::int64_t live_tiles(const KeyRange& range, std::int64_t T, std::int64_t rows, std::int64_t columns) {
  std::int64_t live = 0;
  for (std::int64_t i = 0; i < T; i += rows)
    for (std::int64_t j = 0; j < T; j += columns) {
      bool sees = false;
      for (std::int64_t query = i; query < std::min(T, i + rows); ++query)
        for (std::int64_t key = j; key < std::min(T, j + columns); ++key) sees = sees || range.sees(query, key);
      live += sees;
    }
  return live;
}

template <class Op, class Run>
emulated::Counters counted(AttentionCase c, Run run) {
  AttentionCase there = c.to(Device::cuda);
  there.forward<Op>();
  emulated::take_counters();
  run(there);
  return emulated::take_counters();
}
template <class Op>
emulated::Counters of_forward(const AttentionCase& c) {
  return counted<Op>(c, [](AttentionCase& there) { there.forward<Op>(); });
}
template <class Op>
emulated::Counters of_backward(const AttentionCase& c) {
  return counted<Op>(c, [](AttentionCase& there) { there.backward<Op>(); });
}

AttentionCase a_case(std::int64_t T, std::int64_t D, const KeyRange& range = {}, Extra extra = Extra::none) {
  return AttentionCase(1, 1, T, D, DType::BF16, range, 1, extra);
}

const KeyRange kMasks[] = {{}, {.window = 40}, {.prefix = 70}, {.prefix = 1, .window = 100}};

}  // namespace

TEST_CASE("attention's cost: no bank conflicts in shared memory") {
  for (std::int64_t D : {64, 96, 128}) {
    CAPTURE(D);
    AttentionCase c = a_case(200, D, {}, Extra::bias);
    emulated::Counters forward = of_forward<Softmax>(c), backward = of_backward<ClippedSoftmax>(c);
    CHECK(forward.matrix_loads > 0);
    CHECK(forward.extra_wavefronts == 0);
    CHECK(backward.matrix_loads > 0);
    CHECK(backward.extra_wavefronts == 0);
  }
}

TEST_CASE("attention's cost: products of visible tiles, and no others") {
  constexpr std::int64_t T = 330, D = 64;
  constexpr std::int64_t kOne = 16 * 8 * 16;  // multiplications per instruction
  for (const KeyRange& range : kMasks) {
    CAPTURE(range.prefix);
    CAPTURE(range.window);
    AttentionCase c = a_case(T, D, range);
    // Two products of 32 queries (of a warp) and 64 keys.
    CHECK(of_forward<Softmax>(c).matrix_products == live_tiles(range, T, 32, 64) * 2 * 32 * 64 * D / kOne);
    // Three of 32 queries and 32 keys for dq, four of 64 queries and 32 keys for dk and dv.
    CHECK(of_backward<Softmax>(c).matrix_products ==
          (live_tiles(range, T, 32, 32) * 3 * 32 + live_tiles(range, T, 64, 32) * 4 * 64) * 32 * D / kOne);
  }
}

TEST_CASE("attention's cost: a forward pass copies queries once, and keys and values once per 128 queries") {
  constexpr std::int64_t T = 384, D = 64;
  for (const KeyRange& range : kMasks) {
    CAPTURE(range.prefix);
    CAPTURE(range.window);
    std::int64_t least = 2 * D * (T + 2 * 64 * live_tiles(range, T, 128, 64));
    CHECK(of_forward<Softmax>(a_case(T, D, range)).copied_bytes == least);
  }
}

TEST_CASE("attention's cost: approximations per score") {
  constexpr std::int64_t T = 384;
  AttentionCase c = a_case(T, 64);
  double scores = static_cast<double>(live_tiles({}, T, 32, 64) * 32 * 64);
  auto per_score = [&](const emulated::Counters& counters) {
    return static_cast<double>(counters.approximations) / scores;
  };
  CHECK(per_score(of_forward<Softmax>(c)) < 1.2);  // 1, and two per row and tile for a new maximum
  CHECK(per_score(of_forward<Sigmoid>(c)) < 2.1);
  CHECK(per_score(of_forward<EluNorm>(c)) < 1.1);
  CHECK(per_score(of_forward<Linear>(c)) < 0.1);
}
