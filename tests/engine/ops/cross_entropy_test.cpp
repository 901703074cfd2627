// Cross-entropy and the gradient of the logits.
#include "engine/ops/cross_entropy/cross_entropy.h"

#include <doctest/doctest.h>

#include <cmath>

#include "autograd/ops/linear_cross_entropy_node.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/gradients.h"

using namespace sink;

namespace {

// Targets below V, the last among them, with -1 at every fifth row but the first.
Tensor some_targets(std::int64_t N, std::int64_t V) {
  Tensor targets = Tensor::empty({N}, DType::I32);
  for (std::int64_t n = 0; n < N; ++n)
    targets.data<std::int32_t>()[n] = n % 5 == 4 ? -1 : static_cast<std::int32_t>((V - 1 + n * 7) % V);
  return targets;
}

struct Result {
  Tensor loss, gradient;
};

Result evaluate(const Tensor& logits, const Tensor& targets, double gradient_scale = 1) {
  DType loss_type = accumulate_type(logits.dtype());
  Result result{Tensor::empty({logits.dim(0)}, loss_type), logits.clone()};
  cross_entropy_to_gradient(result.gradient, targets, gradient_scale, result.loss);
  Tensor loss = Tensor::empty({logits.dim(0)}, loss_type);
  cross_entropy(logits, targets, loss);
  check_close("the loss without gradient", loss, result.loss, 1e-6);
  return result;
}

void check_cross_entropy(const Tensor& logits, const Tensor& targets) {
  Tensor loss = random_tensor({logits.dim(0)}, DType::F32, 2);
  auto run = [](Tensors& t) {
    cross_entropy(t[0], t[1], t[2]);
    cross_entropy_to_gradient(t[0], t[1], 0.25, t[3]);
  };
  check_backends("cross_entropy", {logits, targets, loss, loss}, run);
  if (logits.dim(1) == 256 && logits.dim(0) == 1)
    check_unaligned_backends("cross_entropy", {logits, targets, loss, loss}, run);
}

void check_nan(std::int64_t place) {
  Tensor logits = random_tensor({1, 300}, DType::F32, 4);
  logits.data<float>()[place] = NAN;
  check_cross_entropy(logits, some_targets(1, 300));
}

}  // namespace

TEST_CASE("cross_entropy: a row by hand") {
  // Logits (0, ln 3): probabilities 1/4 and 3/4. Target 0: loss ln 4, gradient (1/4 - 1, 3/4) times the scale.
  Tensor logits = Tensor::from<double>({1, 2}, {0, std::log(3.0)}), target = Tensor::from<std::int32_t>({1}, {0});
  for (DType dtype : {DType::F64, DType::F32, DType::BF16}) {
    double tolerance = dtype == DType::F64 ? 1e-12 : dtype == DType::F32 ? 1e-6 : 1e-2;
    Result result = evaluate(logits.to(dtype), target, 0.5);
    CHECK(result.loss.item() == doctest::Approx(std::log(4.0)).epsilon(tolerance));
    check_close("gradient", result.gradient, Tensor::from<double>({1, 2}, {-0.375, 0.375}), tolerance);
  }
}

TEST_CASE("cross_entropy: equal logits lose log V") {
  for (std::int64_t V : {1, 3, 1000}) {
    Tensor logits = Tensor::full({2, V}, -7.5), targets = Tensor::from<std::int32_t>({2}, {0, -1});
    Result result = evaluate(logits, targets);
    CHECK(result.loss.item(0) == doctest::Approx(std::log(static_cast<double>(V))).epsilon(1e-6));
    CHECK(result.loss.item(1) == 0);
  }
}

TEST_CASE("cross_entropy: ignored rows lose nothing and get no gradient") {
  Tensor logits = random_tensor({10, 7}, DType::F32, 3), targets = some_targets(10, 7);
  Result result = evaluate(logits, targets);
  for (std::int64_t n : {4, 9}) {
    CHECK(result.loss.item(n) == 0);
    for (std::int64_t v = 0; v < 7; ++v) CHECK(result.gradient.item(n * 7 + v) == 0);
  }
}

TEST_CASE("cross_entropy: logits of 1e4 and -1e4 stay finite") {
  // Target at the largest: loss 0, gradient 0. Target 2e4 below it: loss 2e4, gradient 1 and -1.
  for (DType dtype : {DType::F64, DType::F32}) {
    Tensor logits = Tensor::from<double>({2, 3}, {1e4, -1e4, 0, 1e4, -1e4, 0}).to(dtype);
    Result result = evaluate(logits, Tensor::from<std::int32_t>({2}, {0, 1}));
    check_close("loss", result.loss, Tensor::from<double>({2}, {0, 2e4}), 0);
    check_close("gradient", result.gradient, Tensor::from<double>({2, 3}, {0, 0, 0, 1, -1, 0}), 0);
  }
}

TEST_CASE("cross_entropy: a NaN reaches the loss") {
  for (std::int64_t place : {0, 9, 36}) {
    Tensor logits = random_tensor({1, 37}, DType::F32, 4);
    logits.data<float>()[place] = NAN;
    Tensor loss = Tensor::empty({1});
    cross_entropy(logits, Tensor::from<std::int32_t>({1}, {5}), loss);
    CHECK(std::isnan(loss.item()));
  }
}

TEST_CASE("cross_entropy: every backend equals the double reference, large logits and NaN too") {
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t N : {0, 1, 7})
      for (std::int64_t V : {1, 2, 65, 256, 300, 1000}) {
        CAPTURE(N);
        CAPTURE(V);
        // Of scale 1: where a target is nearly certain, the loss is a small difference of logits.
        check_cross_entropy(random_tensor({N, V}, dtype, 1), some_targets(N, V));
      }
  // More logits than a block takes at once, in vectors and one by one, the last pass full or not.
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t V : {1101, 2048, 4104, 9000})
      check_cross_entropy(random_tensor({2, V}, dtype, 1), some_targets(2, V));
  Tensor large = Tensor::from<float>({3, 3}, {1e4f, -1e4f, 0, 1e4f, -1e4f, 0, -1e4f, -1e4f, -1e4f});
  check_cross_entropy(large, Tensor::from<std::int32_t>({3}, {0, 1, 2}));
  for (std::int64_t place : {0, 7, 33, 299}) check_nan(place);
}

TEST_CASE("gradient: linear_cross_entropy, with ignored targets and a scale") {
  Var x = random_var({2, 3, 4}, 1);
  const Parameter& w = random_parameter("w", {7, 4});
  Tensor targets = Tensor::from<std::int32_t>({2, 3}, {1, -1, 6, 0, 0, -1});
  check_gradient([&] { return linear_cross_entropy(x, w, targets, 4, 0.25); }, {x, w.var()});
  check_gradient([&] { return linear_cross_entropy(x, w, targets, 4, 0.25, nullptr, 0.7); }, {x, w.var()});
}

TEST_CASE("cross_entropy: shapes and types that do not fit are named") {
  Tensor logits = Tensor::zeros({3, 4}), targets = Tensor::zeros({2}, DType::I32), loss = Tensor::zeros({3});
  check_refused([&] { cross_entropy(logits, targets, loss); }, {"[cross_entropy]", "f32 (3, 4)", "i32 (2)"});
  targets = Tensor::zeros({3}, DType::I32);
  Tensor loss_f64 = Tensor::zeros({3}, DType::F64);
  check_refused([&] { cross_entropy(logits, targets, loss_f64); }, {"[cross_entropy]", "f32 (3, 4)", "f64 (3)"});
}
