// Position policy: scores decrease linearly with distance, with a different slope in every head (Press et al. 2022; Gu
// et al. 2025, section 7.1).
#pragma once

#include <cmath>
#include <vector>

#include "model/position/position_defaults.h"

namespace sink {

// m_h = 2^(-8h/H), h = 1 ... H, if H is a power of two. For other H: the slopes of the largest power of two P below H,
// then every other slope of those of 2P.
inline std::vector<double> alibi_slopes(std::int64_t H) {
  std::int64_t P = 1;
  while (2 * P <= H) P *= 2;
  std::vector<double> slopes;
  for (std::int64_t h = 1; h <= P; ++h)
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(h) / static_cast<double>(P)));
  for (std::int64_t h = 1; static_cast<std::int64_t>(slopes.size()) < H; h += 2)
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(h) / static_cast<double>(2 * P)));
  return slopes;
}

// s_ij -= m_h (i - j)
class Alibi : public PositionDefaults {
 public:
  static std::string name() { return "Alibi"; }

  explicit Alibi(ParameterFactory& make) {
    std::vector<double> slopes = alibi_slopes(make.sizes().heads);
    auto bias = [&](std::int64_t h, std::int64_t distance) {
      return -slopes[static_cast<std::size_t>(h)] * static_cast<double>(distance);
    };
    bias_HT_ = make.constant(Tensor::table<double>(make.sizes().heads, make.positions(), bias));
  }

  Var bias(const ForwardContext&) const { return Var(bias_HT_); }

 private:
  Tensor bias_HT_;
};

}  // namespace sink
