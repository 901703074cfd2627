#include "eval/generate/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "engine/check.h"
#include "engine/rng.h"

namespace sink {
namespace {

std::vector<double> checked_logits(const Tensor& logits_V) {
  const Tensor exact = logits_V.to(DType::F64);
  const double* first = exact.data<double>();
  std::vector<double> logits(first, first + exact.size());
  for (double logit : logits)
    SINK_CHECK(!std::isnan(logit), "sampling", "the model gives NaN for the next token", Exit::diverged);
  return logits;
}

std::int32_t largest(const std::vector<double>& x) {
  return static_cast<std::int32_t>(std::max_element(x.begin(), x.end()) - x.begin());
}

}  // namespace

std::int32_t Sampling::choose(const Tensor& logits_V, std::uint64_t n) const {
  const std::vector<double> logits = checked_logits(logits_V);
  if (temperature == 0) return largest(logits);
  const double top = *std::max_element(logits.begin(), logits.end());
  std::vector<double> p(logits.size());
  for (std::size_t v = 0; v < p.size(); ++v) p[v] = std::exp((logits[v] - top) / temperature);
  std::vector<std::int32_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return p[static_cast<std::size_t>(a)] > p[static_cast<std::size_t>(b)];
  });
  const double whole = std::accumulate(p.begin(), p.end(), 0.0);
  double kept = 0;
  std::size_t count = 0;
  while (count < order.size() && (count == 0 || kept < top_p * whole))
    kept += p[static_cast<std::size_t>(order[count++])];
  double left = Rng(seed, "generate").uniform(n) * kept;
  for (std::size_t k = 0; k < count; ++k) {
    left -= p[static_cast<std::size_t>(order[k])];
    if (left < 0) return order[k];
  }
  return order[count - 1];
}

std::vector<double> log_probabilities(const Tensor& logits_V) {
  std::vector<double> logits = checked_logits(logits_V);
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (double logit : logits) sum += std::exp(logit - top);
  const double log_sum = std::log(sum);
  for (double& logit : logits) logit = logit - top - log_sum;
  return logits;
}

double log_probability(const Tensor& logits_V, std::int32_t id) {
  const double logprob = log_probabilities(logits_V).at(static_cast<std::size_t>(id));
  SINK_CHECK(!std::isnan(logprob), "sampling", "the model gives an infinite logit", Exit::diverged);
  return logprob;
}

}  // namespace sink
