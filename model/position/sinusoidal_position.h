// Position policy: fixed sines and cosines added to the token embedding (Gu et al. 2025, section 7.1).
#pragma once

#include <cmath>

#include "autograd/ops/add_node.h"
#include "engine/ops/embedding/embedding.h"
#include "model/position/position_defaults.h"
#include "model/position/table_limit.h"

namespace sink {

// p_t = [sin(t w_0) ... sin(t w_{C/2-1}), cos(t w_0) ... cos(t w_{C/2-1})], w_i = 10000^(-2i/C), t from 0: sines
// before cosines as in the code of the paper, not alternating as in its text. C is even.
inline Tensor sinusoidal_table(std::int64_t T, std::int64_t C, DType type) {
  auto p = [C](std::int64_t t, std::int64_t c) {
    auto i = static_cast<double>(c % (C / 2));
    double angle = static_cast<double>(t) * std::pow(10000.0, -2.0 * i / static_cast<double>(C));
    return c < C / 2 ? std::sin(angle) : std::cos(angle);
  };
  return Tensor::table<double>(T, C, p).to(type);
}

class Sinusoidal : public PositionDefaults {
 public:
  static std::string name() { return "Sinusoidal"; }

  static void check(const Sizes& sizes) {
    SINK_CHECK(sizes.width % 2 == 0, "sinusoidal",
               "sinusoidal positions need an even width (half sines, half cosines), got " + std::to_string(sizes.width),
               Exit::usage);
    check_table("sinusoidal", sizes.context, sizes.width);
  }

  explicit Sinusoidal(ParameterFactory& make)
      : table_TC_(make.constant(sinusoidal_table(make.positions(), make.sizes().width, make.real()))) {}

  Var embed(const Var& x_BTC, const ForwardContext& ctx) const {
    const Tensor& positions_BT = ctx.documents.positions_BT;
    if (!positions_BT.defined()) return add_rows(x_BTC, Var(table_TC_));
    Tensor p_BTC = Tensor::empty_like(x_BTC.value());
    embedding(positions_BT, table_TC_, p_BTC);
    return add(x_BTC, Var(p_BTC));
  }

 private:
  Tensor table_TC_;
};

}  // namespace sink
