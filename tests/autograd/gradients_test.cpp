// The backward of attention, of conversions and of recomputation against central differences; the test of an operation
// has the others.
#include "tests/support/gradients.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "autograd/ops/activation_node.h"
#include "autograd/ops/add_node.h"
#include "autograd/ops/attention_node.h"
#include "autograd/ops/convert_node.h"
#include "autograd/ops/linear_cross_entropy_node.h"
#include "autograd/ops/linear_node.h"
#include "autograd/ops/recompute_node.h"
#include "autograd/ops/norm_node.h"
#include "autograd/record.h"
#include "engine/ops/attention/op/attention_ops.h"

using namespace sink;

namespace {

// y = 3 x, whose backward adds `fault` to the gradient of element `at`.
struct FaultyTripleNode {
  Var x;
  std::int64_t at = 0;
  double fault = 0;

  static constexpr const char* name = "faulty_triple";
  void backward(const Tensor& dy) {
    Tensor dx = dy.clone();
    for (std::int64_t i = 0; i < dx.size(); ++i) dx.data<double>()[i] *= 3;
    dx.data<double>()[at] += fault;
    x.gradient().accumulate(dx);
  }
};

Var faulty_triple(const Var& x, std::int64_t at, double fault) {
  Tensor y = x.value().clone();
  for (std::int64_t i = 0; i < y.size(); ++i) y.data<double>()[i] *= 3;
  return record<FaultyTripleNode>(y, x, at, fault);
}

}  // namespace

TEST_CASE("gradient check: a wrong element and one that is not finite are reported, wherever they are") {
  Var a = random_var({2, 3}, 1), b = random_var({2, 3}, 2);
  const auto result = [&](int input, std::int64_t at, double fault) {
    return check_gradients(
        [&] { return add(faulty_triple(a, at, input == 0 ? fault : 0), faulty_triple(b, at, input == 1 ? fault : 0)); },
        {a, b}, 1e-3);
  };
  CHECK(result(0, 0, 0).worst <= 1e-8);
  for (int input : {0, 1})
    for (std::int64_t at : {0, 2, 5}) {
      CAPTURE(input);
      CAPTURE(at);
      const std::string where = "input " + std::to_string(input) + ", element " + std::to_string(at) + ":";
      const GradCheckResult wrong = result(input, at, 1e-3);
      CHECK(wrong.worst > 1e-4);
      CHECK(wrong.where.starts_with(where));
      for (double fault : {double{NAN}, double{INFINITY}}) {
        const GradCheckResult lost = result(input, at, fault);
        CHECK(lost.worst == INFINITY);
        CHECK(lost.where.starts_with(where));
      }
    }
}

TEST_CASE("gradient: convert, where the type is the same and where it is not") {
  Var x = random_var({2, 5}, 1);
  check_gradient([&] { return convert(x, DType::F64); }, {x});
  Tape tape;
  Var narrow = convert(x, DType::F32);
  CHECK(narrow.value().dtype() == DType::F32);
  Tensor targets = Tensor::from<std::int32_t>({2}, {1, 3});
  tape.backward(linear_cross_entropy(convert(narrow, DType::F64), random_parameter("w", {7, 5}), targets, 2, 1));
  CHECK(x.grad().dtype() == DType::F64);
}

// Odd sizes; the scale keeps scores away from kinks at the step taken.
template <class Op>
void check_attention() {
  Var q = random_var({2, 2, 5, 4}, 11), k = random_var({2, 2, 5, 4}, 12), v = random_var({2, 2, 5, 4}, 13);
  Var bias = random_var({2, 5}, 14), key = random_var({2, 4}, 15), logit = random_var({2}, 16),
      value = random_var({2, 4}, 17);
  if (std::is_same_v<Op, LinearNorm>)  // divides by a sum that only positive features keep away from 0
    for (Var* x : {&q, &k, &key})
      for (std::int64_t n = 0; n < x->value().size(); ++n) {
        double& number = x->mutable_value().data<double>()[n];
        number = 0.5 + std::abs(number);
      }
  check_gradient([&] { return attention(Op(), {q, k, v}, 0.7, {}).o_BHTD; }, {q, k, v}, 2e-4);
  check_gradient(
      [&] {
        return attention(Op(), {q, k, v, bias, key, {}, value}, 0.7, {.prefix = 1, .window = 3}).o_BHTD;
      },
      {q, k, v, bias, key, value}, 2e-4);
  check_gradient([&] { return attention(Op(), {q, k, v, {}, {}, logit}, 0.7, {}).o_BHTD; }, {q, k, v, logit}, 2e-4);
  Var k_1 = random_var({2, 1, 5, 4}, 18), v_1 = random_var({2, 1, 5, 4}, 19);  // one head for all queries
  check_gradient([&] { return attention(Op(), {q, k_1, v_1}, 0.7, {}).o_BHTD; }, {q, k_1, v_1}, 2e-4);
}
#define SINK_ATTENTION_OP(Op) \
  TEST_CASE("gradient: attention with " #Op) { check_attention<Op>(); }
SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP

TEST_CASE("gradient: recompute, of one layer and inside another") {
  Var x = random_var({2, 3, 5}, 1);
  const Parameter &w = random_parameter("w", {5, 5}), &gain = random_parameter("gain", {5});
  auto layer = [&](const Var& h) { return add(h, activate<GeluFunction>(linear(rms_norm(h, gain, DType::F64), w))); };
  check_gradient([&] { return recompute(layer(x), layer); }, {x, w.var(), gain.var()});
  check_gradient([&] { return recompute(x, [&](const Var& h) { return layer(recompute(h, layer)); }); },
                 {x, w.var(), gain.var()});
}

TEST_CASE("recompute: the tape has one node, and its gradients have the bits of those without") {
  Var x = random_var({2, 3, 5}, 1);
  const Parameter &w = random_parameter("w", {5, 5}), &gain = random_parameter("gain", {5});
  int runs = 0;
  auto layer = [&](const Var& h) {
    ++runs;
    return add(h, activate<GeluFunction>(linear(rms_norm(h, gain, DType::F64), w)));
  };
  auto gradients = [&](bool again) {
    for (const Var& var : {x, w.var(), gain.var()}) var.gradient().clear();
    Tape tape;
    Var y = again ? recompute(x, layer) : layer(x);
    CHECK(tape.nodes().size() == (again ? 1 : 4));
    y.gradient().accumulate(random_tensor({2, 3, 5}, DType::F64, 7));
    tape.backward_from_outputs();
    return std::vector<Tensor>{y.value(), x.grad(), w.var().grad().clone(), gain.var().grad().clone()};
  };
  std::vector<Tensor> kept = gradients(false);
  CHECK(runs == 1);
  std::vector<Tensor> again = gradients(true);
  CHECK(runs == 3);
  for (std::size_t n = 0; n < kept.size(); ++n) CHECK(std::memcmp(kept[n].raw(), again[n].raw(), kept[n].bytes()) == 0);
  recompute(x, layer);
  CHECK(runs == 4);  // without a tape it is f itself
}

TEST_CASE("tape: nothing is recorded without one, and gradients add up over two backward passes") {
  Var x = random_var({2, 5}, 1);
  const Parameter& w = random_parameter("w", {4, 5});
  Tensor targets = Tensor::from<std::int32_t>({2}, {1, 3});
  CHECK_FALSE(linear_cross_entropy(x, w, targets, 2, 1).requires_grad());
  for (int pass = 0; pass < 2; ++pass) {
    Tape tape;
    tape.backward(linear_cross_entropy(x, w, targets, 2, 1));
    CHECK(tape.nodes().empty());
  }
  Tensor twice = w.var().grad().clone();
  w.var().gradient().clear();
  Tape tape;
  tape.backward(linear_cross_entropy(x, w, targets, 2, 2));
  check_close("accumulated gradient", twice, w.var().grad(), 1e-14);
}
