// One arena for the parameters of a model: where slices lie, and how gradients gather in it.
#include "autograd/parameter_arena.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "autograd/ops/add_node.h"
#include "autograd/ops/linear_cross_entropy_node.h"
#include "engine/rng.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"

using namespace sink;

namespace {

ParameterInfo info(const std::string& name, const Shape& shape) {
  return {name, shape, "out in", ParameterRole::weight, {Init::Kind::normal, 2}};
}

struct Three {
  ParameterArena arena;
  const Parameter &a, &b, &c;

  explicit Three(DType compute)
      : arena(compute), a(arena.add(info("a", {3, 5}))), b(arena.add(info("b", {1}))), c(arena.add(info("c", {8, 8}))) {
    arena.allocate(7);
  }
};

std::size_t address(const Tensor& tensor) { return reinterpret_cast<std::size_t>(tensor.raw()); }

}  // namespace

TEST_CASE("arena: parameters are slices of one tensor, aligned, apart by zeros, drawn by name alone") {
  for (DType compute : {DType::F32, DType::BF16, DType::F64}) {
    Three three(compute);
    const ParameterArena& arena = three.arena;
    REQUIRE(arena.masters().dtype() == (compute == DType::F64 ? DType::F64 : DType::F32));
    CHECK(arena.count() == 3 * 5 + 1 + 64);
    std::vector<bool> taken(static_cast<std::size_t>(arena.masters().size()));
    for (const auto& p : arena) {
      CAPTURE(p->name());
      CHECK(address(p->master()) % 64 == 0);
      CHECK(address(p->compute()) % 64 == 0);
      CHECK(p->compute().dtype() == compute);
      Rng rng(7, "parameter/" + p->name());
      for (std::int64_t i = 0; i < p->master().size(); ++i) {
        std::int64_t at = p->segment().begin + i;
        CHECK_FALSE(taken[static_cast<std::size_t>(at)]);
        taken[static_cast<std::size_t>(at)] = true;
        double expected = 2 * rng.normal(static_cast<std::uint64_t>(i));
        if (compute != DType::F64) expected = static_cast<float>(expected);
        CHECK(arena.masters().item(at) == expected);
        CHECK(p->master().item(i) == expected);
        CHECK(p->compute().item(i) == doctest::Approx(expected).epsilon(compute == DType::BF16 ? 4e-3 : 1e-12));
      }
    }
    for (std::size_t i = 0; i < taken.size(); ++i)
      if (!taken[i]) CHECK(arena.masters().item(static_cast<std::int64_t>(i)) == 0);
  }
}

TEST_CASE("arena: uniform values fill (-scale, scale) evenly, normal ones have its deviation, constants are equal") {
  constexpr std::int64_t kCount = 100'000;
  constexpr double kScale = 0.25, n = kCount;
  for (DType compute : {DType::F32, DType::F64}) {
    ParameterArena arena(compute);
    const auto add = [&](const std::string& name, Init::Kind kind) -> const Parameter& {
      return arena.add({name, {kCount}, "C", ParameterRole::weight, {kind, kScale}});
    };
    const Parameter &uniform = add("uniform", Init::Kind::uniform), &normal = add("normal", Init::Kind::normal),
                    &constant = add("constant", Init::Kind::constant);
    arena.allocate(7);
    struct Moments {
      double mean = 0, square = 0, least = INFINITY, largest = -INFINITY;
      std::int64_t bins[10] = {};  // of (-scale, scale)
    };
    const auto moments_of = [&](const Parameter& parameter) {
      Moments m;
      for (std::int64_t i = 0; i < kCount; ++i) {
        const double x = parameter.master().item(i);
        m.mean += x / n, m.square += x * x / n;
        m.least = std::min(m.least, x), m.largest = std::max(m.largest, x);
        if (std::abs(x) < kScale) ++m.bins[std::min(9, static_cast<int>(5 * (x / kScale + 1)))];
      }
      return m;
    };
    // Within five standard deviations of estimates from n values. E x^2 = scale^2 / 3, Var x^2 = 4 scale^4 / 45.
    const Moments u = moments_of(uniform);
    CHECK(std::abs(u.mean) < 5 * kScale / std::sqrt(3 * n));
    CHECK(std::abs(u.square - kScale * kScale / 3) < 5 * kScale * kScale * std::sqrt(4 / (45 * n)));
    CHECK(u.least >= -kScale);
    CHECK(u.least < -0.999 * kScale);
    CHECK(u.largest <= kScale);
    CHECK(u.largest > 0.999 * kScale);
    for (std::int64_t bin : u.bins) CHECK(std::abs(static_cast<double>(bin) - n / 10) < 5 * std::sqrt(0.09 * n));
    // E x^2 = scale^2, Var x^2 = 2 scale^4; 68.27 % are within one deviation, and the largest of n is near 4.4.
    const Moments g = moments_of(normal);
    CHECK(std::abs(g.mean) < 5 * kScale / std::sqrt(n));
    CHECK(std::abs(g.square - kScale * kScale) < 5 * kScale * kScale * std::sqrt(2 / n));
    std::int64_t within = 0;
    for (std::int64_t bin : g.bins) within += bin;
    CHECK(std::abs(static_cast<double>(within) / n - 0.682689) < 5 * std::sqrt(0.682689 * 0.317311 / n));
    CHECK(g.largest > 3.5 * kScale);
    CHECK(g.least < -3.5 * kScale);
    const Moments c = moments_of(constant);
    CHECK(c.least == kScale);
    CHECK(c.largest == kScale);
  }
}

TEST_CASE("arena: refresh brings what products read up to date, all at once") {
  Three three(DType::BF16);
  three.arena.masters().fill(3);
  CHECK(three.c.compute().item(63) != 3);
  three.arena.refresh();
  CHECK(three.a.compute().item(0) == 3);
  CHECK(three.c.compute().item(63) == 3);
}

TEST_CASE("arena: gradients gather in one tensor, and only those that came are named") {
  Three three(DType::F64);
  three.arena.allocate_gradients();
  CHECK(three.arena.segments_with_gradient().empty());
  three.a.var().gradient().accumulate(random_tensor({3, 5}, DType::F64, 3));
  auto [dc, accumulate] = three.c.var().gradient().target();
  CHECK_FALSE(accumulate);
  dc.fill(5);
  three.c.var().gradient().accumulate(Tensor::full({8, 8}, 2, DType::F64));
  const Tensor& gradients = three.arena.gradients();
  for (std::int64_t i = 0; i < 15; ++i)
    CHECK(gradients.item(three.a.segment().begin + i) == random_tensor({3, 5}, DType::F64, 3).item(i));
  for (std::int64_t i = 0; i < 64; ++i) CHECK(gradients.item(three.c.segment().begin + i) == 7);
  auto segments = three.arena.segments_with_gradient();
  REQUIRE(segments.size() == 2);
  CHECK(segments[0].begin == three.a.segment().begin);
  CHECK(segments[1].end == three.c.segment().end);
  CHECK(three.arena.spans_with_gradient().size() == 2);  // b is between them
  three.b.var().gradient().accumulate(Tensor::full({1}, 1, DType::F64));
  auto spans = three.arena.spans_with_gradient();
  REQUIRE(spans.size() == 1);
  CHECK(spans[0].begin == 0);
  CHECK(spans[0].end == gradients.size());

  three.arena.clear_gradients();
  CHECK_FALSE(three.a.var().grad().defined());
  CHECK(three.arena.segments_with_gradient().empty());
  CHECK_FALSE(three.c.var().gradient().target().accumulate);  // the next gradient overwrites
}

TEST_CASE("arena: room for a gradient is its own place, once") {
  Three three(DType::F64);
  three.arena.allocate_gradients();
  const Gradient& gradient = three.a.var().gradient();
  const void* place = ParameterArena::slice(three.arena.gradients(), three.a).raw();
  {
    Tensor unused = gradient.grad_buffer();
    CHECK(unused.raw() == place);
    CHECK(gradient.grad_buffer().raw() != place);
  }
  Tensor first = gradient.grad_buffer(), second = gradient.grad_buffer();
  CHECK(first.raw() == place);
  first.fill(1);
  second.fill(10);
  SUBCASE("the first comes back first") {
    gradient.accumulate(std::move(first));
    gradient.accumulate(std::move(second));
  }
  SUBCASE("the first comes back last") {
    gradient.accumulate(std::move(second));
    auto [grad, accumulate] = gradient.target();
    CHECK(accumulate);
    CHECK(grad.raw() != place);
    gradient.accumulate(std::move(first));
  }
  CHECK(gradient.value().raw() == place);
  for (std::int64_t i = 0; i < 15; ++i) CHECK(three.arena.gradients().item(i) == 11);
  CHECK(gradient.grad_buffer().raw() != place);
}

TEST_CASE("arena: a gradient outside of it is not passed over in silence") {
  Three three(DType::F64);
  three.arena.allocate_gradients();
  Tensor kept = three.a.var().gradient().grad_buffer();
  three.a.var().gradient().accumulate(Tensor::full({3, 5}, 1, DType::F64));
  check_refused([&] { three.arena.segments_with_gradient(); }, {"gradient of a "});
}

TEST_CASE("arena: two losses over one unembedding, in one tape, add up in its slice") {
  Tensor targets = Tensor::from<std::int32_t>({4}, {0, 2, 1, 2});
  Var x(random_tensor({4, 5}, DType::F64, 1)), y(random_tensor({4, 5}, DType::F64, 2));
  auto gradient_of = [&](bool in_arena, int losses) {
    Three three(DType::F64);
    if (in_arena) three.arena.allocate_gradients();
    Tape tape;
    Var first = linear_cross_entropy(x, three.a, targets, 4, 1);
    tape.backward(losses == 1 ? first : add(first, linear_cross_entropy(y, three.a, targets, 4, 3)));
    if (in_arena) {
      CHECK(three.arena.segments_with_gradient().size() == 1);
      return ParameterArena::slice(three.arena.gradients(), three.a).clone();
    }
    return three.a.var().grad();
  };
  for (int losses : {1, 2}) check_close("dw", gradient_of(true, losses), gradient_of(false, losses), 1e-15);
}

TEST_CASE("arena: nothing is declared after the numbers were made") {
  Three three(DType::F32);
  check_refused([&] { three.arena.add(info("late", {2})); }, {"late"});
}
