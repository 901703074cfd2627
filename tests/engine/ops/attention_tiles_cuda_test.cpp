// Attention in BF16 on the tensor cores: errors are at most twice those of the naive computation in BF16, both measured
// against the reference in double, for every operation of attention_ops.h.
#include <doctest/doctest.h>

#include <cstring>
#include <utility>

#include "engine/ops/attention/cuda/attention_hopper_cuda.h"
#include "engine/ops/attention/op/attention_ops.h"
#include "tests/engine/ops/attention_backend.h"
#include "tests/engine/ops/attention_naive.h"
#include "tests/support/schedules.h"

using namespace sink;
using namespace sink::test;

namespace {

struct Case {
  std::int64_t T, D;
  KeyRange range = {};
  Extra extra = Extra::none;
  std::int64_t B = 1, H = 1, G = 0;
  double deviation = 1;             // of scores
  double scale_factor = 1;          // multiplies the scale
  std::int64_t first_position = 0;  // of a chunk of queries up to T
  std::int64_t documents = -1;      // the number of leading keys that all documents see; -1: one document
};

AttentionCase case_of(const Case& c, DType dtype) {
  AttentionCase whole(c.B, c.H, c.T, c.D, DType::BF16, c.range, c.deviation, c.extra, c.G);
  whole.config.scale *= c.scale_factor;
  if (c.documents >= 0) whole.cut_into_documents(c.documents);
  return (c.first_position > 0 ? whole.chunk(c.first_position, c.T) : whole).to(dtype);
}

// The root mean square of x - y; infinite if a value is not finite.
double typical_difference(const Tensor& x, const Tensor& y) {
  double sum = 0;
  for (std::int64_t n = 0; n < x.size(); ++n) sum += (x.item(n) - y.item(n)) * (x.item(n) - y.item(n));
  return std::isfinite(sum) ? std::sqrt(sum / static_cast<double>(x.size())) : INFINITY;
}

template <class Op>
void check(const Case& c) {
  CAPTURE(c.T);
  CAPTURE(c.D);
  CAPTURE(c.range.prefix);
  CAPTURE(c.range.window);
  CAPTURE(c.first_position);
  CAPTURE(c.documents);
  CAPTURE(std::string(name_of(c.extra)));
  CAPTURE(operation_name<Op>());
  Op op;
  AttentionCase expected = case_of(c, DType::F64), there = case_of(c, DType::BF16).to(Device::cuda);
  AttentionCase naive = naive_in_bf16(expected, op);
  expected.forward(op);
  expected.backward(op);
  Conditions conditions = worst_conditions(expected, op);
  there.forward(op);
  there.backward(op);
  AttentionCase found = there.to(Device::cpu);
  CHECK(relative_error(found.m, expected.m) <= 1e-5);
  CHECK(relative_error(found.S, expected.S) <= 1e-5);
  auto check_number = [&](const Tensor& x, const Tensor& by_naive, const Tensor& exact, double size, bool many) {
    // In a row with one key the naive weight is exactly 1; the kernel divides a rounded value by one that is not
    // rounded.
    double rounding = (c.T == 1 ? 0x1p-8 : 1e-5) * conditions.weights * size, worst = largest_difference(x, exact);
    if (many) CHECK(typical_difference(x, exact) <= 2 * typical_difference(by_naive, exact) + rounding);
    if (!many) rounding = 1e-2 * conditions.weights * size;  // errors of few values are random
    CHECK(worst <= 6 * largest_difference(by_naive, exact) + rounding);
  };
  check_number(found.o, naive.o, expected.o, largest_magnitude(expected.o), true);
  std::vector<const Tensor*> all = found.all_gradients(), by_naive = naive.all_gradients(),
                             exact = expected.all_gradients();
  for (std::size_t n = 0; n < all.size(); ++n) {
    CAPTURE(n);
    check_number(*all[n], *by_naive[n], *exact[n], std::max(conditions.gradients, largest_magnitude(*exact[n])), n < 3);
  }
}

void check_all(const Case& c) {
#define SINK_ATTENTION_OP(Op) check<Op>(c);
  SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
}

template <class Op>
std::vector<std::string> all_bytes(const Case& c) {
  AttentionCase there = case_of(c, DType::BF16).to(Device::cuda);
  there.forward<Op>();
  there.backward<Op>();
  there = there.to(Device::cpu);
  std::vector<const Tensor*> tensors = there.all_gradients();
  for (const Tensor* x : {&there.o, &there.m, &there.S}) tensors.push_back(x);
  std::vector<std::string> bytes;
  for (const Tensor* x : tensors) bytes.emplace_back(static_cast<const char*>(x->raw()), x->bytes());
  return bytes;
}

}  // namespace

TEST_CASE("attention in tiles: every operation with every mask, with and without bias and extra key") {
  for (const KeyRange& range : {KeyRange{}, KeyRange{.prefix = 5}, KeyRange{.prefix = 3, .window = 20}}) {
    check_all({.T = 77, .D = 64, .range = range});
    check_all({.T = 77, .D = 64, .range = range, .extra = Extra::everything, .H = 2, .G = 1});
  }
}

TEST_CASE("attention in tiles: every operation at every width and length, with masks, extras and key heads in turn") {
  const KeyRange masks[] = {{}, {.prefix = 66}, {.window = 30}, {.prefix = 2, .window = 64}};
  const Extra extras[] = {Extra::none, Extra::bias, Extra::key, Extra::key_only, Extra::logit, Extra::everything};
  std::size_t n = 0;
  for (std::int64_t D : {32, 40, 64, 96, 128})
    for (std::int64_t T : {1, 65, 128, 129}) {
      check_all({.T = T, .D = D, .range = masks[n % 4], .extra = extras[n % 6], .H = n % 3 == 0 ? 2 : 1, .G = 1});
      n += 5;
    }
}

TEST_CASE("attention in tiles: lengths at which both stages are filled again and again") {
  for (std::int64_t T : {200, 330}) {
    check<Softmax>({.T = T, .D = 64, .extra = Extra::bias, .B = 2});
    check<Softpick>({.T = T, .D = 96, .range = {.prefix = 70, .window = 100}});
    check<ClippedSoftmax>({.T = T, .D = 128, .range = {.window = 65}, .extra = Extra::everything, .H = 2, .G = 1});
    check<EluNorm>({.T = T, .D = 64, .range = {.prefix = 150}, .extra = Extra::everything});
  }
}

TEST_CASE("attention in tiles: queries from a position on") {
  for (std::int64_t first : {1, 63, 130}) {
    check<Softmax>({.T = 199, .D = 64, .extra = Extra::everything, .first_position = first});
    check<SigmoidLogN>(
        {.T = 199, .D = 64, .range = {.prefix = 2, .window = 40}, .extra = Extra::bias, .first_position = first});
  }
}

TEST_CASE("attention in tiles: blocks of keys that no query sees") {
  for (std::int64_t D : {64, 96, 128})
    check<Softmax>({.T = 300, .D = D, .range = {.window = 20}, .H = 2, .G = 1, .first_position = 200});
}

TEST_CASE("attention in tiles: heads in several groups") {
  std::int64_t before = std::exchange(cuda::hopper_cache_bytes, 1);
  check<Softmax>({.T = 150, .D = 64, .B = 2, .H = 4, .G = 2});
  check<Softmax>({.T = 150, .D = 64, .B = 2, .H = 4, .G = 1});
  cuda::hopper_cache_bytes = 2 * 150 * 64 * 2 * 3;  // three heads; groups of two, as they divide the number of heads
  check<Softmax>({.T = 150, .D = 64, .B = 2, .H = 4});
  cuda::hopper_cache_bytes = before;
}

TEST_CASE("attention in tiles: several documents in a sequence") {
  check_all({.T = 77, .D = 64, .extra = Extra::everything, .B = 2, .H = 2, .G = 1, .documents = 0});
  for (std::int64_t T : {1, 65, 129, 200}) {
    check<Softmax>({.T = T, .D = 64, .extra = Extra::bias, .B = 3, .documents = 0});
    check<Softpick>({.T = T, .D = 96, .range = {.window = 30}, .B = 2, .documents = 1});
    check<ClippedSoftmax>({.T = T, .D = 128, .extra = Extra::everything, .B = 2, .H = 2, .G = 1, .documents = 1});
  }
  check<SigmoidLogN>({.T = 199, .D = 64, .extra = Extra::bias, .B = 2, .first_position = 63, .documents = 0});
}

TEST_CASE("attention in tiles: rows with one key, whose weight is at the end of a clip") {
  for (std::int64_t D : {64, 128}) check<ClippedSoftmax>({.T = 70, .D = D, .extra = Extra::bias, .B = 2, .H = 8});
}

TEST_CASE("attention in tiles: large scores") {
  check<Softmax>({.T = 70, .D = 64, .deviation = 40});
  check<Softpick>({.T = 70, .D = 64, .extra = Extra::everything, .deviation = 40});
  check<Sigmoid>({.T = 70, .D = 64, .deviation = 40});
  check<ClippedSoftmax>({.T = 70, .D = 64, .deviation = 40});
}

TEST_CASE("attention in tiles: a negative scale, whose largest score is that of the smallest product") {
  check<Softmax>({.T = 150, .D = 64, .scale_factor = -1});
  check<Softpick>({.T = 70, .D = 96, .extra = Extra::bias, .scale_factor = -1});
}

TEST_CASE("attention in tiles: kernels have no races") {
  cuda::FindRaces on;
  check_all({.T = 67, .D = 64, .range = {.prefix = 3, .window = 20}, .extra = Extra::everything, .H = 2, .G = 1});
  check<Softmax>({.T = 200, .D = 96, .extra = Extra::bias});
  check<Softmax>({.T = 390, .D = 64, .extra = Extra::bias});  // Hopper's stages are filled again
  check<ClippedSoftmax>({.T = 200, .D = 128});
  check<Softmax>({.T = 150, .D = 64, .extra = Extra::everything, .B = 2, .documents = 1});
}

TEST_CASE("attention in tiles: the same bits under every schedule") {
  Case c{.T = 150, .D = 64, .range = {.window = 90}, .extra = Extra::everything, .B = 2, .H = 2, .G = 1};
  std::vector<std::string> first = all_bytes<ClippedSoftmax>(c);
  for (unsigned schedule : {1u, 7u}) {
    cuda::Schedule only(schedule);
    CHECK(all_bytes<ClippedSoftmax>(c) == first);
  }
}
