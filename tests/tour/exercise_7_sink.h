// Exercise 7 of the tour: the sink of an attention pattern.
#pragma once

#include <vector>

namespace sink::tour {

// Row i, counted from 0, has the weights of query i on the keys 0 ... i: i + 1 weights.
using Pattern = std::vector<std::vector<double>>;

// alpha_k of an attention pattern, k counted from 1 as in the paper: the mean weight of key k over the queries that see
// it. With `proxy` each weight is first divided by the sum of its row's absolute values, and taken without its sign.
inline double alpha_of([[maybe_unused]] const Pattern& pattern, [[maybe_unused]] int k, [[maybe_unused]] bool proxy) {
  return -1;  // yours
}

// Sink_k of the heads that have these attention patterns: the percentage whose alpha_k is above 0.3.
inline double sink_of([[maybe_unused]] const std::vector<Pattern>& heads, [[maybe_unused]] int k,
                      [[maybe_unused]] bool proxy) {
  return -1;  // yours
}

}  // namespace sink::tour
