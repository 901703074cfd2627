// The reference of attention against hand computation, closed forms and finite differences; and invalid arguments.
#include "engine/ops/attention/attention.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/ops/attention/op/attention_ops.h"
#include "engine/ops/attention/op/attention_row.h"
#include "tests/engine/ops/attention_case.h"
#include "tests/support/in_turn.h"

using namespace sink;
using namespace sink::test;

namespace {

const std::vector<KeyRange> kRanges{{}, {.window = 5}, {.prefix = 4}, {.prefix = 3, .window = 4}};

// sum of upstream * o as a function of the inputs: its gradients are what attention_backward returns for `upstream`.
template <class Op>
double objective(AttentionCase& c, const Op& op) {
  c.forward(op);
  double sum = 0;
  for (std::int64_t n = 0; n < c.o.size(); ++n) sum += c.upstream.item(n) * c.o.item(n);
  return sum;
}

template <class Op>
void check_gradients(const Op& op, const KeyRange& range, Extra extra, std::int64_t G = 2) {
  CAPTURE(operation_name<Op>());
  CAPTURE(range.prefix);
  CAPTURE(range.window);
  CAPTURE(std::string(name_of(extra)));
  // Large scores keep the sums of the linear operations away from zero, where they have kinks within one step.
  AttentionCase c(2, 2, 9, 5, DType::F64, range, 3, extra, G);
  c.forward(op);
  c.backward(op);
  constexpr double kStep = 1e-5;
  std::vector<Tensor*> inputs{&c.q, &c.k, &c.v};
  for (Tensor* x : c.extras()) inputs.push_back(x);
  std::vector<Tensor> gradients;
  for (const Tensor* x : c.all_gradients()) gradients.push_back(x->clone());
  REQUIRE(gradients.size() == inputs.size());
  double largest = 1;
  for (const Tensor& x : gradients) largest = std::max(largest, largest_magnitude(x));
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    REQUIRE(gradients[input].shape() == inputs[input]->shape());
    for (std::int64_t n = 0; n < inputs[input]->size(); n += input < 3 ? 3 : 1) {
      double* x = inputs[input]->data<double>() + n;
      double kept = *x;
      // Central differences over steps h and 2h, combined so that the errors of order h^2 cancel.
      auto slope = [&](double step) {
        *x = kept + step;
        double above = objective(c, op);
        *x = kept - step;
        double below = objective(c, op);
        *x = kept;
        return (above - below) / (2 * step);
      };
      double expected = (4 * slope(kStep) - slope(2 * kStep)) / 3;
      CAPTURE(input);
      CAPTURE(n);
      CAPTURE(gradients[input].item(n));
      CAPTURE(expected);
      CHECK(std::abs(gradients[input].item(n) - expected) <= 1e-7 * largest);
    }
  }
}

// illegal_attention_op.cpp contains operations that must not compile.
static_assert(DividesBySum<Softpick> && !DividesBySum<ReluN> && !DividesBySum<Sigmoid>);

}  // namespace

TEST_CASE("attention: one-hot keys and values, computed by hand") {
  // Two positions, D = 2, scale 1: query 0 sees key 0; query 1 = (ln 3, 0) has scores ln 3 and 0.
  AttentionConfig config{.scale = 1};
  Tensor q = Tensor::from<double>({1, 1, 2, 2}, {0, 0, std::log(3.0), 0});
  Tensor k = Tensor::from<double>({1, 1, 2, 2}, {1, 0, 0, 1});
  Tensor v = Tensor::from<double>({1, 1, 2, 2}, {1, 0, 0, 1});
  Tensor o = Tensor::empty({1, 1, 2, 2}, DType::F64), m = Tensor::empty({1, 1, 2}, DType::F64), S = m.clone();
  // The output is the two weights of each row.
  auto check = [&]<class Op>(const Op& op, double a_00, double a_10, double a_11) {
    CAPTURE(operation_name<Op>());
    attention(op, q, k, v, config, o, m, S);
    CHECK(o.item(0) == doctest::Approx(a_00).epsilon(1e-14));
    CHECK(o.item(1) == 0);
    CHECK(o.item(2) == doctest::Approx(a_10).epsilon(1e-14));
    CHECK(o.item(3) == doctest::Approx(a_11).epsilon(1e-14));
  };
  double ln3 = std::log(3.0);
  check(Softmax{}, 1, 0.75, 0.25);
  CHECK(m.item(1) == doctest::Approx(ln3).epsilon(1e-14));
  CHECK(S.item(1) == doctest::Approx(4.0 / 3).epsilon(1e-14));
  check(ScaledSoftmax(0.2), 0.2, 0.15, 0.05);
  const double capped = std::exp(0.5 * std::tanh(2 * ln3));
  check(SoftCappedSoftmax(0.5), 1, capped / (capped + 1), 1 / (capped + 1));
  CHECK(m.item(1) == 0);
  check(PNormExp(2), 1, 3 / std::sqrt(10.0), 1 / std::sqrt(10.0));
  check(PNormExp(0.5), 1, 3 / std::pow(std::sqrt(3.0) + 1, 2), 1 / std::pow(std::sqrt(3.0) + 1, 2));
  check(PNormSigmoid(2), 0.5 / std::sqrt(0.25 + 1e-8), 0.75 / std::sqrt(0.8125 + 1e-8), 0.5 / std::sqrt(0.8125 + 1e-8));
  check(Sigmoid{}, 0.5, 0.75, 0.5);
  check(SigmoidNorm{}, 0.5 / (0.5 + 1e-8), 0.75 / (1.25 + 1e-8), 0.5 / (1.25 + 1e-8));
  check(SigmoidLogN{}, 0.5, 0.6, 1.0 / 3);  // sigmoid(ln 3 - ln 2), sigmoid(-ln 2)
  check(ConSmax(0.5, 4), std::exp(-0.5) / 4, 3 * std::exp(-0.5) / 4, std::exp(-0.5) / 4);
  check(Elu{}, 1, ln3 + 1, 1);
  check(EluNorm{}, 1 / (1 + 1e-8), (ln3 + 1) / (ln3 + 2 + 1e-8), 1 / (ln3 + 2 + 1e-8));
  check(Relu{}, 0, ln3, 0);
  check(ReluN{}, 0, ln3 / 2, 0);
  check(Linear{}, 0, ln3, 0);
  check(LinearNorm{}, 0, ln3 / (ln3 + 1e-8), 0);
  check(LinearMaxAbs{}, 0, 1, 0);
  check(Softpick{}, 0, 2 / (2 + 1e-8), 0);
  check(ClippedSoftmax{}, 1, 1.03 * 0.75 - 0.03, 1.03 * 0.25 - 0.03);
  check(ClippedSoftmax(-0.5, 1.5), 1, 1, 0);
  check(Sparsemax{}, 1, 1, 0);
  double half = ln3 / 2, root = std::sqrt(2 - half * half);  // (half - t)^2 + t^2 = 1
  check(Entmax15{}, 1, std::pow((root + half) / 2, 2), std::pow((root - half) / 2, 2));
}

TEST_CASE("attention: bias, prefix and extra key, computed by hand") {
  // Scores are all 0 without the bias; distance 0 gets ln 2 and distance 1 gets ln 5. Values are 1 and 10.
  Tensor zero = Tensor::zeros({1, 1, 2, 1}, DType::F64), v = Tensor::from<double>({1, 1, 2, 1}, {1, 10});
  Tensor o = zero.clone(), m = Tensor::empty({1, 1, 2}, DType::F64), S = m.clone();
  AttentionConfig config;
  config.bias_HT = Tensor::from<double>({1, 2}, {std::log(2.0), std::log(5.0)});
  attention(Softmax{}, zero, zero, v, config, o, m, S);
  CHECK(o.item(0) == 1);
  CHECK(o.item(1) == doctest::Approx((5 * 1 + 2 * 10) / 7.0).epsilon(1e-14));
  config.range.prefix = 2;  // a key ahead of its query is at distance 0
  attention(Softmax{}, zero, zero, v, config, o, m, S);
  CHECK(o.item(0) == doctest::Approx((2 * 1 + 2 * 10) / 4.0).epsilon(1e-14));
  config.range.prefix = 0;
  config.extra_key.logit_H = Tensor::from<double>({1}, {std::log(3.0)});
  attention(Softmax{}, zero, zero, v, config, o, m, S);
  CHECK(o.item(1) == doctest::Approx((5 * 1 + 2 * 10) / 10.0).epsilon(1e-14));
  config.extra_key.v_HD = Tensor::from<double>({1, 1}, {100});
  attention(Softmax{}, zero, zero, v, config, o, m, S);
  CHECK(o.item(0) == doctest::Approx((2 * 1 + 3 * 100) / 5.0).epsilon(1e-14));
  CHECK(o.item(1) == doctest::Approx((5 * 1 + 2 * 10 + 3 * 100) / 10.0).epsilon(1e-14));
  Tensor a = attention_pattern(Softmax{}, zero, zero, m, S, config, 0, 0);
  CHECK(a.shape() == Shape({2, 3}));
  CHECK(a.item(0) == doctest::Approx(0.6).epsilon(1e-14));
  CHECK(a.item(3) == doctest::Approx(0.3).epsilon(1e-14));
  CHECK(a.item(4) == doctest::Approx(0.5).epsilon(1e-14));
  // The extra key is not counted in n: sigmoid(s - ln 2) of the second query, extra key included.
  attention(SigmoidLogN{}, zero, zero, v, config, o, m, S);
  CHECK(o.item(1) == doctest::Approx(1 * 5 / 7.0 + 10 * 0.5 + 100 * 3 / 5.0).epsilon(1e-14));
}

TEST_CASE("attention: two queries from position 3 on against 6 keys, computed by hand") {
  // Scores are 0: weights are uniform over the keys that a query sees. Values are 1, 10, ..., 1e5, so that the output
  // times the number of keys identifies them.
  Tensor q = Tensor::zeros({1, 1, 2, 1}, DType::F64), k = Tensor::zeros({1, 1, 6, 1}, DType::F64), o = q.clone();
  Tensor v = Tensor::from<double>({1, 1, 6, 1}, {1, 10, 100, 1e3, 1e4, 1e5});
  Tensor m = Tensor::empty({1, 1, 2}, DType::F64), S = m.clone();
  auto outputs = [&](const KeyRange& range, double first, double second) {
    AttentionConfig config{.range = range, .first_position = 3};
    attention(Softmax{}, q, k, v, config, o, m, S);
    CHECK(o.item(0) == doctest::Approx(first).epsilon(1e-14));
    CHECK(o.item(1) == doctest::Approx(second).epsilon(1e-14));
  };
  outputs({}, 1111 / 4.0, 11111 / 5.0);
  outputs({.window = 2}, 1100 / 2.0, 11000 / 2.0);
  outputs({.prefix = 1, .window = 2}, 1101 / 3.0, 11001 / 3.0);
  outputs({.prefix = 6}, 111111 / 6.0, 111111 / 6.0);
  // A bias by distance: position 3 sees key 0 at distance 3.
  AttentionConfig config{.range = {.window = 2}, .first_position = 3};
  config.bias_HT = Tensor::from<double>({1, 5}, {0, std::log(3.0), 7, 7, 7});
  attention(Softmax{}, q, k, v, config, o, m, S);
  CHECK(o.item(0) == doctest::Approx((3 * 100 + 1000) / 4.0).epsilon(1e-14));
  CHECK(o.item(1) == doctest::Approx((3 * 1000 + 10000) / 4.0).epsilon(1e-14));
  // n counts the keys from the beginning: sigmoid(1 - log n).
  q.fill(1);
  k.fill(1);
  v.fill(1);
  attention(SigmoidLogN{}, q, k, v, {.first_position = 3}, o, m, S);
  CHECK(m.item(0) == doctest::Approx(std::log(4.0)).epsilon(1e-14));
  CHECK(o.item(1) == doctest::Approx(5 / (1 + std::exp(std::log(5.0) - 1))).epsilon(1e-14));
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
    CHECK(c.statistics<Softmax>(1).column_raw_BHX.item(1) == doctest::Approx(harmonic).epsilon(1e-6));
    c.forward<Sigmoid>();
    CHECK(c.map<Sigmoid>(0, 0).item(20 * 70 + 7) == doctest::Approx(0.5).epsilon(1e-6));
    CHECK(c.statistics<Sigmoid>(1).row_sum_BH.item(0) == doctest::Approx(0.5 * 71 / 2).epsilon(1e-6));
    c.forward<Relu>();
    CHECK(largest_magnitude(c.o) == 0);
    CHECK(largest_magnitude(c.map<Relu>(0, 0)) == 0);
    CHECK(c.statistics<Relu>(3).entropy_BH.item(0) == 0);
  }
}

TEST_CASE("attention: reference gradients equal finite differences") {
  for (const KeyRange& range : kRanges)
    for (Extra extra : {Extra::none, Extra::everything, Extra::logit}) {
#define SINK_ATTENTION_OP(Op) \
  if (in_turn()) check_gradients(Op{}, range, extra);
      SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
    }
#define SINK_ATTENTION_OP(Op) check_gradients(Op{}, {}, Extra::everything, 1);
  SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
  for (double p : {0.25, 0.5, 3.0}) {
    check_gradients(PNormExp(p), {}, Extra::everything);
    check_gradients(PNormSigmoid(p), {}, Extra::everything);
  }
  check_gradients(ScaledSoftmax(0.2), {}, Extra::everything);
  check_gradients(ClippedSoftmax(-0.2, 1.3), {}, Extra::everything);
}

TEST_CASE("attention: query heads that share a key head are query heads with copies of it") {
  auto check = [&]<class Op>(const Op& op) {
    CAPTURE(operation_name<Op>());
    AttentionCase shared(2, 4, 9, 5, DType::F64, {}, 1, Extra::everything, 2);
    AttentionCase copied(2, 4, 9, 5, DType::F64, {}, 1, Extra::everything);
    std::int64_t size = 9 * 5;
    for (std::int64_t bh = 0; bh < 8; ++bh) {
      std::copy_n(shared.k.data<double>() + bh / 2 * size, size, copied.k.data<double>() + bh * size);
      std::copy_n(shared.v.data<double>() + bh / 2 * size, size, copied.v.data<double>() + bh * size);
    }
    for (AttentionCase* c : {&shared, &copied}) {
      c->forward(op);
      c->backward(op);
    }
    CHECK(largest_difference(shared.o, copied.o) == 0);
    CHECK(relative_error(shared.gradients.dq_BHTD, copied.gradients.dq_BHTD) < 1e-13);
    auto check_sums = [&](const Tensor& sums, const Tensor& parts) {
      for (std::int64_t bg = 0; bg < 4; ++bg)
        for (std::int64_t n = 0; n < size; ++n) {
          double expected = parts.item(2 * bg * size + n) + parts.item((2 * bg + 1) * size + n);
          CHECK(std::abs(sums.item(bg * size + n) - expected) < 1e-12 * std::max(1.0, largest_magnitude(parts)));
        }
    };
    check_sums(shared.gradients.dk_BGKD, copied.gradients.dk_BGKD);
    check_sums(shared.gradients.dv_BGKD, copied.gradients.dv_BGKD);
  };
#define SINK_ATTENTION_OP(Op) check(Op{});
  SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
}

TEST_CASE("attention: wrong arguments are refused with both shapes") {
  AttentionCase c(1, 2, 8, 4, DType::F32);
  auto run = [&](const Tensor& k, const Tensor& v, const AttentionConfig& config) {
    attention(Softmax{}, c.q, k, v, config, c.o, c.m, c.S);
  };
  Tensor narrow_k = Tensor::zeros({1, 2, 8, 3}), short_k = Tensor::zeros({1, 2, 7, 4});
  CHECK_THROWS_WITH_AS(run(narrow_k, c.v, c.config),
                       "[attention] k must have q's shape and type, except for its length and a number of heads that "
                       "divides q's: k is f32 (1, 2, 8, 3), q is f32 (1, 2, 8, 4)",
                       Error);
  CHECK_THROWS_WITH_AS(
      run(short_k, c.v, c.config),
      "[attention] every query needs a key at its position: queries are at positions 0 to 7, keys at 0 "
      "to 6",
      Error);
  for (std::int64_t first : {-1, 1}) {
    AttentionConfig late = c.config;
    late.first_position = first;
    CHECK_THROWS_AS(run(c.k, c.v, late), Error);
  }
  CHECK_THROWS_AS(run(Tensor::zeros({1, 3, 8, 4}), Tensor::zeros({1, 3, 8, 4}), c.config), Error);
  CHECK_THROWS_WITH_AS(run(c.k, Tensor::zeros({1, 1, 8, 4}), c.config),
                       "[attention] v must be like k: v is f32 (1, 1, 8, 4), k is f32 (1, 2, 8, 4)", Error);
  CHECK_THROWS_AS(run(c.k, c.v.to(DType::BF16), c.config), Error);
  AttentionConfig config = c.config;
  config.bias_HT = Tensor::zeros({2, 7});
  CHECK_THROWS_WITH_AS(
      run(c.k, c.v, config),
      "[attention] bias must be f32 of shape (H, at least 8): bias is f32 (2, 7), q is f32 (1, 2, 8, 4)", Error);
  config = c.config;
  config.extra_key.k_HD = Tensor::zeros({2, 4}, DType::F64);
  CHECK_THROWS_AS(run(c.k, c.v, config), Error);
  config.extra_key = {.k_HD = Tensor::zeros({2, 4}), .logit_H = Tensor::zeros({2})};
  CHECK_THROWS_AS(run(c.k, c.v, config), Error);
  config.extra_key = {.v_HD = Tensor::zeros({2, 4})};
  CHECK_THROWS_AS(run(c.k, c.v, config), Error);
  Tensor m_64 = c.m.to(DType::F64);
  CHECK_THROWS_AS(attention(Softmax{}, c.q, c.k, c.v, c.config, c.o, m_64, c.S), Error);
  CHECK_THROWS_AS(c.statistics<Softmax>(9), Error);
  CHECK_THROWS_AS(c.map<Softmax>(0, 2), Error);
}
