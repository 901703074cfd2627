#include "model/open/llama3_rope_scaling.h"

#include <cmath>
#include <numbers>

#include "engine/ops/rotary/rotary.h"
#include "model/position/llama3_inv_freq.h"

namespace sink {
namespace {

constexpr double kClose = 1e-5;                   // of a divisor in f32 and what it was made of
constexpr double kLongestFirstContext = 1 << 24;  // model/size_settings.cpp

// Tokens in which a pair makes so many turns.
double context_of_turns(double turns, double turn) { return turns * 2 * std::numbers::pi / turn; }

// The first context that the pairs say: one between slow and fast tells it, else the fast ones say how long it is at
// least, or the slow ones at most.
double first_context(const std::vector<double>& divisors_E, const std::vector<double>& inv_freq_E, double factor) {
  double least = 0, most = kLongestFirstContext;
  for (std::size_t e = 0; e < inv_freq_E.size(); ++e) {
    const double d = divisors_E[e];
    if (d > 1 + kClose && d < factor * (1 - kClose)) {
      const double kept = (1 / d - 1 / factor) / (1 - 1 / factor);
      return std::round(context_of_turns(kLlama3Slow + kept * (kLlama3Fast - kLlama3Slow), inv_freq_E[e]));
    }
    if (d <= 1 + kClose)
      least = std::max(least, std::ceil(context_of_turns(kLlama3Fast, inv_freq_E[e])));
    else
      most = std::min(most, std::floor(context_of_turns(kLlama3Slow, inv_freq_E[e])));
  }
  return least > 0 ? least : most;
}

}  // namespace

std::optional<Llama3RopeScaling> llama3_rope_scaling(const std::vector<double>& divisors_E, const Sizes& sizes) {
  const std::vector<double> inv_freq_E = rotary_turns(sizes.width_of_head(), sizes.rotary_base);
  if (divisors_E.empty() || divisors_E.size() != inv_freq_E.size()) return std::nullopt;
  const double factor = divisors_E.back();  // the slowest turn's
  if (!(factor >= 1)) return std::nullopt;
  const double context = factor > 1 ? first_context(divisors_E, inv_freq_E, factor) : 1;
  if (!(context >= 1 && context <= kLongestFirstContext)) return std::nullopt;
  const Llama3RopeScaling scaling{factor, static_cast<std::int64_t>(context)};
  const std::vector<double> slowed_E = llama3_inv_freq(inv_freq_E, scaling.factor, scaling.first_context);
  for (std::size_t e = 0; e < inv_freq_E.size(); ++e)
    if (!(std::abs(slowed_E[e] * divisors_E[e] / inv_freq_E[e] - 1) <= kClose)) return std::nullopt;
  return scaling;
}

}  // namespace sink
