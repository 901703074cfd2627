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
#include "model/position/table_limit.h"

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
    check_table("rotary", sizes.context, std::llround(width / 2));
  }

  Var rotate(const Var& x_BHTD, const ForwardContext& ctx) const {
    return sizes_.rotates(ctx.layer) ? rotary(x_BHTD, table(ctx, x_BHTD.value().dim(2))) : x_BHTD;
  }
  QueryKeyValue split(const Var& qkv_BTE, std::int64_t H, std::int64_t G, const ForwardContext& ctx) const {
    return sizes_.rotates(ctx.layer) ? split_rotary(qkv_BTE, H, G, table(ctx, qkv_BTE.value().dim(1)))
                                     : split_heads(qkv_BTE, H, G);
  }

 protected:
  // slowed(f_E, sizes): the scaled frequencies of layers that see all keys; layers with a window and rotary_local_base
  // are not scaled. cos and sin are multiplied by `length`.
  template <class Slowed>
  RotaryDefaults(ParameterFactory& make, Slowed&& slowed, double length = 1) : sizes_(make.sizes()) {
    global_ = table_of(make, slowed(turns(base()), sizes_), length);
    local_ = sizes_.rotary_local_base > 0 ? table_of(make, turns(sizes_.rotary_local_base), 1) : global_;
  }

  Sizes sizes_;
  RotaryTable global_, local_, long_;  // long_: of LongRoPE, for texts of more than rotary_context tokens

  double base() const { return sizes_.rotary_base > 0 ? sizes_.rotary_base : kRotaryBase; }
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

 private:
  // Of the next T tokens.
  RotaryTable table(const ForwardContext& ctx, std::int64_t T) const {
    const bool is_long = long_.cos_TE.defined() && ctx.first_position() + T > sizes_.rotary_context;
    if (is_long) require_long_text(ctx);
    const RotaryTable& table = is_long ? long_ : sizes_.is_global(ctx.layer) ? global_ : local_;
    return {table.cos_TE, table.sin_TE, ctx.documents.positions_BT};
  }
  // Keys that were read with the frequencies of short texts do not fit a text that has become long.
  void require_long_text(const ForwardContext& ctx) const {
    const std::int64_t first = ctx.first_position(), most = sizes_.rotary_context;
    SINK_CHECK(first == 0 || first > most, "rotary",
               "with LongRoPE a text of more than " + std::to_string(most) +
                   " tokens has other rotary positions, of its first tokens too: expected it to be read at once, and "
                   "the first " +
                   std::to_string(first) + " were read before",
               Exit::bad_input);
    SINK_CHECK(
        ctx.cache || !ctx.documents.positions_BT.defined(), "rotary",
        "with LongRoPE, --reset-positions is computed for sequences of at most " + std::to_string(most) + " tokens",
        Exit::bad_input);
  }
};

// Divides all frequencies by the same factor, if any: positional interpolation (Chen et al. 2023); or each by its own,
// LongRoPE's.
struct Rotary : RotaryDefaults {
  static std::string name() { return "Rotary"; }
  explicit Rotary(ParameterFactory& make) : RotaryDefaults(make, slowed, make.sizes().long_rope.length) {
    const LongRope& rope = sizes_.long_rope;
    if (!rope.long_E.empty()) long_ = table_of(make, divided(turns(base()), rope.long_E), rope.length);
  }

 private:
  static std::vector<double> slowed(std::vector<double> inv_freq_E, const Sizes& sizes) {
    if (sizes.rotary_factor > 0)
      for (double& f : inv_freq_E) f /= sizes.rotary_factor;
    return sizes.long_rope.short_E.empty() ? inv_freq_E : divided(inv_freq_E, sizes.long_rope.short_E);
  }
  static std::vector<double> divided(std::vector<double> inv_freq_E, const std::vector<double>& divisors_E) {
    SINK_CHECK(divisors_E.size() == inv_freq_E.size(), "rotary",
               "expected a factor of LongRoPE for each of " + std::to_string(inv_freq_E.size()) + " pairs, got " +
                   std::to_string(divisors_E.size()),
               Exit::usage);
    for (std::size_t e = 0; e < inv_freq_E.size(); ++e) inv_freq_E[e] /= divisors_E[e];
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
