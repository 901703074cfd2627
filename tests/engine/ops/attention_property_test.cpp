// Properties of single operations and masks that a wrong formula would violate.
#include <doctest/doctest.h>

#include <cmath>
#include <ctime>

#include "tests/engine/ops/attention_case.h"
#include "tests/support/keep_worst.h"

using namespace sink;
using namespace sink::test;

namespace {

const DType kTypes[] = {DType::F64, DType::F32, DType::BF16};

double tolerance_of(DType dtype) { return dtype == DType::F64 ? 1e-12 : dtype == DType::F32 ? 1e-5 : 2e-2; }

// Whether two operations give the same outputs and gradients on one case.
template <class Op, class Other>
bool same(AttentionCase c, const Op& op, const Other& other_op, DType dtype) {
  AttentionCase one = c.to(dtype), other = c.to(dtype);
  one.forward(op);
  one.backward(op);
  other.forward(other_op);
  other.backward(other_op);
  double tolerance = tolerance_of(dtype);
  bool equal = relative_error(one.o, other.o) <= tolerance;
  for (std::size_t n = 0; n < one.all_gradients().size(); ++n)
    equal &= relative_error(*one.all_gradients()[n], *other.all_gradients()[n]) <= tolerance;
  return equal;
}

#if !defined(__SANITIZE_ADDRESS__)  // which makes all loops slow
// CPU time over all threads, because other processes may use the machine.
double seconds(auto&& f) {
  f();
  double best = 1e9;
  for (int repeat = 0; repeat < 10; ++repeat) {
    std::clock_t start = std::clock();
    f();
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return std::max(best, 1e-6);
}
#endif

}  // namespace

TEST_CASE("attention: softmaxes ignore a constant added to a row's scores, the others do not") {
  // The last component of every key is 1, so adding 8 to the last component of a query adds 8 scale to its scores.
  for (DType dtype : {DType::F64, DType::F32}) {
    AttentionCase c(1, 1, 40, 8, DType::F64);
    for (std::int64_t j = 0; j < 40; ++j) c.k.data<double>()[j * 8 + 7] = 1;
    AttentionCase shifted = c.to(DType::F64);
    for (std::int64_t i = 0; i < 40; ++i) shifted.q.data<double>()[i * 8 + 7] += 8;
    c = c.to(dtype);
    shifted = shifted.to(dtype);
    auto change = [&]<class Op>(const Op& op) {
      c.forward(op);
      shifted.forward(op);
      return largest_difference(c.o, shifted.o);
    };
    CHECK(change(Softmax{}) < 1e-5);
    CHECK(change(ScaledSoftmax(3)) < 1e-5);
    CHECK(change(PNormExp(3)) < 1e-5);
    CHECK(change(PNormExp(0.25)) < 1e-5);
    CHECK(change(ClippedSoftmax{}) < 1e-5);
    CHECK(change(Sparsemax{}) < 1e-5);
    CHECK(change(Entmax15{}) < 1e-5);
    CHECK(change(Softpick{}) > 0.01);
    CHECK(change(Sigmoid{}) > 0.1);
    CHECK(change(SigmoidNorm{}) > 0.01);
    CHECK(change(EluNorm{}) > 0.01);
    CHECK(change(Relu{}) > 0.1);
  }
}

TEST_CASE("attention: p = 1 is the plain divisor") {
  for (DType dtype : kTypes) {
    AttentionCase c(1, 2, 70, 8, DType::F64, {}, 1, Extra::everything);
    CHECK(same(c, PNormExp(1), Softmax{}, dtype));
    CHECK(same(c, PNormSigmoid(1), SigmoidNorm{}, dtype));
    CHECK_FALSE(same(c, PNormExp(2), Softmax{}, dtype));
  }
}

TEST_CASE("attention: rows of p-normalised weights have p-norm 1") {
  for (DType dtype : {DType::F64, DType::F32})
    for (double p : {0.25, 0.5, 2.0, 4.0}) {
      AttentionCase c(1, 1, 70, 8, dtype);
      c.forward(PNormExp(p));
      Tensor a = c.map(0, 0, PNormExp(p));
      c.forward(PNormSigmoid(p));
      Tensor b = c.map(0, 0, PNormSigmoid(p));
      for (std::int64_t i : {0, 1, 40, 69}) {
        double sum = 0, sigmoid_sum = 0;
        for (std::int64_t j = 0; j <= i; ++j) sum += std::pow(a.item(i * 70 + j), p);
        for (std::int64_t j = 0; j <= i; ++j) sigmoid_sum += std::pow(b.item(i * 70 + j), p);
        CHECK(sum == doctest::Approx(1).epsilon(1e-5));
        CHECK(sigmoid_sum == doctest::Approx(1).epsilon(1e-5));
      }
    }
}

TEST_CASE("attention: rows of a scaled softmax sum to alpha, which scales the output") {
  for (double alpha : {0.05, 2.0}) {
    AttentionCase scaled(1, 2, 70, 8, DType::F32), plain = scaled.to(DType::F32);
    scaled.forward(ScaledSoftmax(alpha));
    plain.forward(Softmax{});
    CHECK(scaled.statistics(1, ScaledSoftmax(alpha)).row_sum_BH.item(0) == doctest::Approx(alpha).epsilon(1e-6));
    for (std::int64_t n = 0; n < plain.o.size(); ++n) plain.o.data<float>()[n] *= static_cast<float>(alpha);
    CHECK(relative_error(scaled.o, plain.o) < 1e-6);
    // Scored without the scale.
    CHECK(scaled.statistics(1, ScaledSoftmax(alpha)).column_proxy_BHX.item(0) ==
          doctest::Approx(plain.statistics(1, Softmax{}).column_proxy_BHX.item(0)).epsilon(1e-6));
  }
}

TEST_CASE("attention: an extra key with logit 0 and no value is softmax-off-by-one") {
  // a_ij = exp(s_ij) / (1 + sum_k exp(s_ik)): the weights of all keys may sum to less than 1.
  for (DType dtype : {DType::F64, DType::F32}) {
    constexpr std::int64_t T = 70;
    AttentionCase c(1, 1, T, 8, dtype);
    c.config.extra_key.logit_H = Tensor::zeros({1}, dtype);
    c.forward(Softmax{});
    Tensor a = c.map(0, 0, Softmax{});
    double worst = 0;
    for (std::int64_t i = 0; i < T; ++i) {
      std::vector<double> e;
      double sum = 1;
      for (std::int64_t j = 0; j <= i; ++j) {
        double qk = 0;
        for (std::int64_t d = 0; d < 8; ++d) qk += c.q.item(i * 8 + d) * c.k.item(j * 8 + d);
        e.push_back(std::exp(c.config.scale * qk));
        sum += e.back();
      }
      keep_worst(worst, std::abs(a.item(i * (T + 1)) - 1 / sum));
      for (std::int64_t d = 0; d < 8; ++d) {
        double o = 0;
        for (std::int64_t j = 0; j <= i; ++j) o += e[j] / sum * c.v.item(j * 8 + d);
        keep_worst(worst, std::abs(o - c.o.item(i * 8 + d)));
      }
    }
    CHECK(worst < tolerance_of(dtype));
  }
}

TEST_CASE("attention: an extra key with a key and a value is one key more before the others") {
  // The key of the first position is the extra key of the positions after it, without a bias, which would depend on its
  // position.
  auto check = [&]<class Op>(const Op& op) {
    CAPTURE(operation_name<Op>());
    for (DType dtype : kTypes) {
      constexpr std::int64_t T = 70, D = 16;
      AttentionCase all = AttentionCase(1, 1, T + 1, D, DType::BF16).to(dtype), c = all;
      auto rest = [&](const Tensor& x) { return x.reshape({T + 1, D}).rows(1, T + 1).reshape({1, 1, T, D}).clone(); };
      for (Tensor* x : {&c.q, &c.k, &c.v, &c.upstream}) *x = rest(*x);
      DType row_type = dtype == DType::F64 ? DType::F64 : DType::F32;
      auto first = [&](const Tensor& x) { return x.reshape({T + 1, D}).rows(0, 1).clone().to(row_type); };
      c.config.extra_key = {.k_HD = first(all.k), .v_HD = first(all.v)};
      c.make_outputs();
      c.forward(op);
      all.forward(op);
      CHECK(relative_error(c.o, rest(all.o)) <= tolerance_of(dtype));
    }
  };
  check(Softmax{});
  check(PNormExp{});
  check(PNormSigmoid{});
  check(Sigmoid{});
  check(SigmoidNorm{});
  check(EluNorm{});
  check(Relu{});
  check(Linear{});
  check(LinearMaxAbs{});
  check(Softpick{});
  check(ClippedSoftmax{});
  check(Sparsemax{});
  check(Entmax15{});
}

TEST_CASE("attention: sigmoid with log n is sigmoid of shifted scores, relu / n is relu divided") {
  for (DType dtype : kTypes) {
    // A row whose window is full has n = 10: a bias of -log 10 does the same there.
    KeyRange range{.window = 10};
    AttentionCase log_n(1, 1, 70, 8, dtype, range), biased = log_n;
    biased.make_outputs();
    biased.config.bias_HT = Tensor::full({1, 70}, -std::log(10.0), dtype == DType::F64 ? DType::F64 : DType::F32);
    log_n.forward(SigmoidLogN{});
    biased.forward(Sigmoid{});
    auto late = [](const Tensor& x) { return x.reshape({70, 8}).rows(9, 70).clone(); };
    CHECK(relative_error(late(log_n.o), late(biased.o)) <= tolerance_of(dtype));
    CHECK(relative_error(log_n.o, biased.o) > 0.01);

    AttentionCase relu(1, 1, 70, 8, dtype), relu_n = relu;
    relu_n.make_outputs();
    relu.forward(Relu{});
    relu_n.forward(ReluN{});
    Tensor expected = relu.o.to(DType::F64).clone();
    for (std::int64_t n = 0; n < expected.size(); ++n) expected.data<double>()[n] /= static_cast<double>(n / 8 + 1);
    CHECK(relative_error(relu_n.o, expected) <= tolerance_of(dtype));
  }
}

TEST_CASE("attention: softpick is relu(e^s - 1) / sum |e^s - 1|, finite at both ends") {
  for (DType dtype : {DType::F64, DType::F32}) {
    constexpr std::int64_t T = 70;
    AttentionCase c(1, 1, T, 8, dtype);
    c.forward(Softpick{});
    Tensor a = c.map(0, 0, Softpick{});
    double worst = 0;
    for (std::int64_t i = 0; i < T; ++i) {
      std::vector<double> e;
      double sum = 1e-8;
      for (std::int64_t j = 0; j <= i; ++j) {
        double qk = 0;
        for (std::int64_t d = 0; d < 8; ++d) qk += c.q.item(i * 8 + d) * c.k.item(j * 8 + d);
        e.push_back(std::exp(c.config.scale * qk) - 1);
        sum += std::abs(e.back());
      }
      for (std::int64_t j = 0; j <= i; ++j) keep_worst(worst, std::abs(a.item(i * T + j) - std::max(0.0, e[j]) / sum));
    }
    CHECK(worst < tolerance_of(dtype));
    // All scores far below 0: every |e^s - 1| is 1 and no weight is positive. All scores at +-1e4: one-hot or nothing.
    c.q.fill(1);
    c.k.fill(-1e3);
    c.forward(Softpick{});
    c.backward(Softpick{});
    CHECK(largest_magnitude(c.o) == 0);
    CHECK(c.S.item(T - 1) == T);
    for (const Tensor* x : c.all_gradients()) CHECK(largest_magnitude(*x) == 0);
    c.k.fill(1e4);
    c.forward(Softpick{});
    c.backward(Softpick{});
    CHECK(c.map(0, 0, Softpick{}).item((T - 1) * T) == doctest::Approx(1.0 / T).epsilon(5e-3));  // m was rounded to f32
    for (const Tensor* x : c.all_gradients()) CHECK(std::isfinite(largest_difference(*x, *x)));
  }
}

TEST_CASE("attention: clipped softmax with gamma 0 and eta 1 is softmax, and clips where it is not") {
  for (DType dtype : kTypes) {
    AttentionCase c(1, 2, 70, 8, DType::F64, {}, 1, Extra::everything);
    CHECK(same(c, ClippedSoftmax(0, 1), Softmax{}, dtype));
    CHECK_FALSE(same(c, ClippedSoftmax(-0.03, 1), Softmax{}, dtype));
  }
  AttentionCase c(1, 1, 70, 8, DType::F32);
  c.forward(ClippedSoftmax{});
  Tensor a = c.map(0, 0, ClippedSoftmax{});
  std::int64_t zeros = 0;
  for (std::int64_t j = 0; j < 70; ++j) zeros += a.item(69 * 70 + j) == 0;
  CHECK(zeros > 35);
  CHECK(zeros < 70);
}

TEST_CASE("attention: max(|sum|, 1) leaves rows of small sums as they are") {
  AttentionCase c(1, 1, 70, 8, DType::F64, {}, 0.01), plain = c;
  plain.make_outputs();
  c.forward(LinearMaxAbs{});
  plain.forward(Linear{});
  REQUIRE(largest_magnitude(c.S) < 1);
  CHECK(same_bits(c.o, plain.o));
}

TEST_CASE("attention: bias of ALiBi's form makes far keys fade as e^(-slope distance)") {
  for (DType dtype : kTypes) {
    constexpr std::int64_t T = 100;
    AttentionCase c(1, 1, T, 8, dtype);
    c.q.fill(0);
    c.config.bias_HT = Tensor::empty({1, T}, dtype == DType::F64 ? DType::F64 : DType::F32);
    Tensor slope = Tensor::empty({1, T}, DType::F64);
    for (std::int64_t d = 0; d < T; ++d) slope.data<double>()[d] = -0.25 * static_cast<double>(d);
    c.config.bias_HT.copy_from(slope);
    c.forward(Softmax{});
    Tensor a = c.map(0, 0, Softmax{});
    double z = (1 - std::exp(-0.25 * T)) / (1 - std::exp(-0.25));
    for (std::int64_t j : {0, 50, 90, 99})
      CHECK(a.item((T - 1) * T + j) / (std::exp(-0.25 * static_cast<double>(T - 1 - j)) / z) ==
            doctest::Approx(1).epsilon(1e-5));  // a ratio: Approx allows an absolute error too
    AttentionStatistics found = c.statistics(T, Softmax{});
    double column = 0;
    for (std::int64_t i = 0; i < T; ++i) column += a.item(i * T + 3);
    CHECK(found.column_raw_BHX.item(3) == doctest::Approx(column).epsilon(1e-5));
  }
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("attention: keys outside the window are not computed") {
  // At T = 4096 a window of 16 contains 0.8 % of the pairs of full causal attention.
  AttentionCase causal(1, 1, 4096, 32, DType::F32), windowed = causal;
  windowed.make_outputs();
  windowed.config.range.window = 16;
  auto ratio = [&]<class Op>(const Op& op, auto&& pass) {
    return seconds([&] { pass(causal, op); }) / seconds([&] { pass(windowed, op); });
  };
  auto forward = [](AttentionCase& c, const auto& op) { c.forward(op); };
  auto backward = [](AttentionCase& c, const auto& op) { c.backward(op); };
  auto statistics = [](AttentionCase& c, const auto& op) { c.statistics(10, op); };
  CHECK(ratio(Softmax{}, forward) > 3);
  CHECK(ratio(Softmax{}, backward) > 3);
  CHECK(ratio(Softmax{}, statistics) > 3);
  CHECK(ratio(ClippedSoftmax{}, forward) > 3);
  CHECK(ratio(ClippedSoftmax{}, backward) > 3);
}
#endif
