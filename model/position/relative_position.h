// Position policies with score biases by bucketed distance: the one of the paper, whose bias is the bucket index, and
// that of T5, which learns a bias for every bucket and head (Gu et al. 2025, section 7.1 and appendix B; Raffel et al.
// 2020).
#pragma once

#include <algorithm>
#include <cmath>

#include "autograd/ops/gather_node.h"
#include "model/position/position_defaults.h"

namespace sink {

inline constexpr std::int64_t kBuckets = 32;

// The bucket of a distance n = i - j: n for n < 16, else min(31, 16 + floor(16 ln(n / 16) / ln(128 / 16))).
inline std::int64_t relative_bucket(std::int64_t distance) {
  if (distance < 16) return distance;
  auto wide = static_cast<std::int64_t>(16 * std::log(static_cast<double>(distance) / 16) / std::log(8.0));
  return std::min(kBuckets - 1, 16 + wide);
}

// s_ij += bucket(i - j), 0 ... 31, the same for all heads: nothing is learned, and far tokens gain up to 31. The
// released code of the paper computes this, so its results are for it.
class BucketIndex : public PositionDefaults {
 public:
  static std::string name() { return "BucketIndex"; }

  explicit BucketIndex(ParameterFactory& make) {
    auto bias = [](std::int64_t, std::int64_t distance) { return relative_bucket(distance); };
    bias_HT_ = make.constant(Tensor::table<double>(make.sizes().heads, make.positions(), bias));
  }

  Var bias(const ForwardContext&) const { return Var(bias_HT_); }

 private:
  Tensor bias_HT_;
};

// s_ij += b_h[bucket(i - j)], one table for all layers.
class T5Relative : public PositionDefaults {
 public:
  static std::string name() { return "T5Relative"; }

  explicit T5Relative(ParameterFactory& make)
      : table_(make.normal_init(ParameterRole::score_bias, "position.bias.weight", {make.sizes().heads, kBuckets},
                                "H bucket")),
        index_HT_(make.constant(Tensor::table<std::int32_t>(
            make.sizes().heads, make.positions(),
            [](std::int64_t h, std::int64_t distance) { return h * kBuckets + relative_bucket(distance); }))) {}

  Var bias(const ForwardContext&) const { return gather(table_, index_HT_, index_HT_.shape()); }

 private:
  const Parameter& table_;
  Tensor index_HT_;
};

}  // namespace sink
