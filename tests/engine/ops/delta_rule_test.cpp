// The gated delta rule, its state and its gradients. tests/model/transformer_golden_test.cpp and config_grid_test.cpp
// compare it with PyTorch.
#include "engine/ops/delta_rule/delta_rule.h"

#include <doctest/doctest.h>

#include <cmath>

#include "autograd/ops/delta_rule_node.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/gradients.h"

using namespace sink;

namespace {

constexpr DeltaHeads kHeads{.key_heads = 2, .heads = 4, .key_width = 3, .value_width = 5};

// Outputs of one head of width 2 whose queries, keys and values are given, with beta = 1 up to 2e-9 and a decay of
// exp(-log(2) rate), from a state of zeros.
Tensor outputs(const std::vector<double>& qkv, double rate) {
  const std::int64_t T = std::ssize(qkv) / 6;
  const Tensor qkv_BTE = Tensor::from<double>({1, T, 6}, qkv), zeros = Tensor::zeros({1, T, 1}, DType::F64);
  Tensor state = Tensor::zeros({1, 1, 2, 2}, DType::F64), o = Tensor::zeros({1, T, 2}, DType::F64);
  delta_rule(qkv_BTE, zeros, Tensor::full({1, T, 1}, 20, DType::F64), Tensor::full({1}, std::log(rate), DType::F64),
             Tensor::zeros({1}, DType::F64), {1, 1, 2, 2}, state, o);
  return o;
}

}  // namespace

TEST_CASE("delta rule: a query returns the value of its key, the latest where a key came twice, decayed by token") {
  const double s = 1 / std::sqrt(2);
  const std::vector<double> tokens{1, 0, 3, 0, 5, 7,   // the value (5, 7) for the key (1, 0), asked for
                                   0, 9, 0, 2, 1, 2,   // (1, 2) for (0, 1), asked for
                                   4, 0, 0, 2, 8, 9,   // (8, 9) for (0, 1); (1, 0) asked for
                                   0, 1, 1, 0, 0, 0};  // nothing for (1, 0); (0, 1) asked for
  check_close("kept", outputs(tokens, 1e-12),
              Tensor::from<double>({1, 4, 2}, {5 * s, 7 * s, s, 2 * s, 5 * s, 7 * s, 8 * s, 9 * s}), 1e-6);
  check_close("halved", outputs(tokens, 1),
              Tensor::from<double>({1, 4, 2}, {5 * s, 7 * s, s, 2 * s, 5 * s / 4, 7 * s / 4, 8 * s / 2, 9 * s / 2}),
              1e-6);
}

TEST_CASE("delta rule: every backend equals the double reference; a sequence in two parts is that in one") {
  for (std::int64_t T : {0, 1, 9})
    for (DType dtype : {DType::F32, DType::BF16}) {
      CAPTURE(T);
      const Shape row{2, T, kHeads.width()}, head{2, T, 4}, state{2, 4, 3, 5}, o{2, T, 20};
      Tensors given{random_tensor(row, dtype, 1),         random_tensor(head, dtype, 2),
                    random_tensor(head, dtype, 3),        random_tensor({4}, DType::F32, 4),
                    random_tensor({4}, DType::F32, 5),    random_tensor(state, DType::F32, 6),
                    random_tensor(o, dtype, 7),           random_tensor(o, dtype, 8),
                    random_tensor(row, dtype, 9),         random_tensor(head, dtype, 10),
                    random_tensor(head, dtype, 11),       random_tensor({2, 4}, DType::F32, 12),
                    random_tensor({2, 4}, DType::F32, 13)};
      check_backends(
          "delta_rule", given,
          [](Tensors& t) {
            delta_rule(t[0], t[1], t[2], t[3], t[4], kHeads, t[5], t[6]);
            delta_rule_backward(t[7], t[0], t[1], t[2], t[3], t[4], kHeads, t[8], t[9], t[10], t[11], t[12]);
          },
          1e-5, 2e-2);
    }
  const Tensor qkv = random_tensor({1, 7, kHeads.width()}, DType::F32, 1), a = random_tensor({1, 7, 4}, DType::F32, 2),
               b = random_tensor({1, 7, 4}, DType::F32, 3), rate = random_tensor({4}, DType::F32, 4);
  Tensor state = Tensor::zeros({1, 4, 3, 5}), o = Tensor::zeros({1, 7, 20}), parts = Tensor::zeros({1, 7, 20});
  delta_rule(qkv, a, b, rate, rate, kHeads, state, o);
  const Tensor whole = state.clone();
  state.fill(0);
  for (auto [begin, T] : {std::pair<std::int64_t, std::int64_t>{0, 3}, {3, 1}, {4, 3}}) {
    Tensor part = parts.slice(begin * 20, {1, T, 20});
    delta_rule(qkv.slice(begin * kHeads.width(), {1, T, kHeads.width()}), a.slice(begin * 4, {1, T, 4}),
               b.slice(begin * 4, {1, T, 4}), rate, rate, kHeads, state, part);
  }
  check_close("outputs", parts, o, 0);
  check_close("state", state, whole, 0);
}

TEST_CASE("delta rule: heads that read key heads in turn are adjacent ones in another order") {
  const DeltaHeads heads{.key_heads = 2, .heads = 4, .key_width = 3, .value_width = 1}, in_turn{2, 4, 3, 1, true};
  const Tensor qkv = random_tensor({1, 5, 16}, DType::F64, 1), a = random_tensor({1, 5, 4}, DType::F64, 2),
               b = random_tensor({1, 5, 4}, DType::F64, 3), rate = random_tensor({4}, DType::F64, 4);
  auto swapped = [](const Tensor& x, std::int64_t first) {  // heads 1 and 2
    Tensor y = x.clone();
    const std::int64_t E = x.dim(-1);
    for (std::int64_t row = 0; row < x.size() / E; ++row)
      std::swap(y.data<double>()[row * E + first + 1], y.data<double>()[row * E + first + 2]);
    return y;
  };
  auto outputs = [](const Tensor& x, const Tensor& a, const Tensor& b, const Tensor& rate, const DeltaHeads& of) {
    Tensor state = Tensor::zeros({1, 4, 3, 1}, DType::F64), o = Tensor::zeros({1, 5, 4}, DType::F64);
    delta_rule(x, a, b, rate, rate, of, state, o);
    return o;
  };
  check_close("outputs", outputs(swapped(qkv, 12), swapped(a, 0), swapped(b, 0), swapped(rate, 0), in_turn),
              swapped(outputs(qkv, a, b, rate, heads), 0), 1e-14);
}

TEST_CASE("gradient: delta rule") {
  const Parameter &rate = random_parameter("rate", {4}), &bias = random_parameter("bias", {4});
  Var qkv = random_var({2, 5, kHeads.width()}, 1), a = random_var({2, 5, 4}, 2), b = random_var({2, 5, 4}, 3);
  check_gradient(
      [&] {
        Tensor state = Tensor::zeros({2, 4, 3, 5}, DType::F64);
        return delta_rule(qkv, a, b, rate, bias, kHeads, state);
      },
      {qkv, a, b, rate.var(), bias.var()});
  check_gradient(
      [&] {
        Tensor state = Tensor::zeros({2, 4, 3, 5}, DType::F64);
        return delta_rule(qkv, a, b, rate, bias, {2, 4, 3, 5, true}, state);
      },
      {qkv, a, b, rate.var(), bias.var()});
}

TEST_CASE("delta rule: refuses shapes and types that do not fit") {
  const Tensor qkv = Tensor::zeros({1, 2, kHeads.width()}), a = Tensor::zeros({1, 2, 4}), rate = Tensor::zeros({4});
  Tensor state = Tensor::zeros({1, 4, 3, 5}), o = Tensor::zeros({1, 2, 20}), narrow = Tensor::zeros({1, 2, 19});
  check_refused([&] { delta_rule(narrow, a, a, rate, rate, kHeads, state, o); },
                {"[delta_rule]", "(B, T, 32)", "f32 (1, 2, 19)"});
  check_refused(
      [&] {
        delta_rule(qkv, a, a, rate, rate, {3, 4, 3, 5}, state, o);
      },
      {"[delta_rule]", "a multiple of 3"});
  check_refused([&] { delta_rule(qkv, a, qkv, rate, rate, kHeads, state, o); }, {"expected b to be f32 (1, 2, 4)"});
  check_refused([&] { delta_rule(qkv, a, a, rate, rate, kHeads, state, narrow); }, {"expected o to be f32 (1, 2, 20)"});
  check_refused([&] { delta_rule(qkv, a, a, rate, rate, kHeads, o, o); }, {"expected state to be f32 (1, 4, 3, 5)"});
  check_refused([&] { delta_rule(qkv, a, a, rate.to(DType::F64), rate, kHeads, state, o); },
                {"expected log_rate to be f32 (4)"});
}
