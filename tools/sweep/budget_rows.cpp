#include "tools/sweep/budget_rows.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "tools/report/run_settings.h"
#include "tools/study/study.h"
#include "tools/sweep/study_results.h"

namespace sink {
namespace {

using Runs = std::vector<const report::Run*>;

// The first title of which a beginning fits the ablation's name.
const std::vector<std::pair<const char*, std::vector<const char*>>> kMechanisms{
    {"Softmax", {"baseline"}},
    {"Outlets of successors: a one in the sum, a learned score, a gate",
     {"op_softmax1", "op_sink_logit", "gate_", "op_softpick", "op_clipped"}},
    {"A learned key, value or token", {"bias_"}},
    {"Operations without softmax", {"op_", "kern_"}},
    {"Softmax with another row sum", {"scale_"}},
    {"p-norms of the row", {"pnorm_"}},
    {"Positions", {"pos_"}},
    {"Norms, feed-forward blocks, heads", {"norm_", "qk_norm", "ffn_", "head_"}},
    {"Others", {""}},
};

std::size_t mechanism_of(const std::string& ablation) {
  for (std::size_t m = 0;; ++m)
    for (const char* begin : kMechanisms[m].second)
      if (ablation.starts_with(begin)) return m;
}

// The share of rows that see the first token, by which alpha_1 becomes a mean over all rows; NaN where blocks differ.
double share_of_rows(const report::Run& run) {
  const auto rows = static_cast<double>(run.evaluation->first_key_rows), T = static_cast<double>(run.context);
  if (rows == 0 || rows >= T) return 1;
  return report::whole_setting(run, "global-every") > 0 ? report::kNaN : rows / T;
}

double weight_on_first(const report::Run& run) { return run.evaluation->get("alpha_1_raw") * share_of_rows(run); }

// Raw mean weight of the extra key, over the rows of tokens; 0 without one.
double weight_on_extra(const report::Run& run) {
  const report::Evaluation& e = *run.evaluation;
  if (e.extra == "token" && share_of_rows(run) != 1) return report::kNaN;
  if (e.extra == "key") return e.get("extra_key_mass");
  if (e.extra != "token") return 0;
  const auto T = static_cast<double>(run.context);  // alpha_* also counts the token's own row, which has weight 1
  return (e.get("alpha_star_raw") * (T + 1) - 1) / T;
}

SeedValues values_of(const Runs& runs, const std::function<double(const report::Run&)>& value) {
  SeedValues values;
  for (const report::Run* run : runs)
    if (const double one = value(*run); std::isfinite(one)) values.seeds.push_back(one);
  values.mean = estimate_of(values.seeds);
  return values;
}

SeedValues difference_of(const Runs& runs, const Runs& baseline, const char* measure) {
  const auto known = [&](const Runs& all) {
    BySeed values;
    for (const report::Run* run : all)
      if (const double value = run->evaluation->get(measure); std::isfinite(value)) values[run->seed] = value;
    return values;
  };
  const BySeed ours = known(runs), theirs = known(baseline);
  SeedValues values{.seeds = {}, .mean = paired_difference(ours, theirs)};
  for (const auto& [seed, value] : ours)
    if (const auto other = theirs.find(seed); other != theirs.end()) values.seeds.push_back(value - other->second);
  return values;
}

BudgetRow row_of(const Runs& runs, const Runs& baseline) {
  const report::Run& any = *runs.front();
  const auto measure = [](const char* name) {
    return [name](const report::Run& run) { return run.evaluation->get(name); };
  };
  BudgetRow row;
  row.group = group_of(any);
  row.label = any.ablation == "baseline" ? "softmax" : short_meaning(any.ablation);
  row.seeds = runs.size();
  const double row_sum = values_of(runs, [](const report::Run& r) { return r.evaluation->row_sum(); }).mean.mean;
  row.on_first = values_of(runs, weight_on_first).mean.mean;
  row.on_extra = values_of(runs, weight_on_extra).mean.mean;
  row.on_others = row_sum - row.on_first - row.on_extra;
  row.missing = 1 - row_sum;
  if (const auto even = report::even_attention_of(any)) row.even_first = even->alpha_1 * share_of_rows(any) * row_sum;
  row.first_and_extra =
      values_of(runs, [](const report::Run& run) { return weight_on_first(run) + weight_on_extra(run); });
  row.sink_1 = values_of(runs, [](const report::Run& run) { return run.evaluation->sink_at(0.3, false); });
  row.sink_star = values_of(runs, [](const report::Run& run) { return run.evaluation->sink_star_at(0.3, false); });
  row.value_ratio = values_of(runs, measure("first_value_norm_ratio"));
  row.massive_ratio = values_of(runs, measure("massive_ratio"));
  if (runs != baseline) row.loss_difference = difference_of(runs, baseline, "val_loss");
  const PaperRow paper = paper_row_of(any.ablation);
  if (const auto match = matching_row(paper, report::input_kind_of(any)); match && !paper.id.empty())
    row.paper_sink_1 = paper_value(match->sink_1);
  return row;
}

}  // namespace

std::vector<Mechanism> budget_rows(const Preregistration& registered, const RunsOfStudies& runs,
                                   const std::string& study) {
  const auto found = runs.find(study);
  if (found == runs.end()) return {};
  std::vector<std::string> order;
  std::map<std::string, Runs> groups;
  for (const report::Run& run : found->second) {
    if (!is_complete(run) || std::ranges::find(registered.seeds, run.seed) == registered.seeds.end()) continue;
    Runs& group = groups[group_of(run)];
    if (group.empty()) order.push_back(group_of(run));
    group.push_back(&run);
  }
  const std::vector<JudgedClaim> judged = judge(registered, runs);
  std::vector<Mechanism> mechanisms(kMechanisms.size());
  for (const std::string& name : order) {
    BudgetRow row = row_of(groups[name], groups["baseline"]);
    const auto claim = std::ranges::find_if(
        judged, [&](const JudgedClaim& each) { return each.claim.study == study && each.claim.run == name; });
    if (claim != judged.end()) row.verdict = claim->verdict;
    Mechanism& mechanism = mechanisms[mechanism_of(groups[name].front()->ablation)];
    mechanism.rows.push_back(row);
  }
  for (std::size_t m = 0; m < mechanisms.size(); ++m) mechanisms[m].title = kMechanisms[m].first;
  std::erase_if(mechanisms, [](const Mechanism& each) { return each.rows.empty(); });
  return mechanisms;
}

}  // namespace sink
