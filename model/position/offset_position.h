// Position policy: rotary positions, and a learned constant for each head that is added to all of its scores.
#pragma once

#include <vector>

#include "autograd/ops/gather_node.h"
#include "model/position/rotary_position.h"

namespace sink {

// s_ij += b_lh. Without a divisor, as in ConSmax (Liu et al. 2024), e^(s + b - beta) / gamma is what its two learned
// constants of a head give: beta - b in place of beta, with gamma as it is. Softmax does not change by it.
class OffsetRotary : public Rotary {
 public:
  static std::string name() { return "OffsetRotary"; }

  explicit OffsetRotary(ParameterFactory& make)
      : Rotary(make),
        offset_(make.normal_init(ParameterRole::score_bias, "position.offset.weight",
                                 {make.sizes().layers, make.sizes().heads}, "L H")) {
    const std::int64_t H = make.sizes().heads;
    for (std::int64_t l = 0; l < make.sizes().layers; ++l)
      index_HT_.push_back(make.constant(
          Tensor::table<std::int32_t>(H, make.positions(), [&](std::int64_t h, std::int64_t) { return l * H + h; })));
  }

  Var bias(const ForwardContext& ctx) const {
    const Tensor& index_HT = index_HT_[static_cast<std::size_t>(ctx.layer)];
    return gather(offset_, index_HT, index_HT.shape());
  }

 private:
  const Parameter& offset_;
  std::vector<Tensor> index_HT_;  // of each layer
};

}  // namespace sink
