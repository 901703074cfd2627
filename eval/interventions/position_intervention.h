// Interventions on learned position vectors (Gu et al. 2025, appendix C, Table 7): does the sink stay at the first
// position, or does it follow the vector p_1?
#pragma once

#include <cstdint>
#include <string>

#include "model/language_model.h"

namespace sink {

// p_1 becomes p_t, or both are swapped; positions count from 1.
struct PositionIntervention {
  bool swap = false;
  std::int64_t t = 2;
};

// "replace:T" or "swap:T", T at least 2. Throws Error (Exit::usage).
PositionIntervention position_intervention(const std::string& text);

// Throws Error (Exit::usage) for a model that has no learned positions, fewer than t, or memory-mapped ones.
void apply_to_positions(LanguageModel& model, const PositionIntervention& intervention);

}  // namespace sink
