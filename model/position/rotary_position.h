// Position policies: rotary embedding of queries and keys, half-split (Su et al. 2021; Gu et al. 2025, section 2).
//
// Pair e of E is rotated by position times f_e = base^(-e/E). The policies differ in how they scale f_e for contexts
// longer than that of the first training. Base, rotated part of a head and factor are sizes (model/sizes.h).
#pragma once

#include <cmath>
#include <vector>

#include "autograd/ops/rotary_node.h"
#include "model/position/position_defaults.h"
#include "model/position/scaled_inv_freq.h"

namespace sink {

class RotaryDefaults : public PositionDefaults {
 public:
  static void check(const Sizes& sizes) {
    const std::int64_t D = sizes.width_of_head();
    const double width = sizes.rotary_part > 0 ? sizes.rotary_part * static_cast<double>(D) : static_cast<double>(D);
    SINK_CHECK(std::fmod(width, 2) == 0 && width > 0, "rotary",
               "rotary positions need an even width of a head (width / heads, or head_width), got " +
                   (sizes.rotary_part > 0 ? std::to_string(D) + ", of which " + std::to_string(sizes.rotary_part) +
                                                " are rotated (rotary_part)"
                                          : std::to_string(D)),
               Exit::usage);
  }

  Var rotate(const Var& x_BHTD, const ForwardContext& ctx) const {
    return sizes_.rotates(ctx.layer) ? rotary(x_BHTD, table(ctx)) : x_BHTD;
  }
  QueryKeyValue split(const Var& qkv_BTE, std::int64_t H, std::int64_t G, const ForwardContext& ctx) const {
    return sizes_.rotates(ctx.layer) ? split_rotary(qkv_BTE, H, G, table(ctx)) : split_heads(qkv_BTE, H, G);
  }

 protected:
  // slowed(f_E, sizes): the scaled frequencies of layers that see all keys; layers with a window and rotary_local_base
  // are not scaled. cos and sin are multiplied by `length`.
  template <class Slowed>
  RotaryDefaults(ParameterFactory& make, Slowed&& slowed, double length = 1) : sizes_(make.sizes()) {
    const double base = sizes_.rotary_base > 0 ? sizes_.rotary_base : kRotaryBase;
    global_ = table_of(make, slowed(turns(base), sizes_), length);
    local_ = sizes_.rotary_local_base > 0 ? table_of(make, turns(sizes_.rotary_local_base), 1) : global_;
  }

  Sizes sizes_;
  RotaryTable global_, local_;

 private:
  // f_e in radians per position.
  std::vector<double> turns(double base) const {
    const auto D = static_cast<double>(sizes_.width_of_head());
    const std::int64_t width = std::llround(sizes_.rotary_part > 0 ? sizes_.rotary_part * D : D);
    return rotary_inv_freq(width, base);
  }
  static RotaryTable table_of(const ParameterFactory& make, const std::vector<double>& inv_freq_E, double length) {
    const RotaryTable table = rotary_table(make.positions(), inv_freq_E, make.real(), length);
    return {make.constant(table.cos_TE), make.constant(table.sin_TE)};
  }
  RotaryTable table(const ForwardContext& ctx) const {
    const RotaryTable& table = sizes_.is_global(ctx.layer) ? global_ : local_;
    return {table.cos_TE, table.sin_TE, ctx.documents.positions_BT};
  }
};

// Divides all frequencies by the same factor, if any: positional interpolation (Chen et al. 2023).
struct Rotary : RotaryDefaults {
  static std::string name() { return "Rotary"; }
  explicit Rotary(ParameterFactory& make) : RotaryDefaults(make, slowed) {}

 private:
  static std::vector<double> slowed(std::vector<double> inv_freq_E, const Sizes& sizes) {
    if (sizes.rotary_factor > 0)
      for (double& f : inv_freq_E) f /= sizes.rotary_factor;
    return inv_freq_E;
  }
};

// Divides low frequencies only (model/position/scaled_inv_freq.h).
struct Llama3Rotary : RotaryDefaults {
  static std::string name() { return "Llama3Rotary"; }
  explicit Llama3Rotary(ParameterFactory& make) : RotaryDefaults(make, slowed) {}

 private:
  static std::vector<double> slowed(const std::vector<double>& inv_freq_E, const Sizes& sizes) {
    return llama3_inv_freq(inv_freq_E, sizes.rotary_factor > 0 ? sizes.rotary_factor : 1, sizes.first_context());
  }
};

// Divides low frequencies and scales queries and keys (model/position/scaled_inv_freq.h).
struct YarnRotary : RotaryDefaults {
  static std::string name() { return "YarnRotary"; }
  explicit YarnRotary(ParameterFactory& make) : RotaryDefaults(make, slowed, yarn_length(make.sizes().rotary_factor)) {}

 private:
  static std::vector<double> slowed(const std::vector<double>& inv_freq_E, const Sizes& sizes) {
    if (!(sizes.rotary_factor > 0)) return inv_freq_E;
    return yarn_inv_freq(inv_freq_E, sizes.rotary_base > 0 ? sizes.rotary_base : kRotaryBase, sizes.rotary_factor,
                         sizes.first_context());
  }
};

}  // namespace sink
