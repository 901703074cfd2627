// Edits of the learned vectors of positions (Gu et al. 2025, appendix C: Table 7): does the sink stay with the first
// place, or with the vector that stands there?
#pragma once

#include <cstdint>
#include <string>

#include "model/language_model.h"

namespace sink {

// Of p_1 and p_t, positions counted from 1: p_1 <- p_t, or both change places.
struct PositionEdit {
  bool swap = false;
  std::int64_t t = 2;
};

// "replace:T" or "swap:T", T at least 2. Throws Error (Exit::usage).
PositionEdit position_edit(const std::string& text);

// Throws Error (Exit::usage) for a model without learned positions, read in place, or with fewer than t.
void edit_positions(LanguageModel& model, const PositionEdit& edit);

}  // namespace sink
