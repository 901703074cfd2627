// Groups runs by task and by configuration, averages over seeds, and states the result in one sentence.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/report/run_reader.h"

namespace sink::report {

// Runs that differ in nothing but their seed (run_settings.h).
struct Group {
  // The attention operation or the name of a model trained elsewhere, the ablation where several share it, and the
  // settings in which the groups of the task differ: "softmax, learning rate 0.01", "softmax (bias_k)".
  std::string label;
  std::string ablation;
  std::vector<const Run*> runs;

  // One finished run per seed, the first given.
  std::vector<const Run*> finished() const;
  bool rows_sum_to_one() const;
};

struct TaskRuns {
  std::string name;
  std::vector<const Run*> runs;  // in the order given
  std::vector<Group> groups;     // in order of first appearance

  bool has_proxy() const;                // some run's rows do not sum to one
  bool has_star() const;                 // some run has an extra key or a sink token
  bool has_other_input() const;          // some run was measured on other input than its own text
  std::vector<double> epsilons() const;  // every sink_epsilon in use, ascending
  // uniform_alpha of all runs; NaN where they do not agree or it is unknown.
  double uniform(std::int64_t k) const;
  // The label of the run's group, and its seed where the group has several: "softmax, learning rate 0.01, seed 1".
  std::string label(const Run& run) const;
};

// In order of first appearance. The tasks point into `runs`.
std::vector<TaskRuns> group_by_task(const std::vector<Run>& runs);

// alpha_k of uniform attention (eval/sink/even_attention.h), k from 1. NaN where visible_keys_of(run) has none.
double uniform_alpha(const Run& run, std::int64_t k);

// What the page states of a group: means over its finished seeds or, before any has finished, the last measurement of
// its first run. No runs where none was evaluated.
struct GroupSummary {
  const Group* group;
  std::vector<const Run*> runs;

  explicit GroupSummary(const Group& group);
  double mean(const std::function<double(const Measurement&)>& value) const;
  double row_sum() const;
  // The smaller of proxy and raw alpha_1: a sink has a large share of the row and a large weight.
  double sink_strength() const;
};

// The groups with the strongest and the weakest sink on the first token, in this order; one or none where there are no
// more evaluated groups.
std::vector<GroupSummary> extreme_groups(const TaskRuns& task);

// One sentence of HTML: the weight on the first token in the extreme groups.
std::string headline(const TaskRuns& task);

// What the headline leaves out, as sentences of HTML: uniform attention, row sums, number of seeds.
std::string headline_note(const TaskRuns& task);

}  // namespace sink::report
