// AdamW over the whole arena of parameters: the same values as parameter by parameter, and no change without a
// gradient.
#include "train/optimizer.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "engine/ops/optimizer/adamw.h"
#include "tests/support/compare.h"
#include "train/optimizers/optimizers.h"

using namespace sink;

namespace {

ParameterArena made_arena(DType compute, Device device = Device::cpu) {
  ParameterArena arena(compute, device);
  for (const auto& [name, shape] :
       std::vector<std::pair<std::string, Shape>>{{"a", {3, 5}}, {"b", {1}}, {"c", {130, 129}}, {"d", {7}}})
    arena.add({name, shape, "", ParameterRole::weight, {Init::Kind::normal, 1}});
  arena.allocate(3);
  return arena;
}

Tensor gradient_of(const Parameter& parameter, std::int64_t step) {
  return random_tensor(parameter.info().shape, parameter.master().dtype(),
                       static_cast<std::uint64_t>(100 * step + parameter.segment().begin));
}

double norm_of(const Optimizer& optimizer) {
  Tensor sum = Tensor::empty({1}, DType::F64);
  optimizer.sum_squared_gradients(sum);
  return std::sqrt(sum.item());
}

// Of a step with the gradients that there are.
Tensor step_scalars_of(const Optimizer& optimizer, std::int64_t update) {
  Tensor step_scalars = make_step_scalars(/*learning_rate=*/0.1, update);
  Tensor squared_norm = squared_norm_of(step_scalars);
  optimizer.sum_squared_gradients(squared_norm);
  return step_scalars;
}

Tensor state_of(const Optimizer& optimizer, const std::string& name) {
  for (const OptimizerState& state : optimizer.state())
    if (state.name == name) return state.values;
  fail("test", "no state " + name);
}

std::vector<Tensor> clones_of(const std::vector<OptimizerState>& state) {
  std::vector<Tensor> clones;
  for (const OptimizerState& one : state) clones.push_back(one.values.clone());
  return clones;
}

RunConfig some_config() {
  RunConfig config;
  config.weight_decay = 0.3;
  config.clip = 5;
  return config;
}

}  // namespace

TEST_CASE("optimizer: one AdamW call over the arena is one per parameter, and the norm is that of all numbers") {
  for (DType compute : {DType::F64, DType::F32, DType::BF16}) {
    RunConfig config = some_config();
    ParameterArena arena = made_arena(compute);
    const std::unique_ptr<Optimizer> made = make_optimizer(arena, config);
    Optimizer& optimizer = *made;
    std::vector<Tensor> w, m, v;
    for (const auto& p : arena) {
      w.push_back(p->master().clone());
      m.push_back(Tensor::zeros(p->master().shape(), p->master().dtype()));
      v.push_back(m.back().clone());
    }
    for (std::int64_t step = 1; step <= 4; ++step) {
      double sum = 0;
      for (const auto& p : arena) {
        Tensor dw = gradient_of(*p, step);
        for (std::int64_t i = 0; i < dw.size(); ++i) sum += dw.item(i) * dw.item(i);
        p->var().gradient().accumulate(dw);
      }
      double norm = norm_of(optimizer);
      CHECK(norm == doctest::Approx(std::sqrt(sum)).epsilon(1e-13));
      REQUIRE(norm > config.clip);
      CHECK(arena.spans_with_gradient().size() == 1);
      Tensor step_scalars = step_scalars_of(optimizer, step);
      optimizer.step(step_scalars);
      for (std::size_t i = 0; i < arena.size(); ++i)
        adamw({.beta1 = config.beta1,
               .beta2 = config.beta2,
               .epsilon = config.adam_epsilon,
               .weight_decay = config.weight_decay,
               .clip = config.clip},
              step_scalars, gradient_of(*arena[i], step), w[i], m[i], v[i]);
    }
    for (std::size_t i = 0; i < arena.size(); ++i) {
      const Parameter& p = *arena[i];
      CHECK_FALSE(p.var().grad().defined());
      check_close(p.name(), p.master(), w[i], 0);
      check_close(p.name() + " first moment", state_of(optimizer, "first_moment/" + p.name()), m[i], 0);
      check_close(p.name() + " second moment", state_of(optimizer, "second_moment/" + p.name()), v[i], 0);
      check_close(p.name() + " of products", p.compute(), w[i].to(compute), 0);
    }
  }
}

TEST_CASE("optimizer: a parameter without a gradient is left alone: no decay, no moment") {
  ParameterArena arena = made_arena(DType::F64);
  const std::unique_ptr<Optimizer> made = make_optimizer(arena, some_config());
  Optimizer& optimizer = *made;
  auto give = [&](std::initializer_list<int> to, std::int64_t step) {
    for (int i : to)
      arena[static_cast<std::size_t>(i)]->var().gradient().accumulate(
          gradient_of(*arena[static_cast<std::size_t>(i)], step));
  };
  give({0, 1, 2, 3}, 1);
  optimizer.step(step_scalars_of(optimizer, 1));
  Tensor w = arena.masters().clone();
  std::vector<Tensor> before = clones_of(optimizer.state());
  give({0, 1, 3}, 2);
  double sum = 0;
  for (int i : {0, 1, 3}) {
    Tensor dw = gradient_of(*arena[static_cast<std::size_t>(i)], 2);
    for (std::int64_t n = 0; n < dw.size(); ++n) sum += dw.item(n) * dw.item(n);
  }
  CHECK(norm_of(optimizer) == doctest::Approx(std::sqrt(sum)).epsilon(1e-13));  // without what c had in the step before
  optimizer.step(step_scalars_of(optimizer, 2));
  for (const auto& p : arena)
    for (std::int64_t i = p->segment().begin; i < p->segment().end; ++i)
      CHECK((arena.masters().item(i) == w.item(i)) == (p->name() == "c"));
  std::vector<OptimizerState> after = optimizer.state();
  for (std::size_t n = 0; n < after.size(); ++n)
    for (std::int64_t i = 0; i < before[n].size(); ++i)
      CHECK((after[n].values.item(i) == before[n].item(i)) == after[n].name.ends_with("/c"));
}

TEST_CASE("optimizer: what products read is the masters rounded, after every kind of step and on every device") {
#ifdef SINK_CUDA
  const std::vector<Device> devices{Device::cpu, Device::cuda};
#else
  const std::vector<Device> devices{Device::cpu};
#endif
  for (Device device : devices) {
    ParameterArena arena = made_arena(DType::BF16, device);
    const std::unique_ptr<Optimizer> made = make_optimizer(arena, some_config());
    Optimizer& optimizer = *made;
    Tensor before = arena.copy().to(Device::cpu).clone();
    auto changed = [&](const Parameter& p) {
      Tensor now = p.compute().to(Device::cpu), then = ParameterArena::slice(before, p);
      return std::memcmp(now.raw(), then.raw(), now.bytes()) != 0;
    };
    auto step = [&](std::initializer_list<std::size_t> with_gradient, std::int64_t update, double loss) {
      before = arena.copy().to(Device::cpu).clone();
      for (std::size_t i : with_gradient)
        arena[i]->var().gradient().accumulate(gradient_of(*arena[i], update).to(device));
      Tensor step_scalars = make_step_scalars(/*learning_rate=*/0.1, update).to(device);
      loss_of(step_scalars).fill(loss);
      optimizer.step(step_scalars);
      check_close("copy", arena.copy().to(Device::cpu), arena.masters().to(Device::cpu).to(DType::BF16), 0);
    };
    step({0, 1, 2, 3}, 1, 2.0);
    for (const auto& p : arena) CHECK(changed(*p));
    step({0, 1, 3}, 2, 2.0);
    for (const auto& p : arena) CHECK(changed(*p) == (p->name() != "c"));
    step({0, 1, 2, 3}, 3, NAN);
    for (const auto& p : arena) CHECK_FALSE(changed(*p));
  }
}

TEST_CASE("optimizer: skip drops the gradients and changes nothing else") {
  ParameterArena arena = made_arena(DType::F32);
  const std::unique_ptr<Optimizer> made = make_optimizer(arena, some_config());
  Optimizer& optimizer = *made;
  Tensor w = arena.masters().clone();
  arena[0]->var().gradient().accumulate(gradient_of(*arena[0], 1));
  optimizer.zero_grad();
  CHECK_FALSE(arena[0]->var().grad().defined());
  CHECK(norm_of(optimizer) == 0);
  check_close("w", arena.masters(), w, 0);
}

TEST_CASE("optimizer: every kind leaves alone what has no gradient, and all of it where the loss is no number") {
  for (const OptimizerKind& kind : optimizer_kinds()) {
    CAPTURE(kind.name);
    RunConfig config = some_config();
    config.optimizer = kind.name;
    ParameterArena arena = made_arena(DType::BF16);
    auto optimizer = make_optimizer(arena, config);
    auto give = [&](std::initializer_list<std::size_t> to, std::int64_t step) {
      for (std::size_t i : to) arena[i]->var().gradient().accumulate(gradient_of(*arena[i], step));
    };
    auto changed = [&](const std::function<void()>& step) {
      Tensor w = arena.masters().clone();
      std::vector<Tensor> before = clones_of(optimizer->state());
      step();
      check_close("copy", arena.copy(), arena.masters().to(DType::BF16), 0);
      std::string names;
      for (const auto& p : arena)
        if (std::memcmp(p->master().raw(), ParameterArena::slice(w, *p).raw(), p->master().bytes()) != 0)
          names += p->name();
      std::vector<OptimizerState> after = optimizer->state();
      for (std::size_t n = 0; n < after.size(); ++n) {
        bool same = std::memcmp(after[n].values.raw(), before[n].raw(), before[n].bytes()) == 0;
        CHECK(same == (names.find(after[n].name.back()) == std::string::npos));
      }
      return names;
    };
    give({0, 1, 2, 3}, 1);
    CHECK(changed([&] { optimizer->step(step_scalars_of(*optimizer, 1)); }) == "abcd");
    give({0, 1, 3}, 2);
    CHECK(changed([&] { optimizer->step(step_scalars_of(*optimizer, 2)); }) == "abd");
    give({0, 1, 2, 3}, 3);
    CHECK(changed([&] {
            Tensor step_scalars = step_scalars_of(*optimizer, 3);
            loss_of(step_scalars).fill(NAN);
            optimizer->step(step_scalars);
          }) == "");
  }
}
