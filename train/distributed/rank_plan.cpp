#include "train/distributed/rank_plan.h"

#include <algorithm>
#include <numeric>

namespace sink {
namespace {

constexpr double kBf16 = 2;

double of_others(const RankPlan& plan) { return static_cast<double>(plan.ranks - 1) / static_cast<double>(plan.ranks); }

}  // namespace

std::int64_t RankPlan::elements() const { return std::accumulate(buckets.begin(), buckets.end(), std::int64_t{0}); }

RankMemory memory_of(const RankPlan& plan) {
  const auto P = static_cast<double>(plan.elements()), N = static_cast<double>(plan.ranks);
  RankMemory memory;
  memory.weights = plan.bytes * P;
  memory.gradients = plan.bytes * P;
  memory.moments = plan.bytes * static_cast<double>(plan.moments) * (plan.zero == 1 ? P / N : P);
  if (plan.bf16) memory.copies = kBf16 * P;
  if (plan.ordered && plan.rounds() > 1) memory.sums = plan.bytes * P / N;
  return memory;
}

double bytes_sent_of(const RankPlan& plan) {
  const auto P = static_cast<double>(plan.elements()), rounds = static_cast<double>(plan.rounds());
  return of_others(plan) * plan.bytes * P * ((plan.ordered ? rounds : 1) + 1);
}

RankTime time_of(const RankPlan& plan, double tokens_per_step, double rate, double link) {
  RankTime time;
  time.computing = tokens_per_step / static_cast<double>(plan.ranks) / rate;
  if (plan.ranks == 1 || link <= 0) return time;
  const double first = of_others(plan) * plan.bytes * static_cast<double>(plan.buckets.front());
  const double whole = of_others(plan) * plan.bytes * static_cast<double>(plan.elements());
  const bool sums = plan.ordered && plan.rounds() > 1;
  const double open =
      (sums ? static_cast<double>(plan.rounds()) : 1) * first + (plan.zero == 1 || sums ? whole : first);
  const double hidden = std::max(0.0, bytes_sent_of(plan) - open) / link;
  const double backward = time.computing * 2 / 3 / (plan.ordered ? 1.0 : static_cast<double>(plan.rounds()));
  time.waiting = open / link + std::max(0.0, hidden - backward);
  return time;
}

}  // namespace sink
