// Compares a backend of attention with the reference in double.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "engine/ops/attention/op/attention_row.h"
#include "engine/ops/attention/ref/attention_ref.h"
#include "tests/engine/ops/attention_case.h"

namespace sink::test {

// The condition number of the scores, in the worst row of a case computed in double: how much their errors grow.
struct Conditions {
  double weights = 1;    // |z'| sum_j |r_ij| / |z|, of the divisor; large where a sum nearly cancels
  double gradients = 1;  // max_j (|g'| + |r'| |z'| sum |w|) / |z|: the terms of ds_ij for da = 1
};
template <class Op>
Conditions row_conditions(const AttentionCase& c, const Op& op, std::int64_t b, std::int64_t h, std::int64_t t) {
  const AttentionConfig& config = c.config;
  ref::Head head(c.q, c.k, c.v, config, h);
  std::int64_t i = head.position(t);
  std::vector<std::int64_t> keys = ref::keys_of(head, b, i);
  std::int64_t row = (b * c.q.dim(1) + h) * c.q.dim(2) + t;
  AttentionRow row_functions(op, c.m.item(row), c.S.item(row), static_cast<double>(keys.size()));
  double z = std::abs(row_functions.z()), dz = std::abs(row_functions.dz()), r = 0, w = 0, dg = 0, dr = 0;
  ref::Row q = head.q(b, h, t);
  for (double s : ref::score_row(head, i, q, keys, head.k(b, head.group_of(h), keys))) {
    double x = s - row_functions.m;
    r += std::abs(row_functions.r(x));
    w += std::abs(row_functions.in_D(x, row_functions.g(x) / z));
    dg = std::max(dg, std::abs(row_functions.dg(x)));
    dr = std::max(dr, std::abs(row_functions.dr(x)));
  }
  return {std::max(1.0, dz * r / z), (dg + dr * dz * w) / z};
}
template <class Op>
Conditions worst_conditions(const AttentionCase& c, const Op& op) {
  Conditions worst;
  for (std::int64_t b = 0; b < c.q.dim(0); ++b)
    for (std::int64_t h = 0; h < c.q.dim(1); ++h)
      for (std::int64_t i = 0; i < c.q.dim(2); ++i) {
        Conditions row = row_conditions(c, op, b, h, i);
        worst = {std::max(worst.weights, row.weights), std::max(worst.gradients, row.gradients)};
      }
  return worst;
}

// Compares a backend with the reference in double, on inputs rounded to `dtype`. A relative error e of the scores is an
// error conditions.weights * e of the weights and of the terms of the gradients.
template <class Op>
void check_backend(const Op& op, const AttentionCase& expected, const Conditions& conditions, DType dtype,
                   Device device = Device::cpu) {
  CAPTURE(operation_name<Op>());
  CAPTURE(std::string(name_of(dtype)));
  CAPTURE(conditions.weights);
  CAPTURE(conditions.gradients);
  AttentionCase on_device = expected.to(dtype).to(device);
  on_device.forward(op);
  on_device.backward(op);
  AttentionCase fast = on_device.to(Device::cpu);
  double tolerance = (dtype == DType::F32 ? 1e-5 : 2e-2) * conditions.weights;
  double row_tolerance = std::min(tolerance, 1e-4);
  CHECK(relative_error(fast.o, expected.o) <= tolerance);
  CHECK(relative_error(fast.m, expected.m) <= row_tolerance);
  CHECK(relative_error(fast.S, expected.S) <= row_tolerance);
  std::vector<const Tensor*> found = fast.all_gradients(), wanted = expected.all_gradients();
  REQUIRE(found.size() == wanted.size());
  for (std::size_t n = 0; n < found.size(); ++n) {
    CAPTURE(n);
    CHECK(largest_difference(*found[n], *wanted[n]) <=
          tolerance * std::max(conditions.gradients, largest_magnitude(*wanted[n])));
  }
}

}  // namespace sink::test
