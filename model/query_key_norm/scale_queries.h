// Query-key norm policy: scalable softmax (Nakanishi 2025), softmax(c ln(n) s), so that a row of many keys can be as
// peaked as one of few.
#pragma once

#include <cmath>

#include "autograd/ops/rotary_node.h"
#include "model/forward_context.h"
#include "model/parameter_factory.h"

namespace sink {

// Queries times c ln n, where n is the number of tokens up to the query. c is 1/4, so that the factor is 1 at 55
// tokens; a learned c for each head would be a factor of that head's rows of W_q, which are learned.
class LogCountScale {
 public:
  static std::string name() { return "LogCountScale"; }
  static void check(const Sizes& sizes) {
    SINK_CHECK(sizes.width_of_head() % 2 == 0, "scalable softmax",
               "queries are scaled in pairs of elements, which need an even width of a head, got " +
                   std::to_string(sizes.width_of_head()),
               Exit::usage);
  }

  // A rotation by no angle, whose length is the factor of the position.
  LogCountScale(ParameterFactory& make, const std::string&)
      : factors_{make.constant(table(make, kScale)), make.constant(table(make, 0))} {}

  Var query(const Var& q_BHTD, const ForwardContext& ctx) const {
    return rotary(q_BHTD, {factors_.cos_TE, factors_.sin_TE, ctx.documents.positions_BT});
  }
  Var key(const Var& k_BGTD) const { return k_BGTD; }

 private:
  static constexpr double kScale = 0.25;  // c

  static Tensor table(const ParameterFactory& make, double scale) {
    return Tensor::table<double>(make.positions(), make.sizes().width_of_head() / 2, [=](std::int64_t t, std::int64_t) {
      return scale * std::log(static_cast<double>(t + 1));
    });
  }

  RotaryTable factors_;
};

}  // namespace sink
