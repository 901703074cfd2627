// An Evaluation in which no two values are equal, for tests of what is written under which name.
#pragma once

#include <cmath>

#include "eval/sink/evaluation.h"

namespace sink::test {

// Of 2 layers, 2 heads, 2 keys and 3 thresholds: offset + 10 ... offset + 58.
inline SinkScores distinct_scores(double offset) {
  const auto table = [&](double first) {
    return ValueTable{{offset + first, offset + first + 1}, {offset + first + 2, offset + first + 3}};
  };
  SinkScores scores;
  scores.alpha_1 = offset + 10;
  scores.alpha_k = {offset + 11, offset + 12};
  scores.sink_1 = {offset + 13, offset + 14, offset + 15};
  scores.sink_k = {offset + 16, offset + 17};
  scores.sink_k_epsilon = {{offset + 21, offset + 22}, {offset + 23, offset + 24}, {offset + 25, offset + 26}};
  scores.alpha_1_layer_head = table(31);
  scores.alpha_layer_head_k = {table(41), table(45)};
  scores.alpha_star = offset + 51;
  scores.sink_star = {offset + 52, offset + 53, offset + 54};
  scores.alpha_star_layer_head = table(55);
  return scores;
}

// Of a model with an extra key, post-norm, on sequences of 3 tokens. Values are no measurements: alphas exceed 1.
inline Evaluation distinct_evaluation() {
  Evaluation e;
  e.sequences = 5;
  e.context = 3;
  e.targets = 14;
  e.loss = 1.001;
  e.loss_by_position = {1.011, 1.012, std::nan("")};
  e.extra = Evaluation::Extra::key;
  e.proxy = distinct_scores(0);
  e.raw = distinct_scores(100);
  e.first_key_rows = {3, 2};
  e.alpha_1_max = 1.02;
  e.alpha_fixed = 1.031;
  e.alpha_fixed_over_even = 1.032;
  e.row_sum = 1.041;
  e.extra_key_weight = 1.042;
  e.entropy = 1.043;
  e.row_sum_layer_head = {{2.011, 2.012}, {2.013, 2.014}};
  e.extra_key_weight_layer_head = {{2.021, 2.022}, {2.023, 2.024}};
  e.entropy_layer_head = {{2.031, 2.032}, {2.033, 2.034}};
  e.first_value_norm_ratio = 1.051;
  e.value_share = 1.052;
  e.value_share_layer_head = {{2.041, 2.042}, {2.043, 2.044}};
  e.hidden_norm = {{3.01, 3.02, 3.03}, {3.04, 3.05, 3.06}, {3.07, 3.08, 3.09}};
  e.hidden_before_norm_norm = {{3.11, 3.12, 3.13}, {3.14, 3.15, 3.16}};
  e.key_norm = {{3.21, 3.22, 3.23}, {3.24, 3.25, 3.26}};
  e.value_norm = {{3.31, 3.32, 3.33}, {3.34, 3.35, 3.36}};
  e.hidden_kurtosis = {{3.41, 3.42, 3.43}, {3.44, 3.45, 3.46}, {3.47, 3.48, 3.49}};
  e.hidden_largest = {{3.51, 3.52, 3.53}, {3.54, 3.55, 3.56}, {3.57, 3.58, 3.59}};
  e.largest_massive_ratio = 4.04;
  e.massive_ratio = {4.01, 4.03, 4.02};
  e.massive_ratio_before_norm = {4.11, 4.12};
  e.first_key_dot = {{5.01, 5.02}, {5.03, 5.04}};
  e.first_key_norm_product = {{5.11, 5.12}, {5.13, 5.14}};
  e.first_key_cosine = {{5.21, 5.22}, {5.23, 5.24}};
  e.other_keys_dot = {{5.31, 5.32}, {5.33, 5.34}};
  e.other_keys_norm_product = {{5.41, 5.42}, {5.43, 5.44}};
  e.other_keys_cosine = {{5.51, 5.52}, {5.53, 5.54}};
  e.by_length = {.epsilons = {0.25, 0.35, 0.45},
                 .lengths = {2, 3},
                 .proxy = {distinct_scores(200), distinct_scores(300)},
                 .raw = {distinct_scores(400), distinct_scores(500)}};
  return e;
}

}  // namespace sink::test
