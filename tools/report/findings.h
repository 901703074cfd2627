// What the runs say, in numbers and in a plain sentence: groups by task, means over seeds, what even attention would
// be.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/report/run_reader.h"

namespace sink::report {

// Runs that may differ in their seed and in nothing else (run_settings.h); the others are arms of their own.
struct Arm {
  // The attention operation, the ablation where several share it, and the settings in which the group's arms differ:
  // "softmax, learning rate 0.01", "softmax (bias_k)".
  std::string label;
  std::string ablation;
  std::vector<const Run*> runs;

  // One run of each seed that has finished, the first given: the same seed twice is no second seed.
  std::vector<const Run*> finished() const;
  // Means of a number of the evaluation over finished(); NaN without any.
  double mean(const std::string& name) const;
  double mean_sink(double epsilon, bool raw) const;
  double mean_sink_star(double epsilon, bool raw) const;
  double mean_total_mass() const;  // of a row, the extra key's part included
  bool rows_sum_to_one() const;
};

struct Group {
  std::string task;
  std::vector<const Run*> runs;  // in the order given
  std::vector<Arm> arms;         // in order of first appearance

  bool has_proxy() const;                // some run's rows do not sum to one
  bool has_star() const;                 // some run has an extra key or a sink token
  bool has_other_input() const;          // something else than its own text was measured
  std::int64_t context() const;          // the first known one; 0 if none
  std::vector<double> epsilons() const;  // every sink_epsilon in use, ascending
  // alpha_k of attention that is spread evenly; NaN where the runs do not agree (contexts, windows, prefixes, extra
  // keys) or it is not known.
  double even(std::int64_t k) const;
  // The label of the run's arm, and its seed where the arm has several: "softmax, learning rate 0.01, seed 1".
  std::string label(const Run& run) const;
};

// In order of first appearance. The groups point into `runs`.
std::vector<Group> group_by_task(const std::vector<Run>& runs);

// alpha_k of a model whose every query spreads its attention evenly over the keys it sees, as eval/sink/sink_score.h
// defines it: 1/(T-k+1) sum over the queries i that see k of 1/(keys that i sees), k from 1. Without window, prefix and
// extra key that is 1/(T-k+1) sum_{i=k..T} 1/i; alpha_1 is H_T / T: 7.4 % at T = 64.
struct Sight {
  std::int64_t window = 0, prefix = 0;  // as the settings of those names; 0: none
  std::string extra = "none";           // none | key | token
};
double even_alpha(std::int64_t T, std::int64_t k, const Sight& sight = {});
// The same for what the run measured; NaN where its context is not known.
double even_alpha(const Run& run, std::int64_t k);

// One sentence of HTML (escaped) on the first token's share in each arm, and the extra key's; proxy and raw are both
// named where they differ, and where a run has not finished.
std::string finding(const Group& group);

}  // namespace sink::report
