#include "train/rank_plan.h"

#include <algorithm>
#include <numeric>

namespace sink {
namespace {

constexpr double kF32 = 4, kBf16 = 2;

double of_others(const RankPlan& plan) { return static_cast<double>(plan.ranks - 1) / static_cast<double>(plan.ranks); }

// Numbers in the blocks, and in those two of them that are there from one pass to the next
// (autograd/parameter_parts.h).
double numbers_in_blocks(const RankPlan& plan) {
  return static_cast<double>(plan.numbers() - plan.sections.front() - plan.sections.back());
}

double numbers_in_turns(const RankPlan& plan) {
  if (plan.sections.size() < 3) return 0;
  const auto blocks = static_cast<std::int64_t>(plan.sections.size()) - 2;
  return static_cast<double>(plan.sections[1] * std::min<std::int64_t>(2, blocks));
}

}  // namespace

std::int64_t RankPlan::numbers() const { return std::accumulate(sections.begin(), sections.end(), std::int64_t{0}); }

RankMemory memory_of(const RankPlan& plan) {
  const auto P = static_cast<double>(plan.numbers()), N = static_cast<double>(plan.ranks);
  const double kept = plan.zero == 3 ? P / N : P, moments = plan.zero >= 1 ? P / N : P;
  RankMemory memory;
  memory.weights = kF32 * kept;
  memory.gradients = kF32 * kept;
  memory.moments = kF32 * static_cast<double>(plan.moments) * moments;
  if (plan.zero == 3) {
    const double whole = static_cast<double>(plan.sections.front() + plan.sections.back()) + numbers_in_turns(plan);
    memory.buffers = (2 * kF32 + (plan.bf16 ? kBf16 : 0)) * whole;
  } else {
    if (plan.bf16) memory.copies = kBf16 * P;
    if (plan.ordered && plan.rounds() > 1) memory.sums = kF32 * P / N;
  }
  return memory;
}

double bytes_sent_of(const RankPlan& plan) {
  const auto P = static_cast<double>(plan.numbers()), rounds = static_cast<double>(plan.rounds());
  if (plan.zero < 3) return of_others(plan) * kF32 * P * ((plan.ordered ? rounds : 1) + 1);
  // Sums of every round; weights once, and in every pass those blocks that are not there.
  const double again = numbers_in_blocks(plan) - numbers_in_turns(plan);
  return of_others(plan) * kF32 * (rounds * P + P + (2 * rounds - 1) * again);
}

RankTime time_of(const RankPlan& plan, double tokens_per_step, double rate, double link) {
  RankTime time;
  time.computing = tokens_per_step / static_cast<double>(plan.ranks) / rate;
  if (plan.ranks == 1 || link <= 0) return time;
  const double first = of_others(plan) * kF32 * static_cast<double>(plan.sections.front());
  const double weights = plan.zero == 1 ? of_others(plan) * kF32 * static_cast<double>(plan.numbers()) : 0;
  const double open = (plan.zero == 0 ? 2 : 1) * first + weights;
  const double hidden = std::max(0.0, bytes_sent_of(plan) - open) / link;
  const double backward = time.computing * (plan.zero == 3 ? 1
                                            : plan.ordered ? 2.0 / 3
                                                           : 2.0 / 3 / static_cast<double>(plan.rounds()));
  time.waiting = open / link + std::max(0.0, hidden - backward);
  return time;
}

}  // namespace sink
