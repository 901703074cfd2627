// The CPU kernels of attention against the reference in double, and results that must have the same bits, for every
// operation of attention_ops.h.
#include <doctest/doctest.h>

#include <cmath>

#include "engine/implementation.h"
#include "engine/ops/attention/op/attention_ops.h"
#include "engine/ops/attention/op/attention_row.h"
#include "engine/threads.h"
#include "tests/engine/ops/attention_backend.h"
#include "tests/support/in_turn.h"

using namespace sink;
using namespace sink::test;

namespace {

const std::vector<KeyRange> kMasks{{}, {.prefix = 5}, {.window = 16}, {.prefix = 3, .window = 20}};

template <class Op>
void check_fast(const Op& op, std::int64_t T, std::int64_t D, const KeyRange& range, Extra extra, std::int64_t G = 0) {
  CAPTURE(T);
  CAPTURE(D);
  CAPTURE(range.prefix);
  CAPTURE(range.window);
  CAPTURE(std::string(name_of(extra)));
  // Values that bf16 represents, so that one reference serves both types.
  AttentionCase expected = AttentionCase(1, 2, T, D, DType::BF16, range, 1, extra, G).to(DType::F64);
  expected.forward(op);
  expected.backward(op);
  Conditions conditions = worst_conditions(expected, op);
  for (DType dtype : {DType::F32, DType::BF16}) check_backend(op, expected, conditions, dtype);
}

void check_fast_all(std::int64_t T, std::int64_t D, const KeyRange& range = {}, Extra extra = Extra::none,
                    std::int64_t G = 0) {
#define SINK_ATTENTION_OP(Op) \
  if (in_turn()) check_fast(Op{}, T, D, range, extra, G);
  SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
}

}  // namespace

TEST_CASE("fast attention: equals the double reference for every operation, mask, bias and extra key") {
  const std::pair<std::int64_t, std::int64_t> sizes[] = {{1, 8},   {2, 16},  {31, 128}, {32, 32},
                                                         {33, 24}, {64, 64}, {127, 8},  {200, 16}};
  for (auto [T, D] : sizes)
    for (const KeyRange& mask : kMasks)
      for (Extra extra : {Extra::none, Extra::bias, Extra::key}) check_fast_all(T, D, mask, extra);
}

TEST_CASE("fast attention: equals the double reference at every head size") {
  for (std::int64_t D : {1, 7, 8, 16, 24, 33, 64, 96, 128}) check_fast_all(70, D);
}

TEST_CASE("fast attention: equals the double reference in complete tiles of wide heads") {
  const std::pair<std::int64_t, std::int64_t> sizes[] = {{200, 32}, {320, 64}, {200, 96}, {200, 128}};
  for (auto [T, D] : sizes)
    for (const KeyRange& mask : {KeyRange{}, KeyRange{.prefix = 3, .window = 150}}) check_fast_all(T, D, mask);
}

TEST_CASE("fast attention: equals the double reference for heads as wide as the model") {
  // One head of 768, two of 384 and four of 192 are head-1, head-2 and head-4 of the paper; 129 is not a multiple of a
  // vector.
  for (std::int64_t D : {129, 192, 256, 384, 768}) check_fast_all(40, D, kMasks[3], Extra::everything, 1);
  check_fast_all(70, 129, kMasks[1], Extra::logit);
  check_fast_all(70, 256, kMasks[2], Extra::bias);
  check_fast_all(70, 768);
}

TEST_CASE("fast attention: equals the double reference at the edges of windows and prefixes") {
  for (KeyRange range : {KeyRange{.window = 1}, KeyRange{.window = 33}, KeyRange{.prefix = 70},
                         KeyRange{.prefix = 1000}, KeyRange{.prefix = 80, .window = 9}})
    for (std::int64_t T : {33, 200}) check_fast_all(T, 16, range);
}

TEST_CASE("fast attention: equals the double reference with shared key heads and the other extra keys") {
  for (const KeyRange& mask : {kMasks[0], kMasks[3]}) {
    check_fast_all(70, 16, mask, Extra::none, 1);
    check_fast_all(70, 16, mask, Extra::everything, 1);
    check_fast_all(70, 16, mask, Extra::key_only);
    check_fast_all(70, 16, mask, Extra::logit);
  }
}

TEST_CASE("fast attention: equals the double reference at other constants of the operations") {
  for (double constant : {0.05, 0.5, 1.0}) check_fast(ScaledSoftmax(constant), 70, 16, kMasks[3], Extra::everything);
  for (double p : {0.25, 1 / 3.0, 0.5, 1.0, 3.0, 4.0}) {
    CAPTURE(p);
    check_fast(PNormExp(p), 70, 16, kMasks[3], Extra::everything);
    check_fast(PNormSigmoid(p), 70, 16, kMasks[3], Extra::everything);
  }
  check_fast(ClippedSoftmax(-0.2, 1.3), 70, 16, kMasks[3], Extra::everything);
  check_fast(ClippedSoftmax(0, 1), 70, 16, kMasks[0], Extra::key);
}

TEST_CASE("fast attention: huge scores stay finite and right") {
  // Scores of magnitude 1e4: softmax is one-hot nearly everywhere. A score of 1e4 has an f32 rounding error of about
  // 1e-3, which is a relative error of the weights, so o is compared with that tolerance, and gradients must be finite.
  auto check = [&]<class Op>(const Op& op, Extra extra) {
    CAPTURE(operation_name<Op>());
    AttentionCase c(1, 2, 100, 32, DType::F32, {}, 1e4, extra);
    AttentionCase expected = c.to(DType::F64);
    c.forward(op);
    if constexpr (std::is_same_v<Op, ConSmax>) {  // e^s without a divisor has no bound: infinite, which stops a run
      CHECK_FALSE(std::isfinite(largest_difference(c.o, c.o)));
      return;
    }
    c.backward(op);
    expected.forward(op);
    CHECK(relative_error(c.o, expected.o) < 5e-3 * worst_conditions(expected, op).weights);
    for (const Tensor* x : c.all_gradients()) CHECK(std::isfinite(largest_difference(*x, *x)));
  };
  for (Extra extra : {Extra::none, Extra::everything}) {
#define SINK_ATTENTION_OP(Op) check(Op{}, extra);
    SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
  }
}

TEST_CASE("fast attention: sums that nearly vanish cost as many digits as they must") {
  // Keys come in pairs k, -(1 - 1e-4) k, so that sums over whole pairs cancel: LinearNorm divides by about 1e-4 of its
  // summands. Row by row |o_i - expected| <= 1e-5 condition_i sum_j |a_ij| max |v|.
  auto check = [&]<class Op>(const Op& op) {
    CAPTURE(operation_name<Op>());
    AttentionCase c(1, 1, 90, 16, DType::F32);
    for (std::int64_t n = 0; n < c.k.size(); ++n)
      if (n / 16 % 2 == 1) c.k.data<float>()[n] = c.k.data<float>()[n - 16] * -(1 - 1e-4f);
    AttentionCase expected = c.to(DType::F64);
    c.forward(op);
    c.backward(op);
    expected.forward(op);
    double worst_condition = 0, largest_v = largest_magnitude(c.v);
    Tensor a = expected.map<Op>(0, 0, op);
    for (std::int64_t i = 0; i < 90; ++i) {
      double condition = row_conditions(expected, op, 0, 0, i).weights, mass = 0;
      worst_condition = std::max(worst_condition, condition);
      for (std::int64_t j = 0; j < 90; ++j) mass += std::abs(a.item(i * 90 + j));
      CAPTURE(i);
      CAPTURE(condition);
      CHECK(relative_error(c.o.reshape({90, 16}).rows(i, i + 1), expected.o.reshape({90, 16}).rows(i, i + 1)) <=
            1e-5 * condition * std::max(1.0, mass * largest_v));
    }
    for (const Tensor* x : c.all_gradients()) CHECK(std::isfinite(largest_difference(*x, *x)));
    return worst_condition;
  };
#define SINK_ATTENTION_OP(Op) check(Op{});
  SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
  CHECK(check(LinearNorm{}) > 1e4);
  // A sum of exactly zero causes no division by zero.
  for (DType dtype : {DType::F32, DType::BF16}) {
    AttentionCase c(1, 1, 40, 16, dtype);
    c.q.fill(0);
#define SINK_ATTENTION_OP(Op) \
  c.forward<Op>();            \
  c.backward<Op>();           \
  for (const Tensor* x : c.all_gradients()) CHECK(std::isfinite(largest_difference(*x, *x)));
    SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
  }
}

TEST_CASE("fast attention: a NaN in a query reaches its output") {
  for (DType dtype : {DType::F32, DType::BF16}) {
    AttentionCase c(1, 1, 20, 16, dtype);
    Tensor row = c.q.reshape({20, 16}).rows(7, 8);
    row.fill(NAN);
#define SINK_ATTENTION_OP(Op)              \
  c.forward<Op>();                         \
  CHECK(std::isnan(c.o.item(7 * 16 + 3))); \
  CHECK(std::isfinite(c.o.item(6 * 16 + 3)));
    SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
  }
}

TEST_CASE("fast attention: a later token changes no earlier output, bit by bit") {
  for (DType dtype : {DType::F32, DType::BF16})
    for (Extra extra : {Extra::none, Extra::everything}) {
      auto check = [&]<class Op>(Op) {
        AttentionCase c(1, 1, 130, 16, dtype, {}, 1, extra);
        c.forward<Op>();
        for (std::int64_t j : {1, 15, 64, 77, 129}) {
          AttentionCase changed = c.to(dtype);
          for (Tensor* x : {&changed.q, &changed.k, &changed.v}) {
            Tensor row = x->reshape({130, 16}).rows(j, j + 1);
            row.fill(5);
          }
          changed.forward<Op>();
          CAPTURE(j);
          CAPTURE(operation_name<Op>());
          Tensor before = c.o.reshape({130, 16}), after = changed.o.reshape({130, 16});
          CHECK(same_bits(before.rows(0, j), after.rows(0, j)));
          CHECK_FALSE(same_bits(before.rows(j, j + 1), after.rows(j, j + 1)));
        }
      };
#define SINK_ATTENTION_OP(Op) check(Op{});
      SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
    }
}

TEST_CASE("fast attention: a window of T and a prefix of one are causal, bit by bit") {
  for (DType dtype : {DType::F32, DType::BF16})
    for (KeyRange range : {KeyRange{.window = 130}, KeyRange{.window = 1000}, KeyRange{.prefix = 1},
                           KeyRange{.prefix = 1, .window = 130}}) {
      auto check = [&]<class Op>(const Op& op) {
        CAPTURE(operation_name<Op>());
        AttentionCase causal(1, 1, 130, 16, dtype, {}, 1, Extra::everything), other = causal.to(dtype);
        other.config.range = range;
        for (AttentionCase* c : {&causal, &other}) {
          c->forward(op);
          c->backward(op);
        }
        CHECK(same_bits(causal.o, other.o));
        for (std::size_t n = 0; n < causal.all_gradients().size(); ++n)
          CHECK(same_bits(*causal.all_gradients()[n], *other.all_gradients()[n]));
      };
#define SINK_ATTENTION_OP(Op) check(Op{});
      SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
    }
}

template <class Op, class... Ops>
concept OneOf = (std::is_same_v<Op, Ops> || ...);

TEST_CASE("fast attention: an extra key at -1e30 is none, bit by bit") {
  // Operations for which a score of minus infinity has weight zero.
  auto check = [&]<class Op>(const Op& op) {
    for (DType dtype : {DType::F32, DType::BF16}) {
      CAPTURE(operation_name<Op>());
      AttentionCase c(1, 2, 90, 16, dtype), ignored = c.to(dtype);
      ignored.config.extra_key.logit_H = Tensor::full({2}, -1e30);
      ignored.config.extra_key.v_HD = Tensor::full({2, 16}, 3);
      for (AttentionCase* x : {&c, &ignored}) {
        x->forward(op);
        x->backward(op);
      }
      CHECK(same_bits(c.o, ignored.o));
      CHECK(same_bits(c.S, ignored.S));
      CHECK(same_bits(c.gradients.dq_BHTD, ignored.gradients.dq_BHTD));
      CHECK(same_bits(c.gradients.dk_BGKD, ignored.gradients.dk_BGKD));
      CHECK(same_bits(c.gradients.dv_BGKD, ignored.gradients.dv_BGKD));
      CHECK(largest_magnitude(ignored.gradients.dextra_logit_H) == 0);
    }
  };
#define SINK_ATTENTION_OP(Op)                                                                                     \
  if constexpr (OneOf<Op, Softmax, ScaledSoftmax, PNormExp, PNormSigmoid, Sigmoid, SigmoidNorm, SigmoidLogN, Elu, \
                      EluNorm, Relu, ReluN, Sparsemax, Entmax15>)                                                 \
    check(Op{});
  SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
}

namespace {

// Calls f with this number of threads, then restores the previous one.
template <class F>
void with_threads(int threads, F&& f) {
  int before = thread_count();
  set_thread_count(threads);
  f();
  set_thread_count(before);
}

}  // namespace

TEST_CASE("fast attention: the same bits with any number of threads") {
  struct Shape {
    std::int64_t B, H, T, G;
    KeyRange range;
  };
  // With fewer heads than threads, threads share the tiles of a head; else each has whole heads.
  const Shape shapes[] = {{1, 1, 400, 1, {}},
                          {1, 1, 330, 1, {.prefix = 100}},
                          {1, 2, 300, 1, {.window = 70}},
                          {1, 1, 40, 1, {}},
                          {3, 4, 150, 4, {}},
                          {3, 4, 150, 1, {}}};
  auto check = [&]<class Op>(const Op& op, const Shape& shape, DType dtype) {
    CAPTURE(operation_name<Op>());
    CAPTURE(shape.T);
    AttentionCase one(shape.B, shape.H, shape.T, 24, dtype, shape.range, 1, Extra::everything, shape.G);
    AttentionStatistics one_statistics, more_statistics;
    with_threads(1, [&] {
      one.forward(op);
      one.backward(op);
      one_statistics = one.statistics(9, op);
    });
    for (int threads : {2, 3, 4, 5}) {
      CAPTURE(threads);
      AttentionCase more = one.to(dtype);
      with_threads(threads, [&] {
        more.forward(op);
        more.backward(op);
        more_statistics = more.statistics(9, op);
      });
      CHECK(same_bits(one.o, more.o));
      CHECK(same_bits(one.m, more.m));
      CHECK(same_bits(one.S, more.S));
      REQUIRE(one.all_gradients().size() == 6);
      for (std::size_t n = 0; n < 6; ++n) CHECK(same_bits(*one.all_gradients()[n], *more.all_gradients()[n]));
      CHECK(same_bits(one_statistics.column_proxy_BHX, more_statistics.column_proxy_BHX));
      CHECK(same_bits(one_statistics.other_cosine_BH, more_statistics.other_cosine_BH));
      CHECK(same_bits(one_statistics.value_share_BH, more_statistics.value_share_BH));
    }
  };
  for (const Shape& shape : shapes)
    for (DType dtype : {DType::F32, DType::BF16}) {
      check(Softmax{}, shape, dtype);
      check(ClippedSoftmax{}, shape, dtype);
      check(SigmoidNorm{}, shape, dtype);
      check(Entmax15{}, shape, dtype);
    }
}

TEST_CASE("fast attention: key tiles of one head add to dq and dbias in their turn, every time") {
  // Long enough that tiles finish out of order: without the turns, a third of the runs have different bits.
  for (Extra extra : {Extra::none, Extra::everything}) {
    AttentionCase whole(1, 1, 1024, 16, DType::F32, {}, 1, extra);
    with_threads(1, [&] {
      whole.forward<Softmax>();
      whole.backward<Softmax>();
    });
    for (int threads : {2, 4})
      for (int time = 0; time < 20; ++time) {
        AttentionCase split = whole;
        with_threads(threads, [&] { split.backward<Softmax>(); });
        CHECK(same_bits(whole.gradients.dq_BHTD, split.gradients.dq_BHTD));
        if (extra == Extra::everything) CHECK(same_bits(whole.gradients.dbias_HT, split.gradients.dbias_HT));
      }
  }
}

TEST_CASE("attention: queries in chunks are all queries") {
  // Results of one query have the same bits; sums over queries have another order.
  auto check = [&]<class Op>(const Op& op, const KeyRange& range, DType dtype) {
    CAPTURE(operation_name<Op>());
    CAPTURE(std::string(name_of(dtype)));
    CAPTURE(range.prefix);
    CAPTURE(range.window);
    AttentionCase all(2, 2, 150, 16, dtype, range, 1, Extra::everything, 1);
    all.forward(op);
    all.backward(op);
    AttentionStatistics statistics = all.statistics(150, op);
    double tolerance = dtype == DType::F64 ? 1e-12 : dtype == DType::F32 ? 1e-4 : 3e-2;
    std::vector<Tensor> sums;
    Tensor columns;
    const std::int64_t ends[] = {1, 8, 75, 139, 142, 150};
    std::int64_t begin = 0;
    for (std::int64_t end : ends) {
      CAPTURE(begin);
      CAPTURE(end);
      AttentionCase part = all.chunk(begin, end);
      part.forward(op);
      part.backward(op);
      CHECK(same_bits(part.o, AttentionCase::positions(all.o, begin, end)));
      CHECK(same_bits(part.m, AttentionCase::positions(all.m, begin, end)));
      CHECK(same_bits(part.S, AttentionCase::positions(all.S, begin, end)));
      Tensor dq = AttentionCase::positions(all.gradients.dq_BHTD, begin, end);
      CHECK(relative_error(part.gradients.dq_BHTD, dq) <= tolerance);
      if (!NeedsWholeRow<Op>) CHECK(same_bits(part.gradients.dq_BHTD, dq));
      CHECK(same_bits(part.map(1, 1, op), all.map(1, 1, op).rows(begin, end)));
      for (std::size_t n = 1; n < part.all_gradients().size(); ++n) {
        Tensor x = part.all_gradients()[n]->to(DType::F64).clone();
        if (sums.size() < n) {
          sums.push_back(x);
        } else {
          AttentionCase::add(sums[n - 1], x);
        }
      }
      Tensor of_part = part.statistics(150, op).column_raw_BHX;
      if (columns.defined()) {
        AttentionCase::add(columns, of_part);
      } else {
        columns = of_part.clone();
      }
      begin = end;
    }
    for (std::size_t n = 0; n < sums.size(); ++n) {
      CAPTURE(n);
      CHECK(relative_error(sums[n], *all.all_gradients()[n + 1]) <= tolerance);
    }
    CHECK(relative_error(columns, statistics.column_raw_BHX) <= 1e-12);
  };
  for (DType dtype : {DType::F64, DType::F32, DType::BF16})
    for (const KeyRange& range : kMasks) {
#define SINK_ATTENTION_OP(Op) \
  if (in_turn()) check(Op{}, range, dtype);
      SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
    }
}

TEST_CASE("fast attention: a query against more keys than it may see reads none of them") {
  for (DType dtype : {DType::F64, DType::F32, DType::BF16}) {
    AttentionCase c(1, 2, 90, 16, dtype, {}, 1, Extra::everything);
    AttentionCase part = c.chunk(20, 50), poisoned = c.chunk(20, 50);
    for (Tensor* x : {&poisoned.k, &poisoned.v}) {
      *x = x->clone();
      for (std::int64_t h = 0; h < 2; ++h) {
        Tensor later = x->reshape({2 * 90, 16}).rows(h * 90 + 50, h * 90 + 90);
        later.fill(7);
      }
    }
    for (AttentionCase* x : {&part, &poisoned}) {
      x->forward<Softmax>();
      x->backward<Softmax>();
    }
    CHECK(same_bits(part.o, poisoned.o));
    CHECK(same_bits(part.gradients.dq_BHTD, poisoned.gradients.dq_BHTD));
    CHECK(largest_magnitude(AttentionCase::positions(part.gradients.dk_BGKD, 50, 90)) == 0);
    CHECK(largest_magnitude(AttentionCase::positions(part.gradients.dv_BGKD, 50, 90)) == 0);
  }
}

TEST_CASE("fast attention: no memory is allocated from the system in steady state") {
  AttentionCase c(2, 2, 70, 32, DType::F32, {}, 1, Extra::everything, 1);
  auto step = [&] {
    c.forward<Softmax>();
    c.backward<Softmax>();
  };
  step();
  step();  // the gradients of the first step are still allocated here
  auto before = allocator_stats().system_allocations;
  step();
  CHECK(allocator_stats().system_allocations == before);
}

TEST_CASE("fast attention: inputs at an odd address give the same bits") {
  // T = 32 and D = 16 are read in place if aligned, else packed.
  AttentionCase aligned(1, 2, 32, 16, DType::F32, {}, 1, Extra::everything), shifted = aligned.to(DType::F32);
  for (Tensor* x : {&shifted.q, &shifted.k, &shifted.v, &shifted.upstream, &shifted.config.extra_key.k_HD}) {
    Tensor larger = Tensor::zeros({x->size() + 1});
    Tensor odd = larger.rows(1, x->size() + 1).reshape(x->shape());
    odd.copy_from(*x);
    *x = odd;
  }
  for (AttentionCase* c : {&aligned, &shifted}) {
    c->forward<Softmax>();
    c->backward<Softmax>();
  }
  CHECK(same_bits(aligned.o, shifted.o));
  CHECK(same_bits(aligned.gradients.dq_BHTD, shifted.gradients.dq_BHTD));
  CHECK(same_bits(aligned.gradients.dk_BGKD, shifted.gradients.dk_BGKD));
}

TEST_CASE("fast attention: the reference switch gives the reference's numbers") {
  AttentionCase fast(1, 2, 40, 16, DType::BF16, {}, 1, Extra::everything), slow = fast.to(DType::BF16);
  fast.forward<Softmax>();
  fast.backward<Softmax>();
  use_reference() = true;
  slow.forward<Softmax>();
  slow.backward<Softmax>();
  use_reference() = false;
  CHECK(relative_error(fast.o, slow.o) < 1e-2);
  CHECK(relative_error(fast.gradients.dq_BHTD, slow.gradients.dq_BHTD) < 2e-2);
  CHECK_FALSE(same_bits(fast.gradients.dq_BHTD, slow.gradients.dq_BHTD));
}
