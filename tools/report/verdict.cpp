#include "tools/report/verdict.h"

#include "engine/io/str_format.h"
#include "tools/report/html_text.h"

namespace sink {

std::string why_not_tested(const Evidence& evidence) {
  const bool short_of_steps = evidence.seeds > 0 && evidence.steps < evidence.planned;
  if (evidence.seeds >= kMinSeeds && !short_of_steps) return evidence.nearly_even ? "nearly even attention" : "";
  std::string why = evidence.seeds == 0   ? "no run"
                    : evidence.seeds == 1 ? "one run"
                                          : std::to_string(evidence.seeds) + " runs";
  if (short_of_steps)
    why += ", " + report::grouped(evidence.steps, ",") + " of " + report::grouped(evidence.planned, ",") + " steps";
  return why;
}

Verdict level_verdict(const Evidence& evidence, const Estimate& level_minus_bound) {
  if (!why_not_tested(evidence).empty()) return Verdict::not_tested;
  if (level_minus_bound.low() > 0) return Verdict::supported;
  return level_minus_bound.high() < 0 ? Verdict::contradicted : Verdict::undecided;
}

Verdict comparison_verdict(const Evidence& evidence, const Estimate& difference, double smallest) {
  if (!why_not_tested(evidence).empty()) return Verdict::not_tested;
  if (difference.low() > -smallest && difference.high() < smallest) return Verdict::too_small;
  if (difference.half == 0) return Verdict::undecided;
  return level_verdict(evidence, difference);
}

std::string interval_text(const Estimate& estimate, int decimals) {
  return str_format("[%.*f, %.*f]", decimals, estimate.low(), decimals, estimate.high());
}

std::string verdict_text(Verdict verdict, const Evidence& evidence, const Estimate& shown, int decimals) {
  switch (verdict) {
    case Verdict::not_tested:
      return "not tested: " + why_not_tested(evidence);
    case Verdict::too_small:
      return "too small to tell";
    case Verdict::undecided:
      return "undecided " + interval_text(shown, decimals);
    case Verdict::contradicted:
      return "contradicted";
    case Verdict::supported:
      return "supported";
  }
  return "";
}

}  // namespace sink
