// Position policy: rotary embedding of queries and keys, half-split (Su et al. 2021; Gu et al. 2025, section 2), of
// base 10000 over whole heads, or RotaryOf another base and only the first part of every head's numbers.
#pragma once

#include <cmath>

#include "autograd/ops/rotary_node.h"
#include "model/name_with_numbers.h"
#include "model/position/position_defaults.h"

namespace sink {

class Rotary : public PositionDefaults {
 public:
  static std::string name() { return "Rotary"; }
  static void check(const Sizes& sizes) { check_part(sizes, 1); }

  // Rotates the first part * D of the D numbers of a head.
  explicit Rotary(ParameterFactory& make, double base = kRotaryBase, double part = 1)
      : table_(rotary_table(make.positions(), std::llround(part * static_cast<double>(make.sizes().width_of_head())),
                            make.real(), base)) {
    table_ = {make.constant(table_.cos_TE), make.constant(table_.sin_TE)};
  }

  Var rotate(const Var& x_BHTD, const Tensor& positions_BT) const { return rotary(x_BHTD, table(positions_BT)); }
  QueryKeyValue split(const Var& qkv_BTE, std::int64_t H, std::int64_t G, const Tensor& positions_BT) const {
    return split_rotary(qkv_BTE, H, G, table(positions_BT));
  }

 protected:
  static void check_part(const Sizes& sizes, double part) {
    std::int64_t D = sizes.width_of_head();
    double width = part * static_cast<double>(D);
    SINK_CHECK(
        std::fmod(width, 2) == 0, "rotary",
        "rotary positions need an even width of a head (width / heads, or head_width), got " +
            (part == 1 ? std::to_string(D) : std::to_string(D) + ", of which " + std::to_string(part) + " are rotated"),
        Exit::usage);
  }

 private:
  RotaryTable table(const Tensor& positions_BT) const { return {table_.cos_TE, table_.sin_TE, positions_BT}; }

  RotaryTable table_;
};

// kPart: of a head's numbers, from 0 to 1 ("partial rotary factor"; GPT-NeoX, Black et al. 2022, section 2.1.1: 1/4).
template <double kBase, double kPart = 1.0>
struct RotaryOf : Rotary {
  static_assert(kBase > 0 && kPart > 0 && kPart <= 1, "RotaryOf<base, part> needs a base above 0 and a part of 1");

  static std::string name() {
    if (kPart == 1) return name_with_numbers(Rotary::name(), {kBase});
    return name_with_numbers(Rotary::name(), {kBase, kPart});
  }
  static void check(const Sizes& sizes) { check_part(sizes, kPart); }

  explicit RotaryOf(ParameterFactory& make) : Rotary(make, kBase, kPart) {}
};

}  // namespace sink
