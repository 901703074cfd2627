// What slows LLaMA 3's rotations down, from the slowed rotations.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/sizes.h"

namespace sink {

struct Llama3RopeScaling {
  double factor;
  std::int64_t first_context;
};

// The factor and the first context with which llama3_inv_freq() divides the turn of each pair e by divisors_E[e], to
// 1e-5 of it; none where there are no such. Of several contexts that do the same, one. `sizes` give the width of a head
// and the base.
std::optional<Llama3RopeScaling> llama3_rope_scaling(const std::vector<double>& divisors_E, const Sizes& sizes);

}  // namespace sink
