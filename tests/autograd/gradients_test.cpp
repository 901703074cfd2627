// Every node's backward against central differences in double: relative error at most 1e-8.
#include <doctest/doctest.h>

#include <cstring>

#include "autograd/grad_check.h"
#include "autograd/ops/activation_node.h"
#include "autograd/ops/add_bias_node.h"
#include "autograd/ops/add_head_vector_node.h"
#include "autograd/ops/add_node.h"
#include "autograd/ops/attention_node.h"
#include "autograd/ops/convert_node.h"
#include "autograd/ops/embedding_node.h"
#include "autograd/ops/expert_glu_node.h"
#include "autograd/ops/gate_node.h"
#include "autograd/ops/gather_node.h"
#include "autograd/ops/glu_node.h"
#include "autograd/ops/heads_node.h"
#include "autograd/ops/layer_norm_node.h"
#include "autograd/ops/linear_cross_entropy_node.h"
#include "autograd/ops/linear_node.h"
#include "autograd/ops/prepend_node.h"
#include "autograd/ops/recompute_node.h"
#include "autograd/ops/rms_norm_node.h"
#include "autograd/ops/rotary_node.h"
#include "autograd/ops/top_softmax_node.h"
#include "autograd/parameter_arena.h"
#include "tests/support/compare.h"

using namespace sink;

namespace {

Var random_var(const Shape& shape, std::uint64_t seed, double scale = 1) {
  return Var(random_tensor(shape, DType::F64, seed, scale), true);
}

// The one parameter of an arena of its own.
const Parameter& random_parameter(const std::string& name, const Shape& shape) {
  static std::vector<ParameterArena> arenas;
  ParameterArena& arena = arenas.emplace_back(DType::F64);
  const Parameter& parameter = arena.add({name, shape, "", ParameterRole::weight, {Init::Kind::normal, 1}});
  arena.allocate(5);
  return parameter;
}

void check(const std::function<Var()>& f, const std::vector<Var>& inputs, double step = 1e-3) {
  GradCheckResult result = check_gradients(f, inputs, step);
  CHECK_MESSAGE(result.worst <= 1e-8, result.where, " off by ", result.worst);
}

}  // namespace

TEST_CASE("gradient: linear") {
  Var x = random_var({2, 3, 5}, 1);
  const Parameter& w = random_parameter("w", {4, 5});
  check([&] { return linear(x, w); }, {x, w.var()});
}

TEST_CASE("gradient: add_bias, of any width, alone and twice") {
  for (std::int64_t C : {1, 7, 96, 130}) {
    CAPTURE(C);
    Var x = random_var({2, 3, C}, 1);
    const Parameter& b = random_parameter("b", {C});
    Var y = add_bias(x, b);
    for (std::int64_t n = 0; n < x.value().size(); ++n)
      REQUIRE(y.value().item(n) == x.value().item(n) + b.master().item(n % C));
    check([&] { return add_bias(x, b); }, {x, b.var()});
    check([&] { return add_bias(add(x, add_bias(x, b)), b); }, {x, b.var()});
  }
}

TEST_CASE("gradient: add, also of a tensor with itself") {
  Var a = random_var({3, 4}, 1), b = random_var({3, 4}, 2);
  check([&] { return add(a, b); }, {a, b});
  check([&] { return add(add(a, a), b); }, {a, b});
}

TEST_CASE("gradient: add_rows, with more rows than positions") {
  Var x = random_var({2, 3, 4}, 1);
  const Parameter& p = random_parameter("p", {5, 4});
  check([&] { return add_rows(x, p.var()); }, {x, p.var()});
}

TEST_CASE("gradient: rms_norm, alone and beside a residual connection") {
  Var x = random_var({2, 3, 8}, 1);
  const Parameter& gain = random_parameter("gain", {8});
  check([&] { return rms_norm(x, gain, DType::F64); }, {x, gain.var()});
  check([&] { return add(x, rms_norm(x, gain, DType::F64)); }, {x, gain.var()});
}

TEST_CASE("gradient: layer_norm, alone and beside a residual connection") {
  Var x = random_var({2, 3, 8}, 1);
  const Parameter &gain = random_parameter("gain", {8}), &bias = random_parameter("bias", {8});
  check([&] { return layer_norm(x, gain, bias, DType::F64); }, {x, gain.var(), bias.var()});
  check([&] { return add(x, layer_norm(x, gain, bias, DType::F64)); }, {x, gain.var(), bias.var()});
  check([&] { return layer_norm(layer_norm(x, gain, bias, DType::F64), gain, bias, DType::F64); },
        {x, gain.var(), bias.var()});
}

TEST_CASE("gradient: norms of a sum, of which the sum, the norm or both go on") {
  Var a = random_var({3, 4, 5}, 1), b = random_var({3, 4, 5}, 2);
  const Parameter &gain = random_parameter("gain", {5}), &bias = random_parameter("bias", {5});
  auto check_sum = [&](const std::function<NormedSum(const Var&, const Var&)>& normed, std::vector<Var> inputs) {
    check([&] { return normed(a, b).y; }, inputs);
    check([&] { return normed(a, b).u; }, {a, b});
    check(
        [&] {
          auto [u, y] = normed(a, b);
          return normed(u, add(a, y)).y;
        },
        inputs);
  };
  check_sum([&](const Var& a, const Var& b) { return add_rms_norm(a, b, gain, DType::F64); }, {a, b, gain.var()});
  check_sum([&](const Var& a, const Var& b) { return add_layer_norm(a, b, gain, bias, DType::F64); },
            {a, b, gain.var(), bias.var()});
}

TEST_CASE_TEMPLATE("gradient: activation and glu", F, ReluFunction, GeluFunction, GeluTanhFunction, SiluFunction,
                   EluPlusOneFunction) {
  // The seeds keep every x that meets a function further from its kink at 0 than the differences reach.
  Var x = random_var({2, 3, 10}, 1, 2);
  for (std::int64_t i = 0; i < x.value().size(); ++i) REQUIRE(std::abs(x.value().item(i)) > 2e-3);
  check([&] { return activate<F>(x); }, {x});
  check([&] { return add(activate<F>(x), x); }, {x});
  check([&] { return glu<F>(x); }, {x});
}

TEST_CASE("gradient: gate, for every number, every group and the whole row") {
  Var o = random_var({2, 3, 6}, 1);
  for (std::int64_t G : {6, 2, 1}) {
    Var g = random_var({2, 3, G}, 2, 2);
    check([&] { return gate(o, g); }, {o, g});
  }
  check([&] { return gate(o, o); }, {o});
}

TEST_CASE("gradient: top_softmax and expert_glu, alone and together, where the router decides what counts") {
  Var r = random_var({2, 3, 4}, 1), gate_up = random_var({2, 3, 4 * 2 * 5}, 2, 3), p = random_var({2, 3, 4}, 3);
  for (std::int64_t i = 0; i < gate_up.value().size(); ++i)
    REQUIRE(std::abs(std::abs(gate_up.value().item(i)) - 7) > 2e-3);
  check([&] { return top_softmax(r, 2); }, {r});
  check([&] { return expert_glu(gate_up, p); }, {gate_up, p});
  check([&] { return expert_glu(gate_up, top_softmax(r, 2)); }, {gate_up, r});
}

TEST_CASE("gradient: add_head_vector") {
  Var o = random_var({2, 3, 4, 5}, 1), v = random_var({3, 5}, 2);
  check([&] { return add_head_vector(o, v); }, {o, v});
  check([&] { return add_head_vector(add_head_vector(o, v), v); }, {o, v});
}

TEST_CASE("gradient: prepend and drop_first") {
  Var x = random_var({2, 3, 4}, 1);
  const Parameter& row = random_parameter("row", {1, 4});
  check([&] { return prepend(x, row); }, {x, row.var()});
  check([&] { return prepend(prepend(x, row), row); }, {x, row.var()});
  check([&] { return drop_first(x); }, {x});
}

TEST_CASE("gradient: gather, with repeated, missing and unused places") {
  const Parameter& p = random_parameter("p", {2, 3});
  Tensor index = Tensor::from<std::int32_t>({7}, {5, 0, -1, 5, 2, -1, 1});
  check([&] { return gather(p, index, {7, 1}); }, {p.var()});
  check([&] { return add(gather(p, index, {7}), gather(p, index, {7})); }, {p.var()});
}

TEST_CASE("gradient: split_heads, merge_heads and sum_heads") {
  Var x = random_var({2, 3, 3 * 2 * 4}, 1);
  check([&] { return merge_heads(split_heads(x, 2, 2).k_BGTD); }, {x});
  check(
      [&] {
        auto [q, k, v] = split_heads(x, 2, 2);
        return add(add(q, v), add(v, k));
      },
      {x});
  // Four query heads share one head of keys and values.
  check(
      [&] {
        auto [q, k, v] = split_heads(x, 4, 1);
        return add(sum_heads(q), add(merge_heads(k), merge_heads(v)));
      },
      {x});
}

TEST_CASE("gradient: convert, where the type is the same and where it is not") {
  Var x = random_var({2, 5}, 1);
  check([&] { return convert(x, DType::F64); }, {x});
  Tape tape;
  Var narrow = convert(x, DType::F32);
  CHECK(narrow.value().dtype() == DType::F32);
  Tensor targets = Tensor::from<std::int32_t>({2}, {1, 3});
  tape.backward(linear_cross_entropy(convert(narrow, DType::F64), random_parameter("w", {7, 5}), targets, 2, 1));
  CHECK(x.grad().dtype() == DType::F64);
}

TEST_CASE("gradient: rotary") {
  Var x = random_var({2, 2, 5, 6}, 1);
  RotaryTable table = rotary_table(5, 6, DType::F64);
  check([&] { return rotary(x, table); }, {x});
}

TEST_CASE("gradient: split_rotary, of whole heads and of a part, with shared keys") {
  Var qkv = random_var({2, 5, 4 * 6}, 1);
  for (std::int64_t width : {6, 2}) {
    RotaryTable table = rotary_table(5, width, DType::F64);
    check(
        [&] {
          auto [q, k, v] = split_rotary(qkv, 2, 1, table);
          return add(sum_heads(q), add(merge_heads(k), merge_heads(v)));
        },
        {qkv});
    check([&] { return merge_heads(split_rotary(qkv, 2, 1, table).q_BHTD); }, {qkv});
  }
}

TEST_CASE("gradient: embedding, with a token that repeats") {
  const Parameter& w = random_parameter("w", {6, 4});
  Tensor tokens = Tensor::from<std::int32_t>({2, 3}, {1, 5, 1, 0, 1, 3});
  check([&] { return embedding(tokens, w); }, {w.var()});
}

TEST_CASE("gradient: linear_cross_entropy, with ignored targets and a scale") {
  Var x = random_var({2, 3, 4}, 1);
  const Parameter& w = random_parameter("w", {7, 4});
  Tensor targets = Tensor::from<std::int32_t>({2, 3}, {1, -1, 6, 0, 0, -1});
  check([&] { return linear_cross_entropy(x, w, targets, 4, 0.25); }, {x, w.var()});
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
  check([&] { return attention(Op(), {q, k, v}, 0.7, {}).o_BHTD; }, {q, k, v}, 2e-4);
  check(
      [&] {
        return attention(Op(), {q, k, v, bias, key, {}, value}, 0.7, {.prefix = 1, .window = 3}).o_BHTD;
      },
      {q, k, v, bias, key, value}, 2e-4);
  check([&] { return attention(Op(), {q, k, v, {}, {}, logit}, 0.7, {}).o_BHTD; }, {q, k, v, logit}, 2e-4);
  Var k_1 = random_var({2, 1, 5, 4}, 18), v_1 = random_var({2, 1, 5, 4}, 19);  // one head for all queries
  check([&] { return attention(Op(), {q, k_1, v_1}, 0.7, {}).o_BHTD; }, {q, k_1, v_1}, 2e-4);
}
#define SINK_ATTENTION_OP(Op) \
  TEST_CASE("gradient: attention with " #Op) { check_attention<Op>(); }
#include "engine/ops/attention/op/attention_ops.def"

TEST_CASE("gradient: recompute, of one layer and inside another") {
  Var x = random_var({2, 3, 5}, 1);
  const Parameter &w = random_parameter("w", {5, 5}), &gain = random_parameter("gain", {5});
  auto layer = [&](const Var& h) { return add(h, activate<GeluFunction>(linear(rms_norm(h, gain, DType::F64), w))); };
  check([&] { return recompute(layer(x), layer); }, {x, w.var(), gain.var()});
  check([&] { return recompute(x, [&](const Var& h) { return layer(recompute(h, layer)); }); },
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
