// Checks of a node's backward against central differences in double.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "autograd/grad_check.h"
#include "autograd/ops/add_node.h"
#include "autograd/parameter_arena.h"
#include "tests/support/compare.h"

namespace sink {

inline Var random_var(const Shape& shape, std::uint64_t seed, double scale = 1) {
  return Var(random_tensor(shape, DType::F64, seed, scale), true);
}

// The only parameter of a new arena.
inline const Parameter& random_parameter(const std::string& name, const Shape& shape) {
  static std::vector<ParameterArena> arenas;
  ParameterArena& arena = arenas.emplace_back(DType::F64);
  const Parameter& parameter = arena.add({name, shape, "", ParameterRole::weight, {Init::Kind::normal, 1}});
  arena.allocate(5);
  return parameter;
}

// The relative error of every gradient of f is at most 1e-8.
inline void check_gradient(const std::function<Var()>& f, const std::vector<Var>& inputs, double step = 1e-3) {
  GradCheckResult result = check_gradients(f, inputs, step);
  CHECK_MESSAGE(result.worst <= 1e-8, result.where, " off by ", result.worst);
}

// The same for a norm of a + b, whose outputs are the sum and the norm.
template <class Normed>
void check_normed_sum(Normed normed, const Var& a, const Var& b, const std::vector<Var>& inputs) {
  check_gradient([&] { return normed(a, b).y; }, inputs);
  check_gradient([&] { return normed(a, b).u; }, {a, b});
  check_gradient(
      [&] {
        auto [u, y] = normed(a, b);
        return normed(u, add(a, y)).y;
      },
      inputs);
}

}  // namespace sink
