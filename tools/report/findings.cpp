// Grouping, seed means and the sentence a reader takes home.
#include "tools/report/findings.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <set>

#include "tools/report/html_text.h"
#include "tools/report/run_settings.h"

namespace sink::report {
namespace {

constexpr std::size_t kMostSaid = 8;               // of arms in one sentence
constexpr std::int64_t kLongestContext = 1 << 20;  // beyond any model's; a sum is not worth more

double mean_of(const std::vector<const Run*>& runs, const std::function<double(const Evaluation&)>& value) {
  double sum = 0;
  for (const Run* run : runs) sum += value(*run->evaluation);
  return runs.empty() ? kNaN : sum / static_cast<double>(runs.size());
}

// What is said of an arm: means over its seeds or, before any has finished, the last measurement of its first run.
struct Said {
  std::vector<const Run*> runs;
  std::string mark;

  explicit Said(const Arm& arm) : runs(arm.finished()) {
    if (runs.empty())
      for (const Run* run : arm.runs)
        if (runs.empty() && run->evaluation) runs = {run};
    if (!runs.empty()) mark = runs.front()->mark();
  }
  double mean(const char* name) const {
    return mean_of(runs, [&](const Evaluation& e) { return e.get(name); });
  }
  double total_mass() const {
    return mean_of(runs, [](const Evaluation& e) { return e.total_mass(); });
  }
  const std::string& extra() const { return runs.front()->evaluation->extra; }
};

// " and its extra key <b>28 %</b>" for rows that sum to one, else " and its extra key one of <b>0.3</b>".
std::string extra_share(const Said& said, bool share) {
  if (said.extra() != "key" && said.extra() != "token") return "";
  const double mass = said.mean("extra_key_mass");  // mean over queries, as alpha_1 is
  const double weight =
      said.extra() == "key" && std::isfinite(mass) ? mass : said.mean(share ? "alpha_star" : "alpha_star_raw");
  if (!std::isfinite(weight)) return "";
  return std::string(" and its ") + (said.extra() == "key" ? "extra key " : "sink token ") + (share ? "" : "one of ") +
         "<b>" + (share ? percent(weight) : plain(weight)) + "</b>" + (share ? "" : " (raw)");
}

// What an arm's rows that do not sum to one spend on the first token, as it acts and as a share.
std::string weight_as_it_acts(const Said& said) {
  const double mass = said.total_mass();
  std::string text = "a raw weight of <b>" + plain(said.mean("alpha_1_raw")) + "</b> (proxy: ";
  text += percent(said.mean("alpha_1")) + " of the ";
  text += mass < 0.5 ? "little it spends" : "weight it spends";
  if (std::isfinite(mass)) {
    text += ": a query\u2019s weights";
    if (said.extra() == "key") text += ", the extra key\u2019s included,";
    text += " sum to " + plain(mass);
  }
  return text + ")" + extra_share(said, false);
}

std::string arm_sentence(const Arm& arm, const Said& said, bool first) {
  std::string text = "<b>" + escape(arm.label) + "</b>";
  if (!said.mark.empty()) text.append(", ").append(escape(said.mark)).append(first ? "," : "");
  text += first ? " gives the first token " : ": ";
  if (arm.rows_sum_to_one()) {
    text += "<b>" + percent(said.mean("alpha_1")) + "</b>";
    if (first) text += " of its attention";
    text += extra_share(said, true) + " (raw = proxy)";
  } else {
    text += weight_as_it_acts(said);
  }
  if (said.runs.size() > 1) text += ", mean of " + std::to_string(said.runs.size()) + " seeds";
  return text;
}

// Whether the run belongs to the arm: to all of its runs, or a run that has not finished would join two arms.
bool belongs(const Run& run, const Arm& arm) {
  return std::all_of(arm.runs.begin(), arm.runs.end(), [&](const Run* other) { return same_but_seed(run, *other); });
}

void name_arms(Group& group) {
  std::vector<const Run*> firsts;
  for (const Arm& arm : group.arms) {
    // A finished run knows what was measured.
    const auto finished = arm.finished();
    firsts.push_back(finished.empty() ? arm.runs.front() : finished.front());
  }
  const std::vector<std::string> settings = differences(firsts);
  std::vector<std::string> labels(group.arms.size());
  for (std::size_t i = 0; i < group.arms.size(); ++i) {
    labels[i] = firsts[i]->attention;
    const bool shared = std::any_of(firsts.begin(), firsts.end(), [&](const Run* other) {
      return other->attention == firsts[i]->attention && other->ablation != firsts[i]->ablation;
    });
    if (shared && !firsts[i]->ablation.empty()) labels[i] += " (" + firsts[i]->ablation + ")";
    if (!settings[i].empty()) labels[i] += ", " + settings[i];
    if (!firsts[i]->input.empty()) labels[i] = firsts[i]->name;  // "Model, natural" says it all
  }
  for (std::size_t i = 0; i < group.arms.size(); ++i) {
    group.arms[i].label = labels[i];
    // What the settings do not tell apart, the names do.
    if (std::count(labels.begin(), labels.end(), labels[i]) > 1) group.arms[i].label += ", " + firsts[i]->name;
  }
}

}  // namespace

std::vector<const Run*> Arm::finished() const {
  std::vector<const Run*> out;
  std::set<std::uint64_t> seeds;
  for (const Run* run : runs)
    if (run->finished && seeds.insert(run->seed).second) out.push_back(run);
  return out;
}

double Arm::mean(const std::string& name) const {
  return mean_of(finished(), [&](const Evaluation& e) { return e.get(name); });
}

double Arm::mean_sink(double epsilon, bool raw) const {
  return mean_of(finished(), [&](const Evaluation& e) { return e.sink_at(epsilon, raw); });
}

double Arm::mean_sink_star(double epsilon, bool raw) const {
  return mean_of(finished(), [&](const Evaluation& e) { return e.sink_star_at(epsilon, raw); });
}

double Arm::mean_total_mass() const {
  return mean_of(finished(), [](const Evaluation& e) { return e.total_mass(); });
}

bool Arm::rows_sum_to_one() const {
  return std::all_of(runs.begin(), runs.end(), [](const Run* run) { return run->rows_sum_to_one(); });
}

bool Group::has_proxy() const {
  return std::any_of(arms.begin(), arms.end(), [](const Arm& arm) { return !arm.rows_sum_to_one(); });
}

bool Group::has_star() const {
  return std::any_of(runs.begin(), runs.end(),
                     [](const Run* run) { return run->evaluation && !run->evaluation->sink_star.empty(); });
}

bool Group::has_other_input() const {
  return std::any_of(runs.begin(), runs.end(),
                     [](const Run* run) { return run->evaluation && run->evaluation->input != "text"; });
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

double Group::even(std::int64_t k) const {
  double common = kNaN;
  for (const Run* run : runs) {
    const double even = even_alpha(*run, k);
    if (!std::isfinite(even) || (std::isfinite(common) && std::abs(even - common) > 1e-12)) return kNaN;
    common = even;
  }
  return common;
}

std::string Group::label(const Run& run) const {
  for (const Arm& arm : arms)
    if (std::find(arm.runs.begin(), arm.runs.end(), &run) != arm.runs.end())
      return arm.label + (arm.runs.size() > 1 ? ", seed " + std::to_string(run.seed) : "");
  return run.name;
}

std::vector<Group> group_by_task(const std::vector<Run>& runs) {
  std::vector<Group> groups;
  for (const Run& run : runs) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.task == run.task; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{run.task, {}, {}});
    group->runs.push_back(&run);
    auto& arms = group->arms;
    auto arm = std::find_if(arms.begin(), arms.end(), [&](const Arm& a) { return belongs(run, a); });
    if (arm == arms.end()) arm = arms.insert(arms.end(), Arm{"", run.ablation, {}});
    arm->runs.push_back(&run);
  }
  for (Group& group : groups) name_arms(group);
  return groups;
}

double even_alpha(std::int64_t T, std::int64_t k, const Sight& sight) {
  // Positions inside the model, from 0; a sink token is the first of them, and part of a prefix.
  const std::int64_t token = sight.extra == "token" ? 1 : 0, key = sight.extra == "key" ? 1 : 0, P = T + token;
  const std::int64_t prefix = sight.prefix > 0 ? std::min(T, sight.prefix) + token : 0, column = k - 1 + token;
  double sum = 0;
  for (std::int64_t i = 0; i < P; ++i) {
    const std::int64_t first = sight.window > 0 ? std::max<std::int64_t>(0, i - sight.window + 1) : 0;
    // Keys first ... i, and those of the prefix outside of them.
    const std::int64_t keys = i - first + 1 + std::min(prefix, first) + std::max<std::int64_t>(0, prefix - i - 1);
    if (column < prefix || (column >= first && column <= i)) sum += 1 / static_cast<double>(keys + key);
  }
  return sum / static_cast<double>(T - k + 1);
}

double even_alpha(const Run& run, std::int64_t k) {
  if (run.context < k || run.context > kLongestContext) return kNaN;
  Sight sight{whole_setting(run, "window"), whole_setting(run, "prefix"), "none"};
  if (run.evaluation) sight.extra = run.evaluation->extra;
  if (sight.extra == "unknown") return kNaN;
  return even_alpha(run.context, k, sight);
}

std::string finding(const Group& group) {
  std::string text;
  std::size_t count = 0;
  for (const Arm& arm : group.arms) {
    const Said said(arm);
    if (said.runs.empty() || !std::isfinite(said.mean("alpha_1")) || count++ >= kMostSaid) continue;
    text += (text.empty() ? "" : "; ") + arm_sentence(arm, said, text.empty());
  }
  if (count > kMostSaid) text += "; the other " + std::to_string(count - kMostSaid) + " stand in the table below";
  if (text.empty()) return "No run has been evaluated yet; the curves show what there is.";
  if (std::isfinite(group.even(1)))
    text += ". Attention spread evenly would give the first token " + percent(group.even(1));
  return text + ".";
}

}  // namespace sink::report
