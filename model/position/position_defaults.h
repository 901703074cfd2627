// The defaults of position policies, and the policy without positions.
#pragma once

#include "model/forward_context.h"
#include "model/parameter_factory.h"

namespace sink {

// Throws Error (Exit::usage) for a table of all positions that would take gigabytes. Its values are computed, so the
// size of a model's file does not bound it.
inline void check_table(const char* policy, std::int64_t positions, std::int64_t width) {
  constexpr std::int64_t kMost = std::int64_t{1} << 26;
  SINK_CHECK(positions <= kMost / width, policy,
             "a table of " + std::to_string(positions) + " positions with " + std::to_string(width) +
                 " values each is too large; expected at most " + std::to_string(kMost) +
                 " values: take a shorter context or a smaller width",
             Exit::usage);
}

// Changes neither the embedding, nor queries and keys, nor scores.
struct PositionDefaults {
  Var embed(const Var& x_BTC, const ForwardContext&) const { return x_BTC; }
  Var rotate(const Var& x_BHTD, const ForwardContext&) const { return x_BHTD; }
  Var bias() const { return {}; }
};

// "NoPE": only the causal mask distinguishes positions (Gu et al. 2025, section 7.1).
struct NoPosition : PositionDefaults {
  static std::string name() { return "NoPosition"; }

  explicit NoPosition(ParameterFactory&) {}
};

}  // namespace sink
