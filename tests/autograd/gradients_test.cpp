// Every node's backward against central differences in double: relative error at most 1e-8.
#include <doctest/doctest.h>

#include "autograd/grad_check.h"
#include "autograd/ops/add_node.h"
#include "autograd/ops/attention_node.h"
#include "autograd/ops/embedding_node.h"
#include "autograd/ops/heads_node.h"
#include "autograd/ops/linear_cross_entropy_node.h"
#include "autograd/ops/linear_node.h"
#include "autograd/ops/rms_norm_node.h"
#include "autograd/ops/rotary_node.h"
#include "autograd/ops/swiglu_node.h"
#include "tests/support/compare.h"

using namespace sink;

namespace {

Var random_var(const Shape& shape, std::uint64_t seed, double scale = 1) {
  return Var(random_tensor(shape, DType::F64, seed, scale), true);
}

Parameter random_parameter(const std::string& name, const Shape& shape) {
  return Parameter(name, shape, {Init::Kind::normal, 1}, 5, DType::F64);
}

void check(const std::function<Var()>& f, const std::vector<Var>& inputs, double step = 1e-3) {
  GradCheckResult result = check_gradients(f, inputs, step);
  CHECK_MESSAGE(result.worst <= 1e-8, result.where, " off by ", result.worst);
}

}  // namespace

TEST_CASE("gradient: linear") {
  Var x = random_var({2, 3, 5}, 1);
  Parameter w = random_parameter("w", {4, 5});
  check([&] { return linear(x, w); }, {x, w.var()});
}

TEST_CASE("gradient: add, also of a tensor with itself") {
  Var a = random_var({3, 4}, 1), b = random_var({3, 4}, 2);
  check([&] { return add(a, b); }, {a, b});
  check([&] { return add(add(a, a), b); }, {a, b});
}

TEST_CASE("gradient: add_rows, with more rows than positions") {
  Var x = random_var({2, 3, 4}, 1);
  Parameter p = random_parameter("p", {5, 4});
  check([&] { return add_rows(x, p); }, {x, p.var()});
}

TEST_CASE("gradient: rms_norm, alone and beside a residual connection") {
  Var x = random_var({2, 3, 8}, 1);
  Parameter gain = random_parameter("gain", {8});
  check([&] { return rms_norm(x, gain, DType::F64); }, {x, gain.var()});
  check([&] { return add(x, rms_norm(x, gain, DType::F64)); }, {x, gain.var()});
}

TEST_CASE("gradient: swiglu") {
  Var x = random_var({2, 3, 10}, 1, 2);
  check([&] { return swiglu(x); }, {x});
}

TEST_CASE("gradient: split_heads and merge_heads") {
  Var x = random_var({2, 3, 3 * 2 * 4}, 1);
  check([&] { return merge_heads(split_heads(x, 2).k_BHTD); }, {x});
  check(
      [&] {
        auto [q, k, v] = split_heads(x, 2);
        return add(add(q, v), add(v, k));
      },
      {x});
}

TEST_CASE("gradient: rotary") {
  Var x = random_var({2, 2, 5, 6}, 1);
  RotaryTable table = rotary_table(5, 6, DType::F64);
  check([&] { return rotary(x, table); }, {x});
}

TEST_CASE("gradient: embedding, with a token that repeats") {
  Parameter w = random_parameter("w", {6, 4});
  Tensor tokens = Tensor::from<std::int32_t>({2, 3}, {1, 5, 1, 0, 1, 3});
  check([&] { return embedding(tokens, w); }, {w.var()});
}

TEST_CASE("gradient: linear_cross_entropy, with ignored targets and a scale") {
  Var x = random_var({2, 3, 4}, 1);
  Parameter w = random_parameter("w", {7, 4});
  Tensor targets = Tensor::from<std::int32_t>({2, 3}, {1, -1, 6, 0, 0, -1});
  check([&] { return linear_cross_entropy(x, w, targets, 0.25); }, {x, w.var()});
}

#define SINK_ATTENTION_OP(Op)                                                                                 \
  TEST_CASE("gradient: attention with " #Op) {                                                                \
    /* Odd sizes; the scale keeps ReLU's logits away from its kink at the step taken. */                      \
    Var q = random_var({2, 2, 5, 4}, 11), k = random_var({2, 2, 5, 4}, 12), v = random_var({2, 2, 5, 4}, 13); \
    AttentionConfig config{.scale = 0.7};                                                                     \
    check([&] { return attention<Op>(q, k, v, config).o_BHTD; }, {q, k, v}, 2e-4);                            \
  }
#include "engine/ops/attention/attention_ops.def"

TEST_CASE("tape: nothing is recorded without one, and gradients add up over two backward passes") {
  Var x = random_var({2, 5}, 1);
  Parameter w = random_parameter("w", {4, 5});
  Tensor targets = Tensor::from<std::int32_t>({2}, {1, 3});
  CHECK_FALSE(linear_cross_entropy(x, w, targets, 1).requires_grad());
  for (int pass = 0; pass < 2; ++pass) {
    Tape tape;
    tape.backward(linear_cross_entropy(x, w, targets, 1));
    CHECK(tape.nodes().empty());
  }
  Tensor twice = w.var().grad().clone();
  w.var().gradient().clear();
  Tape tape;
  tape.backward(linear_cross_entropy(x, w, targets, 2));
  check_close("accumulated gradient", twice, w.var().grad(), 1e-14);
}
