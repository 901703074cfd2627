#include "tools/report/findings.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "tools/report/html_text.h"
#include "tools/report/run_settings.h"

namespace sink::report {
namespace {

double alpha_1(const Measurement& e) { return e.proxy.alpha_1; }
double raw_alpha_1(const Measurement& e) { return e.raw.alpha_1; }

template <class Value>
double mean_of(const std::vector<const Run*>& runs, Value value) {
  double sum = 0;
  for (const Run* run : runs) sum += value(*run->evaluation);
  return runs.empty() ? kNaN : sum / static_cast<double>(runs.size());
}

// A run belongs to a group if it matches all of its runs: an unfinished run could otherwise join two groups.
bool belongs(const Run& run, const Group& group) {
  return std::ranges::all_of(group.runs, [&](const Run* other) { return same_but_seed(run, *other); });
}

void set_labels(TaskRuns& task) {
  std::vector<const Run*> firsts;
  for (const Group& group : task.groups) {
    const auto finished = group.finished();  // a finished run has its measurement settings
    firsts.push_back(finished.empty() ? group.runs.front() : finished.front());
  }
  const std::vector<std::string> settings = differences(firsts);
  std::vector<std::string> labels;
  for (const Run* run : firsts) {
    std::string label = run->trained_here() ? run->attention : run->model;
    const bool shared = run->trained_here() && std::ranges::any_of(firsts, [&](const Run* other) {
                          return other->attention == run->attention && other->ablation != run->ablation;
                        });
    if (shared && !run->ablation.empty()) label += " (" + run->ablation + ")";
    if (const std::string& own = settings[labels.size()]; !own.empty()) label += ", " + own;
    labels.push_back(run->input.empty() ? label : run->name);  // "Model, natural" is complete
  }
  for (std::size_t i = 0; i < labels.size(); ++i)
    task.groups[i].label = std::ranges::count(labels, labels[i]) == 1 || labels[i] == firsts[i]->name
                               ? labels[i]
                               : labels[i] + ", " + firsts[i]->name;
}

// "62 % of its attention", or "a raw weight of 0.03" where rows do not sum to one.
std::string weight_text(const GroupSummary& summary, bool first) {
  if (!summary.group->rows_sum_to_one()) return "a raw weight of <b>" + plain(summary.mean(raw_alpha_1)) + "</b>";
  return "<b>" + percent(summary.mean(alpha_1)) + "</b>" + (first ? " of its attention" : "");
}

// " and 28 % on its extra key", or the raw weight where rows do not sum to one.
std::string extra_text(const GroupSummary& summary) {
  const Evaluation::Extra extra = summary.runs.front()->evaluation->extra;
  const bool key = extra == Evaluation::Extra::key;
  if (!key && extra != Evaluation::Extra::token) return "";
  const bool share = summary.group->rows_sum_to_one();
  const double mean_over_queries = key ? summary.mean(&Measurement::extra_key_weight) : kNaN;  // as alpha_1 is
  const double weight = std::isfinite(mean_over_queries)
                            ? mean_over_queries
                            : summary.mean([&](const Measurement& e) { return (share ? e.proxy : e.raw).alpha_star; });
  if (!std::isfinite(weight)) return "";
  return " and " + (share ? "<b>" + percent(weight) + "</b>" : "a raw weight of <b>" + plain(weight) + "</b>") +
         (key ? " on its extra key" : " on its sink token");
}

std::string name_text(const GroupSummary& summary, bool begins_sentence) {
  std::string label = summary.group->label;
  if (begins_sentence && summary.runs.front()->trained_here())
    label[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(label[0])));
  const std::string status = summary.runs.front()->status();
  return "<b>" + escape(label) + "</b>" + (status.empty() ? "" : " (" + escape(status) + ")");
}

}  // namespace

std::vector<const Run*> Group::finished() const {
  std::vector<const Run*> out;
  std::set<std::uint64_t> seeds;
  for (const Run* run : runs)
    if (run->finished && seeds.insert(run->seed).second) out.push_back(run);
  return out;
}

bool Group::rows_sum_to_one() const {
  return std::ranges::all_of(runs, [](const Run* run) { return run->rows_sum_to_one(); });
}

bool TaskRuns::has_proxy() const {
  return std::ranges::any_of(groups, [](const Group& group) { return !group.rows_sum_to_one(); });
}

bool TaskRuns::has_star() const {
  return std::ranges::any_of(runs, [](const Run* run) { return run->evaluation && run->evaluation->proxy.has_star(); });
}

bool TaskRuns::has_other_input() const {
  return std::ranges::any_of(runs, [](const Run* run) { return run->evaluation && run->evaluation->input != "text"; });
}

std::vector<double> TaskRuns::epsilons() const {
  std::set<double> all;
  for (const Run* run : runs)
    if (run->evaluation) all.insert(run->evaluation->sink_epsilon.begin(), run->evaluation->sink_epsilon.end());
  return {all.begin(), all.end()};
}

double TaskRuns::uniform(std::int64_t k) const {
  double common = kNaN;
  for (const Run* run : runs) {
    const double alpha = uniform_alpha(*run, k);
    if (!std::isfinite(alpha) || (std::isfinite(common) && std::abs(alpha - common) > 1e-12)) return kNaN;
    common = alpha;
  }
  return common;
}

std::string TaskRuns::label(const Run& run) const {
  for (const Group& group : groups)
    if (std::ranges::find(group.runs, &run) != group.runs.end())
      return group.label + (group.runs.size() > 1 ? ", seed " + std::to_string(run.seed) : "");
  return run.name;
}

std::vector<TaskRuns> group_by_task(const std::vector<Run>& runs) {
  std::vector<TaskRuns> tasks;
  for (const Run& run : runs) {
    auto task = std::ranges::find(tasks, run.task, &TaskRuns::name);
    if (task == tasks.end()) task = tasks.insert(tasks.end(), TaskRuns{run.task, {}, {}});
    task->runs.push_back(&run);
    auto group = std::ranges::find_if(task->groups, [&](const Group& other) { return belongs(run, other); });
    if (group == task->groups.end()) group = task->groups.insert(group, Group{"", run.ablation, {}});
    group->runs.push_back(&run);
  }
  for (TaskRuns& task : tasks) set_labels(task);
  return tasks;
}

double uniform_alpha(const Run& run, std::int64_t k) {
  const std::optional<VisibleKeys> keys = visible_keys_of(run);
  return keys && k <= keys->T ? even_alpha(*keys, k) : kNaN;
}

GroupSummary::GroupSummary(const Group& of) : group(&of), runs(of.finished()) {
  if (!runs.empty()) return;
  const auto evaluated = std::ranges::find_if(of.runs, [](const Run* run) { return run->evaluation.has_value(); });
  if (evaluated != of.runs.end()) runs = {*evaluated};
}

double GroupSummary::mean(const std::function<double(const Measurement&)>& value) const { return mean_of(runs, value); }

double GroupSummary::row_sum() const { return mean(&Measurement::whole_row_sum); }

double GroupSummary::sink_strength() const { return std::fmin(mean(alpha_1), std::abs(mean(raw_alpha_1))); }

namespace {

std::vector<GroupSummary> measured_groups(const TaskRuns& task) {
  std::vector<GroupSummary> all;
  for (const Group& group : task.groups)
    if (GroupSummary summary(group); std::isfinite(summary.mean(alpha_1))) all.push_back(std::move(summary));
  return all;
}

}  // namespace

std::vector<GroupSummary> extreme_groups(const TaskRuns& task) {
  std::vector<GroupSummary> all = measured_groups(task);
  if (all.size() < 2) return all;
  std::ranges::stable_sort(all, std::greater{}, &GroupSummary::sink_strength);
  return {all.front(), all.back()};
}

std::string headline(const TaskRuns& task) {
  const std::vector<GroupSummary> extremes = extreme_groups(task);
  if (extremes.empty()) return "No run has been evaluated yet.";
  const GroupSummary &strongest = extremes.front(), &weakest = extremes.back();
  const std::size_t measured = measured_groups(task).size();
  const bool many = measured > 2, trained = std::ranges::any_of(task.runs, &Run::trained_here);
  std::string text;
  if (many)
    text = (measured < task.groups.size() ? "Of the " + std::to_string(measured) + " measured"
                                          : "Of " + std::to_string(measured)) +
           (trained ? " configurations, " : " measurements, ");
  text += name_text(strongest, !many) + " puts " + (many ? "the most on the first token, " : "") +
          weight_text(strongest, true) + (many ? "" : " on the first token") + extra_text(strongest);
  if (extremes.size() == 2)
    text += (many ? "; " : ", ") + name_text(weakest, false) + (many ? " the least, " : " ") +
            weight_text(weakest, false) + extra_text(weakest);
  return text + ".";
}

std::string headline_note(const TaskRuns& task) {
  std::string text;
  if (std::isfinite(task.uniform(1))) text += "Uniform attention would put " + percent(task.uniform(1)) + " there. ";
  const std::vector<GroupSummary> extremes = extreme_groups(task);
  if (!extremes.empty() && !task.has_proxy()) text += "Rows sum to one (raw = proxy). ";
  const bool same_seeds = std::ranges::all_of(
      extremes, [&](const GroupSummary& summary) { return summary.runs.size() == extremes.front().runs.size(); });
  for (const GroupSummary& summary : extremes) {
    const std::string name = escape(summary.group->label), seeds = std::to_string(summary.runs.size()) + " seeds";
    if (!summary.group->rows_sum_to_one())
      text += "Rows of " + name + " sum to " + plain(summary.row_sum()) + ", of which " +
              percent(summary.mean(alpha_1)) + " (proxy) is on the first token. ";
    if (!same_seeds && summary.runs.size() > 1) text += "Mean of " + seeds + " of " + name + ". ";
    if (same_seeds && summary.runs.size() > 1 && &summary == &extremes.back()) text += "Means of " + seeds + ". ";
  }
  return text;
}

}  // namespace sink::report
