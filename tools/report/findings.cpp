// Grouping, seed means and the sentence a reader takes home.
#include "tools/report/findings.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <xtensor/xadapt.hpp>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmath.hpp>

#include "tools/report/html_text.h"

namespace sink::report {
namespace {

double mean_of(const std::vector<const Run*>& runs, const std::function<double(const Evaluation&)>& value) {
  std::vector<double> values;
  for (const Run* run : runs) values.push_back(value(*run->evaluation));
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return xt::mean(xt::adapt(values))();
}

std::string arm_sentence(const Arm& arm, bool first) {
  std::string text = "<b>" + escape(arm.label) + "</b>";
  const double proxy = arm.mean("alpha_1"), raw = arm.mean("alpha_1_raw"), mass = arm.mean("row_mass");
  if (arm.rows_sum_to_one())
    text += (first ? " gives the first token " : ": ") + ("<b>" + percent(proxy) + "</b>") +
            (first ? " of its attention" : "");
  else
    text += (first ? " gives the first token a weight of <b>" : ": a weight of <b>") + plain(raw) +
            "</b> as it acts (" + percent(proxy) + " of the " + (mass < 0.5 ? "little" : "weight") +
            " it spends: a query\u2019s weights sum to " + plain(mass) + ")";
  const std::size_t n = arm.finished().size();
  if (n > 1) text += ", mean of " + std::to_string(n) + " seeds";
  return text;
}

}  // namespace

std::vector<const Run*> Arm::finished() const {
  std::vector<const Run*> out;
  for (const Run* run : runs)
    if (run->finished) out.push_back(run);
  return out;
}

double Arm::mean(const std::string& name) const {
  return mean_of(finished(), [&](const Evaluation& e) { return e.get(name); });
}

double Arm::mean_sink(double epsilon, bool raw) const {
  return mean_of(finished(), [&](const Evaluation& e) { return e.sink_at(epsilon, raw); });
}

bool Arm::rows_sum_to_one() const {
  return std::all_of(runs.begin(), runs.end(), [](const Run* run) { return run->rows_sum_to_one(); });
}

bool Group::has_proxy() const {
  return std::any_of(arms.begin(), arms.end(), [](const Arm& arm) { return !arm.rows_sum_to_one(); });
}

std::int64_t Group::context() const {
  for (const Run* run : runs)
    if (run->context > 0) return run->context;
  return 0;
}

std::vector<double> Group::epsilons() const {
  std::set<double> all;
  for (const Run* run : runs)
    if (run->evaluation) all.insert(run->evaluation->sink_epsilon.begin(), run->evaluation->sink_epsilon.end());
  return {all.begin(), all.end()};
}

std::vector<Group> group_by_task(const std::vector<Run>& runs) {
  std::vector<Group> groups;
  for (const Run& run : runs) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.task == run.task; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{run.task, {}, {}});
    group->runs.push_back(&run);
    // Before its evaluation a run's ablation is not known: it stands for itself.
    const std::string ablation = run.ablation.empty() ? run.name : run.ablation;
    auto& arms = group->arms;
    auto arm = std::find_if(arms.begin(), arms.end(), [&](const Arm& a) { return a.ablation == ablation; });
    if (arm == arms.end()) arm = arms.insert(arms.end(), Arm{run.attention, ablation, {}});
    arm->runs.push_back(&run);
  }
  for (Group& group : groups) {
    const std::vector<Arm> before = group.arms;
    for (Arm& arm : group.arms)
      if (std::count_if(before.begin(), before.end(), [&](const Arm& a) { return a.label == arm.label; }) > 1)
        arm.label += " (" + arm.ablation + ")";
  }
  return groups;
}

double even_alpha(std::int64_t T, std::int64_t k) {
  const auto i = xt::arange<double>(static_cast<double>(k), static_cast<double>(T + 1));
  return xt::sum(1.0 / i)() / static_cast<double>(T - k + 1);
}

std::string finding(const Group& group) {
  std::string text;
  for (const Arm& arm : group.arms) {
    if (!std::isfinite(arm.mean("alpha_1"))) continue;
    text += (text.empty() ? "" : "; ") + arm_sentence(arm, text.empty());
  }
  if (text.empty()) return "No run has been evaluated yet; the curves show what there is.";
  if (group.context() > 0) text += ". Attention spread evenly would give it " + percent(even_alpha(group.context(), 1));
  return text + ".";
}

}  // namespace sink::report
