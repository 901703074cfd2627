// Attention against hand computation, closed forms, finite differences and the properties that define each operation.
#include "engine/ops/attention/attention.h"

#include <doctest/doctest.h>

#include <cmath>

#include "attention_case.h"

using namespace sink;
using namespace sink::test;

namespace {

const std::vector<KeyRange> kRanges{{}, {.window = 5}, {.prefix = 4}, {.prefix = 3, .window = 4}};

// sum of upstream * o as a function of the inputs: its gradients are what attention_backward returns for `upstream`.
template <class Op>
double objective(AttentionCase& c) {
  c.forward<Op>();
  double sum = 0;
  for (std::int64_t n = 0; n < c.o.size(); ++n) sum += c.upstream.item(n) * c.o.item(n);
  return sum;
}

template <class Op>
void check_gradients(const KeyRange& range) {
  CAPTURE(std::string(Op::name));
  CAPTURE(range.prefix);
  CAPTURE(range.window);
  AttentionCase c(2, 2, 9, 5, DType::F64, range);
  c.forward<Op>();
  c.backward<Op>();
  constexpr double kStep = 1e-4;
  Tensor inputs[] = {c.q, c.k, c.v}, gradients[] = {c.dq.clone(), c.dk.clone(), c.dv.clone()};
  for (int input = 0; input < 3; ++input) {
    double largest = largest_magnitude(gradients[input]);
    for (std::int64_t n = 0; n < inputs[input].size(); n += 3) {
      double* x = inputs[input].data<double>() + n;
      double kept = *x;
      // Central differences over steps h and 2h, combined so that the errors of order h^2 cancel.
      auto slope = [&](double step) {
        *x = kept + step;
        double above = objective<Op>(c);
        *x = kept - step;
        double below = objective<Op>(c);
        *x = kept;
        return (above - below) / (2 * step);
      };
      double expected = (4 * slope(kStep) - slope(2 * kStep)) / 3;
      CAPTURE("qkv"[input]);
      CAPTURE(n);
      CAPTURE(gradients[input].item(n));
      CAPTURE(expected);
      CHECK(std::abs(gradients[input].item(n) - expected) <= 1e-8 * largest);
    }
  }
}

}  // namespace

TEST_CASE("attention: one-hot keys and values, computed by hand") {
  // Two positions, D = 2, scale 1: query 0 sees key 0; query 1 = (ln 3, 0) meets scores ln 3 and 0.
  AttentionConfig config{.scale = 1};
  Tensor q = Tensor::from<double>({1, 1, 2, 2}, {0, 0, std::log(3.0), 0});
  Tensor k = Tensor::from<double>({1, 1, 2, 2}, {1, 0, 0, 1});
  Tensor v = Tensor::from<double>({1, 1, 2, 2}, {1, 0, 0, 1});
  Tensor o = Tensor::empty({1, 1, 2, 2}, DType::F64), m = Tensor::empty({1, 1, 2}, DType::F64), S = m.clone();
  attention<Softmax>(q, k, v, config, o, m, S);
  CHECK(o.item(0) == 1);
  CHECK(o.item(1) == 0);
  CHECK(o.item(2) == doctest::Approx(0.75).epsilon(1e-14));
  CHECK(o.item(3) == doctest::Approx(0.25).epsilon(1e-14));
  CHECK(m.item(1) == doctest::Approx(std::log(3.0)).epsilon(1e-14));
  CHECK(S.item(1) == doctest::Approx(4.0 / 3).epsilon(1e-14));
  attention<Sigmoid>(q, k, v, config, o, m, S);
  CHECK(o.item(0) == 0.5);
  CHECK(o.item(2) == doctest::Approx(0.75).epsilon(1e-14));
  CHECK(o.item(3) == doctest::Approx(0.5).epsilon(1e-14));
  attention<Relu>(q, k, v, config, o, m, S);
  CHECK(o.item(0) == 0);
  CHECK(o.item(2) == doctest::Approx(std::log(3.0)).epsilon(1e-14));
  CHECK(o.item(3) == 0);
}

TEST_CASE("attention: zero queries give uniform weights") {
  for (DType dtype : {DType::F64, DType::F32, DType::BF16}) {
    CAPTURE(std::string(name_of(dtype)));
    AttentionCase c(1, 2, 70, 8, dtype);
    c.q.fill(0);
    c.forward<Softmax>();
    Tensor a = c.map<Softmax>(0, 1);
    CHECK(a.item(69 * 70 + 3) == doctest::Approx(1.0 / 70).epsilon(1e-6));
    CHECK(a.item(20 * 70 + 20) == doctest::Approx(1.0 / 21).epsilon(1e-6));
    CHECK(a.item(20 * 70 + 21) == 0);
    // Mean of alpha_1 is H_70 / 70.
    double harmonic = 0;
    for (int i = 1; i <= 70; ++i) harmonic += 1.0 / i;
    CHECK(c.statistics<Softmax>(1).column_raw_BHK.item(1) == doctest::Approx(harmonic).epsilon(1e-6));
    c.forward<Sigmoid>();
    CHECK(c.map<Sigmoid>(0, 0).item(20 * 70 + 7) == doctest::Approx(0.5).epsilon(1e-6));
    CHECK(c.statistics<Sigmoid>(1).row_mass_BH.item(0) == doctest::Approx(0.5 * 71 / 2).epsilon(1e-6));
    c.forward<Relu>();
    CHECK(largest_magnitude(c.o) == 0);
    CHECK(largest_magnitude(c.map<Relu>(0, 0)) == 0);
    CHECK(c.statistics<Relu>(3).entropy_BH.item(0) == 0);
  }
}

TEST_CASE("attention: reference gradients equal finite differences") {
  for (const KeyRange& range : kRanges) {
#define SINK_ATTENTION_OP(Op) check_gradients<Op>(range);
#include "engine/ops/attention/attention_ops.def"
  }
}

TEST_CASE("attention: softmax ignores a constant added to a row's scores, sigmoid does not") {
  // The last component of every key is 1, so adding 8 to the last component of a query adds 8 scale to its scores.
  for (DType dtype : {DType::F64, DType::F32}) {
    AttentionCase c(1, 1, 40, 8, DType::F64);
    for (std::int64_t j = 0; j < 40; ++j) c.k.data<double>()[j * 8 + 7] = 1;
    AttentionCase shifted = c.to(DType::F64);
    for (std::int64_t i = 0; i < 40; ++i) shifted.q.data<double>()[i * 8 + 7] += 8;
    c = c.to(dtype);
    shifted = shifted.to(dtype);
    auto change = [&]<class Op>(Op) {
      c.forward<Op>();
      shifted.forward<Op>();
      return largest_difference(c.o, shifted.o);
    };
    CHECK(change(Softmax{}) < 1e-5);
    CHECK(change(Sigmoid{}) > 0.1);
    CHECK(change(Relu{}) > 0.1);
  }
}

TEST_CASE("attention: wrong arguments are refused with both shapes") {
  AttentionCase c(1, 2, 8, 4, DType::F32);
  Tensor short_k = Tensor::zeros({1, 2, 7, 4});
  CHECK_THROWS_WITH_AS(attention<Softmax>(c.q, short_k, c.v, c.config, c.o, c.m, c.S),
                       "[attention] k must be like q: k is f32 (1, 2, 7, 4), q is f32 (1, 2, 8, 4)", Error);
  Tensor bf16_v = c.v.to(DType::BF16);
  CHECK_THROWS_AS(attention<Softmax>(c.q, c.k, bf16_v, c.config, c.o, c.m, c.S), Error);
  Tensor m_64 = c.m.to(DType::F64);
  CHECK_THROWS_AS(attention<Softmax>(c.q, c.k, c.v, c.config, c.o, m_64, c.S), Error);
  CHECK_THROWS_AS(attention_statistics<Softmax>(c.q, c.k, c.m, c.S, c.config, 9), Error);
  CHECK_THROWS_AS(attention_map<Softmax>(c.q, c.k, c.m, c.S, c.config, 0, 2), Error);
}

TEST_CASE("key range: hulls and completeness agree with single pairs") {
  for (std::int64_t prefix : {0, 1, 3, 9})
    for (std::int64_t window : {0, 1, 2, 7}) {
      KeyRange range{prefix, window};
      for (std::int64_t i0 = 0; i0 < 12; i0 += 4)
        for (std::int64_t j0 = 0; j0 < 12; j0 += 4) {
          Span queries{i0, i0 + 4}, keys{j0, j0 + 4}, seen_keys{99, 0}, seeing_queries{99, 0};
          int pairs = 0;
          for (std::int64_t i = i0; i < i0 + 4; ++i)
            for (std::int64_t j = j0; j < j0 + 4; ++j) {
              if (!range.sees(i, j)) continue;
              ++pairs;
              seen_keys = {std::min(seen_keys.begin, j), std::max(seen_keys.end, j + 1)};
              seeing_queries = {std::min(seeing_queries.begin, i), std::max(seeing_queries.end, i + 1)};
            }
          CAPTURE(prefix);
          CAPTURE(window);
          CAPTURE(i0);
          CAPTURE(j0);
          Span key_hull = range.key_hull(queries, keys), query_hull = range.query_hull(queries, keys);
          CHECK(key_hull.empty() == (pairs == 0));
          CHECK(query_hull.empty() == (pairs == 0));
          if (pairs == 0) continue;
          CHECK(key_hull.begin <= seen_keys.begin);
          CHECK(key_hull.end == seen_keys.end);
          CHECK(query_hull.begin == seeing_queries.begin);
          CHECK(query_hull.end == seeing_queries.end);
          if (range.sees_all(queries, keys)) CHECK(pairs == 16);
        }
      for (std::int64_t i = 0; i < 12; ++i) {
        std::vector<std::int64_t> keys;
        range.for_each_key(i, 12, [&](std::int64_t j) { keys.push_back(j); });
        std::vector<std::int64_t> expected;
        for (std::int64_t j = 0; j < 12; ++j)
          if (range.sees(i, j)) expected.push_back(j);
        CHECK(keys == expected);
      }
    }
}
