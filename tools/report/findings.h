// What the runs say, in numbers and in a plain sentence: groups by task, means over seeds, what even attention would
// be.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/report/run_reader.h"

namespace sink::report {

// Runs of one ablation in one task, told apart by their seeds only.
struct Arm {
  std::string label;  // "softmax", or "softmax (learned)" when a task has two ablations with softmax
  std::string ablation;
  std::vector<const Run*> runs;

  std::vector<const Run*> finished() const;
  // Means of a number of the evaluation over the finished runs; NaN without any.
  double mean(const std::string& name) const;
  double mean_sink(double epsilon, bool raw) const;
  bool rows_sum_to_one() const;
};

struct Group {
  std::string task;
  std::vector<const Run*> runs;  // in the order given
  std::vector<Arm> arms;         // in order of first appearance

  bool has_proxy() const;                // some run's rows do not sum to one
  std::int64_t context() const;          // the first known one; 0 if none
  std::vector<double> epsilons() const;  // every sink_epsilon in use, ascending
};

// In order of first appearance. The groups point into `runs`.
std::vector<Group> group_by_task(const std::vector<Run>& runs);

// alpha_k of a model whose every query spreads its attention evenly over itself and all before it:
// 1/(T-k+1) sum_{i=k..T} 1/i, for k from 1. alpha_1 is H_T / T: 7.4 % at T = 64.
double even_alpha(std::int64_t T, std::int64_t k);

// One sentence of HTML (escaped) on the first token's share in each arm; proxy and raw are both named where they
// differ.
std::string finding(const Group& group);

}  // namespace sink::report
