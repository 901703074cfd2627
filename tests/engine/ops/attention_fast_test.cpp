// The fast attention kernels against the reference in double, and what must hold bit by bit.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "attention_case.h"
#include "engine/reference_switch.h"
#include "engine/threads.h"

using namespace sink;
using namespace sink::test;

namespace {

bool same_bits(const Tensor& x, const Tensor& y) { return std::memcmp(x.raw(), y.raw(), x.bytes()) == 0; }

// Relative to the largest number, or to 1 where all are small (softmax over a single key has gradient 0).
double relative_error(const Tensor& x, const Tensor& expected) {
  return largest_difference(x, expected) / std::max(1.0, largest_magnitude(expected));
}

template <class Op>
void check_fast(std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t D, DType dtype, KeyRange range,
                double score_deviation, double tolerance) {
  CAPTURE(std::string(Op::name));
  CAPTURE(std::string(name_of(dtype)));
  CAPTURE(T);
  CAPTURE(D);
  CAPTURE(range.prefix);
  CAPTURE(range.window);
  CAPTURE(score_deviation);
  AttentionCase fast(B, H, T, D, dtype, range, score_deviation);
  AttentionCase expected = fast.to(DType::F64);
  fast.forward<Op>();
  fast.backward<Op>();
  expected.forward<Op>();
  expected.backward<Op>();
  double row_tolerance = std::min(tolerance, 1e-4);
  CHECK(relative_error(fast.o, expected.o) <= tolerance);
  CHECK(largest_difference(fast.m, expected.m) <= row_tolerance * std::max(1.0, largest_magnitude(expected.m)));
  CHECK(relative_error(fast.S, expected.S) <= row_tolerance);
  CHECK(relative_error(fast.dq, expected.dq) <= tolerance);
  CHECK(relative_error(fast.dk, expected.dk) <= tolerance);
  CHECK(relative_error(fast.dv, expected.dv) <= tolerance);
}

void check_fast_all(std::int64_t T, std::int64_t D, KeyRange range = {}) {
#define SINK_ATTENTION_OP(Op)                             \
  check_fast<Op>(1, 3, T, D, DType::F32, range, 1, 1e-5); \
  check_fast<Op>(1, 3, T, D, DType::BF16, range, 1, 2e-2);
#include "engine/ops/attention/attention_ops.def"
}

}  // namespace

TEST_CASE("fast attention: equals the double reference at every length and head size") {
  for (std::int64_t T : {1, 2, 31, 32, 33, 64, 127, 200}) check_fast_all(T, 32);
  for (std::int64_t D : {1, 7, 8, 16, 24, 33, 64, 96, 128}) check_fast_all(70, D);
}

TEST_CASE("fast attention: equals the double reference under windows and prefixes") {
  for (KeyRange range : {KeyRange{.window = 1}, KeyRange{.window = 16}, KeyRange{.window = 33}, KeyRange{.prefix = 5},
                         KeyRange{.prefix = 70}, KeyRange{.prefix = 1000}, KeyRange{.prefix = 3, .window = 20},
                         KeyRange{.prefix = 80, .window = 9}})
    for (std::int64_t T : {33, 200}) check_fast_all(T, 16, range);
}

TEST_CASE("fast attention: huge scores stay finite and right") {
  // Scores of magnitude 1e4: softmax is one-hot nearly everywhere. A score of 1e4 has an f32 rounding error of about
  // 1e-3, which is a relative error of the weights, so o is compared at that and the gradients only for being finite.
  AttentionCase c(1, 2, 100, 32, DType::F32, {}, 1e4);
  AttentionCase expected = c.to(DType::F64);
  auto check = [&]<class Op>(Op) {
    CAPTURE(std::string(Op::name));
    c.forward<Op>();
    c.backward<Op>();
    expected.forward<Op>();
    CHECK(relative_error(c.o, expected.o) < 5e-3);
    for (const Tensor* x : {&c.dq, &c.dk, &c.dv}) CHECK(std::isfinite(largest_difference(*x, *x)));
  };
#define SINK_ATTENTION_OP(Op) check(Op{});
#include "engine/ops/attention/attention_ops.def"
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
#include "engine/ops/attention/attention_ops.def"
  }
}

TEST_CASE("fast attention: a later token changes no earlier output, bit by bit") {
  for (DType dtype : {DType::F32, DType::BF16}) {
    auto check = [&]<class Op>(Op) {
      AttentionCase c(1, 1, 130, 16, dtype);
      c.forward<Op>();
      for (std::int64_t j : {1, 15, 64, 77, 129}) {
        AttentionCase changed = c.to(dtype);
        for (Tensor* x : {&changed.q, &changed.k, &changed.v}) {
          Tensor row = x->reshape({130, 16}).rows(j, j + 1);
          row.fill(5);
        }
        changed.forward<Op>();
        CAPTURE(j);
        CAPTURE(std::string(Op::name));
        Tensor before = c.o.reshape({130, 16}), after = changed.o.reshape({130, 16});
        CHECK(same_bits(before.rows(0, j), after.rows(0, j)));
        CHECK_FALSE(same_bits(before.rows(j, j + 1), after.rows(j, j + 1)));
      }
    };
#define SINK_ATTENTION_OP(Op) check(Op{});
#include "engine/ops/attention/attention_ops.def"
  }
}

TEST_CASE("fast attention: the same bits with one and with two threads") {
  for (DType dtype : {DType::F32, DType::BF16}) {
    AttentionCase one(2, 3, 150, 24, dtype), two = one.to(dtype);
    int threads = thread_count();
    omp_set_num_threads(1);
    one.forward<Softmax>();
    one.backward<Softmax>();
    omp_set_num_threads(2);
    two.forward<Softmax>();
    two.backward<Softmax>();
    omp_set_num_threads(threads);
    for (auto [x, y] :
         {std::pair{&one.o, &two.o}, {&one.S, &two.S}, {&one.dq, &two.dq}, {&one.dk, &two.dk}, {&one.dv, &two.dv}})
      CHECK(same_bits(*x, *y));
  }
}

TEST_CASE("fast attention: no memory is asked of the system in steady state") {
  AttentionCase c(2, 2, 70, 32, DType::F32);
  auto step = [&] {
    c.forward<Softmax>();
    c.backward<Softmax>();
  };
  step();
  auto before = allocator_stats().system_allocations;
  step();
  CHECK(allocator_stats().system_allocations == before);
}

TEST_CASE("fast attention: numbers at an odd address give the same bits") {
  // T = 32 and D = 16 are read in place when aligned, and packed otherwise.
  AttentionCase aligned(1, 2, 32, 16, DType::F32), shifted = aligned.to(DType::F32);
  for (Tensor* x : {&shifted.q, &shifted.k, &shifted.v, &shifted.upstream}) {
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
  CHECK(same_bits(aligned.dq, shifted.dq));
  CHECK(same_bits(aligned.dk, shifted.dk));
}

TEST_CASE("fast attention: the reference switch gives the reference's numbers") {
  AttentionCase fast(1, 2, 40, 16, DType::BF16), slow = fast.to(DType::BF16);
  fast.forward<Softmax>();
  fast.backward<Softmax>();
  use_reference() = true;
  slow.forward<Softmax>();
  slow.backward<Softmax>();
  use_reference() = false;
  CHECK(relative_error(fast.o, slow.o) < 1e-2);
  CHECK(relative_error(fast.dq, slow.dq) < 2e-2);
  CHECK_FALSE(same_bits(fast.dq, slow.dq));
}

TEST_CASE("attention statistics: equal sums over the whole map") {
  constexpr std::int64_t B = 2, H = 2, T = 75, K = 70;
  for (DType dtype : {DType::F64, DType::F32, DType::BF16})
    for (KeyRange range : {KeyRange{}, KeyRange{.prefix = 3, .window = 20}}) {
      auto check = [&]<class Op>(Op) {
        CAPTURE(std::string(Op::name));
        CAPTURE(std::string(name_of(dtype)));
        CAPTURE(range.window);
        AttentionCase c(B, H, T, 16, dtype, range);
        c.forward<Op>();
        AttentionStatistics statistics = c.statistics<Op>(K);
        double worst = 0;
        for (std::int64_t bh = 0; bh < B * H; ++bh) {
          Tensor a = c.map<Op>(bh / H, bh % H);
          std::vector<double> raw(K), proxy(K);
          double mass = 0, entropy = 0;
          for (std::int64_t i = 0; i < T; ++i) {
            double absolute = 1e-8;
            for (std::int64_t j = 0; j < T; ++j) absolute += std::abs(a.item(i * T + j));
            for (std::int64_t j = 0; j < T; ++j) {
              double weight = a.item(i * T + j), p = std::abs(weight) / absolute;
              mass += weight / T;
              if (p > 0) entropy -= p * std::log(p) / T;
              if (j < K) raw[j] += weight;
              if (j < K) proxy[j] += p;
            }
          }
          for (std::int64_t j = 0; j < K; ++j) {
            worst = std::max(worst, std::abs(raw[j] - statistics.column_raw_BHK.item(bh * K + j)));
            worst = std::max(worst, std::abs(proxy[j] - statistics.column_proxy_BHK.item(bh * K + j)));
          }
          worst = std::max(worst, std::abs(mass - statistics.row_mass_BH.item(bh)));
          worst = std::max(worst, std::abs(entropy - statistics.entropy_BH.item(bh)));
        }
        CHECK(worst < 3e-5);
      };
#define SINK_ATTENTION_OP(Op) check(Op{});
#include "engine/ops/attention/attention_ops.def"
    }
}

TEST_CASE("vector math: exp, logistic and log are near the library's functions") {
  double worst_exp = 0, worst_logistic = 0, worst_log = 0;
  for (double x = -86.9; x < 88.7; x += 0.00137) {
    float y = static_cast<float>(x);
    double exact = std::exp(static_cast<double>(y));
    worst_exp = std::max(worst_exp, std::abs(exp_fast(y) - exact) / exact);
    double logistic = 1 / (1 + std::exp(-static_cast<double>(y)));
    worst_logistic = std::max(worst_logistic, std::abs(logistic_fast(y) - logistic) / logistic);
    float z = exp_fast(y);
    worst_log = std::max(worst_log, std::abs(log_fast(z) - std::log(static_cast<double>(z))));
  }
  CHECK(worst_exp < 3e-7);
  CHECK(worst_logistic < 4e-7);
  CHECK(worst_log < 1e-5);
  CHECK(exp_fast(0.0f) == 1.0f);
  CHECK(exp_fast(-100.0f) == 0.0f);
  CHECK(exp_fast(-INFINITY) == 0.0f);
  CHECK(exp_fast(100.0f) == INFINITY);
  CHECK(logistic_fast(1e4f) == 1.0f);
  CHECK(logistic_fast(-1e4f) == 0.0f);
  CHECK(0.0f * log_fast(0.0f) == 0.0f);
  CHECK(std::isnan(exp_fast(NAN)));
  CHECK(std::isnan(logistic_fast(NAN)));
}
