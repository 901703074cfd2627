#include "tools/sweep/study_results.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "engine/io/parse_number.h"
#include "engine/io/printable.h"
#include "tools/report/run_settings.h"
#include "tools/report/verdict.h"

namespace sink {
namespace {

constexpr double kEpsilon = 0.3;  // the paper's threshold

double value_of(const report::Measurement& e, const std::string& key) {
  if (key == "sink_1" || key == "sink_1_raw") return e.sink_at(kEpsilon, key != "sink_1");
  if (key == "sink_star" || key == "sink_star_raw") return e.sink_star_at(kEpsilon, key != "sink_star");
  for (std::size_t k : {2, 3})
    if (key == "sink_" + std::to_string(k)) return e.proxy.sink_k.size() >= k ? e.proxy.sink_k[k - 1] : report::kNaN;
  return key == "row_sum" ? e.whole_row_sum() : e.get(key);
}

// Measures that end in "_before" are those of the checkpoint from which the run started.
double value_of(const StudyOutcome& outcome, const std::string& key) {
  const std::string_view suffix = "_before";
  if (key == "alpha_1_over_even") return report::alpha_over_even(*outcome.run).alpha_1;
  if (key == "alpha_star_over_even") return report::alpha_over_even(*outcome.run).alpha_star;
  if (!key.ends_with(suffix)) return value_of(*outcome.run->evaluation, key);
  return outcome.before ? value_of(*outcome.before, key.substr(0, key.size() - suffix.size())) : report::kNaN;
}

// "3 steps not finite, the first 120": of the loss or the gradient.
std::string skipped_steps(const report::Run& run) {
  if (run.skipped_steps == 0) return "";
  return std::to_string(run.skipped_steps) + (run.skipped_steps == 1 ? " step" : " steps") + " not finite, the first " +
         std::to_string(run.first_skipped);
}

double hours_of(const report::Run& run) {
  const auto threads = run.settings.find("threads");
  const double cores = threads == run.settings.end() ? 1 : std::max(1.0, std::atof(threads->second.c_str()));
  return run.seconds * cores * static_cast<double>(std::max<std::int64_t>(1, run.ranks)) / 3600;
}

BySeed values_of(const GroupResult& group, const std::string& measure) {
  const auto found = group.values.find(measure);
  return found == group.values.end() ? BySeed() : found->second;
}

void add(const StudyOutcome& outcome, GroupResult& group) {
  const std::string seed = "seed " + std::to_string(outcome.seed) + ": ";
  if (!outcome.problem.empty()) group.remarks.push_back(seed + outcome.problem);
  if (!outcome.run) return;
  if (std::string skipped = skipped_steps(*outcome.run); !skipped.empty()) group.remarks.push_back(seed + skipped);
  if (!outcome.problem.empty()) return;
  for (const StudyMeasure& measure : measures()) {
    const double value = value_of(outcome, measure.key);
    if (std::isfinite(value)) group.values[measure.key][outcome.seed] = value;
  }
  if (!values_of(group, "val_loss").contains(outcome.seed))
    group.remarks.push_back(seed + "the loss is not finite or not measured, and not in the mean");
}

// A nonzero difference that is the same for every seed, so that its interval has no width.
bool is_same_of_every_seed(const Estimate& difference) {
  return difference.has_interval() && difference.half == 0 && difference.mean != 0;
}

bool has_pairs(const OrderAgreement& agreement) {
  return agreement.agree + agreement.disagree + agreement.undecided + agreement.not_tested > 0;
}

// Compares the order of the groups with the paper's rows of the same input or, if these make no pair, with its rows of
// the same experiment on another input, which the sentence then names.
std::string order_sentence(const StudyResults& results, const std::string& title, const char* measure,
                           std::string PaperRow::*paper) {
  std::vector<OrderedGroup> same, other;
  std::string papers, ours;  // the inputs of `other`
  const auto add = [](std::string& all, const std::string& one) {
    if (all.empty()) all = one;
    if (all != one) all = "several inputs";
  };
  for (const GroupResult& group : results.groups) {
    const std::optional<PaperRow> row = group.group.paper();
    if (auto value = row ? paper_value((*row).*paper) : std::nullopt)
      same.push_back({*value, values_of(group, measure)});
    const auto value = paper_value(group.group.row.*paper);
    if (!value) continue;
    other.push_back({*value, values_of(group, measure)});
    add(papers, describe(input_kind_of(group.group.row)));
    add(ours, describe(group.group.input_kind()));
  }
  const OrderAgreement agreement = order_agreement(same, kMinSeeds);
  if (has_pairs(agreement)) return sentence(title, agreement);
  const OrderAgreement crossed = order_agreement(other, kMinSeeds);
  return sentence(has_pairs(crossed) ? title + " (paper: " + papers + "; ours: " + ours + ")" : title, crossed);
}

// "Kendall's tau, over 22 runs, between a score and the increase of the loss ...: Sink_1 +0.05, ...".
std::string score_agreement(const StudyResults& results) {
  std::vector<const GroupResult*> groups;
  for (const GroupResult& group : results.groups)
    if (group.values.contains("change_removed_1")) groups.push_back(&group);
  const std::size_t n = groups.size();
  if (n < 3) return "";
  std::string text;
  for (const auto& [measure, title] :
       {std::pair("sink_1", "Sink_1 proxy"), std::pair("sink_1_raw", "Sink_1 raw"),
        std::pair("alpha_1", "alpha_1 proxy"), std::pair("alpha_1_raw", "alpha_1 raw"),
        std::pair("value_share", "value share"), std::pair("massive_ratio", "|h_1| / |h_t|")}) {
    std::vector<double> score, change;
    for (const GroupResult* group : groups) {
      if (!group->values.contains(measure)) continue;
      score.push_back(group->estimate(measure).mean);
      change.push_back(group->estimate("change_removed_1").mean);
    }
    const double tau = kendall_tau(score, change);
    char number[48] = "not known";
    if (std::isfinite(tau)) std::snprintf(number, sizeof number, "%+.2f", tau);
    text += (text.empty() ? "" : ", ") + std::string(title) + " " + number;
    if (score.size() != n) text += " (" + std::to_string(score.size()) + " runs)";
  }
  const double count = static_cast<double>(n);
  char chance[48];
  std::snprintf(chance, sizeof chance, "%.2f", std::sqrt(2 * (2 * count + 5) / (9 * count * (count - 1))));
  return "Kendall's tau, over " + std::to_string(n) +
         " runs, between a score and the increase of the loss without the first token's contribution: " + text +
         ". Unrelated scores would give 0 +- " + chance + " (one standard deviation).";
}

}  // namespace

const std::vector<StudyMeasure>& measures() {
  static const std::vector<StudyMeasure> all{
      {"sink_1", "Sink_1 % proxy", 1},
      {"sink_2", "Sink_2 % proxy", 1},
      {"sink_3", "Sink_3 % proxy", 1},
      {"sink_1_raw", "Sink_1 % raw", 1},
      {"sink_star", "Sink_* % proxy", 1},
      {"alpha_1", "alpha_1 proxy", 3},
      {"alpha_1_over_even", "alpha_1 / even proxy", 2},
      {"alpha_1_raw", "alpha_1 raw", 3},
      {"alpha_others_raw", "alpha_2..10 raw", 3},
      {"alpha_fixed", "alpha of the fixed token proxy", 3},
      {"alpha_fixed_over_even", "fixed token: alpha / even proxy", 2},
      {"alpha_star", "alpha_* proxy", 3},
      {"alpha_star_over_even", "alpha_* / even proxy", 2},
      {"val_loss", "loss", 3},
      {"row_sum", "row sum", 2},
      {"first_value_norm_ratio", "|v_1| / |v_t|", 2},
      {"sink_1_before", "before: Sink_1 % proxy", 1},
      {"sink_1_raw_before", "before: Sink_1 % raw", 1},
      {"alpha_1_before", "before: alpha_1 proxy", 3},
      {"val_loss_before", "before: loss", 3},
      {"value_share", "value share", 3},
      {"massive_ratio", "|h_1| / |h_t|", 1},
      {"change_removed_1", "loss without a_1 v_1", 3},
      {"change_redistributed_1", "others make up for it", 3},
      {"change_constant_1", "a_1 v_1 constant", 3},
      {"change_removed_5", "without a_5 v_5", 3},
      {"change_w8a8", "W8A8", 3},
      {"change_w4a4", "W4A4", 3},
  };
  return all;
}

Estimate GroupResult::estimate(const std::string& measure) const { return estimate_of(values_of(*this, measure)); }

Estimate StudyResults::difference(const GroupResult& group, const std::string& measure) const {
  if (!baseline || &group == &groups[*baseline]) return estimate_of(std::vector<double>());
  return paired_difference(values_of(group, measure), values_of(groups[*baseline], measure));
}

StudyResults results_of(const StudyFile& study, const std::string& size, const std::vector<StudyGroup>& groups,
                        const std::vector<StudyOutcome>& outcomes) {
  StudyResults results;
  results.study = study;
  results.size = size;
  results.runs = outcomes.size();
  for (const StudyGroup& group : groups) {
    if (group.name == study.baseline) results.baseline = results.groups.size();
    results.groups.push_back({group, {}, {}});
  }
  std::set<std::string> commits, machines;
  std::set<std::uint64_t> seeds;
  std::map<std::size_t, std::map<std::string, std::size_t>> earlier;  // of groups
  std::map<std::size_t, std::size_t> runs;
  for (const StudyOutcome& outcome : outcomes) {
    add(outcome, results.groups[outcome.group]);
    seeds.insert(outcome.seed);
    ++runs[outcome.group];
    if (!outcome.file.empty()) ++earlier[outcome.group][outcome.file], ++results.earlier[outcome.file];
    if (!outcome.problem.empty()) continue;
    ++results.complete;
    results.core_hours += hours_of(*outcome.run);
    commits.insert(printable(outcome.run->commit));
    if (!outcome.run->machine.empty()) machines.insert(printable(outcome.run->machine));
  }
  // If all runs come from one file, only the note below the table mentions it.
  const bool all_of_one_file = results.earlier.size() == 1 && results.earlier.begin()->second == results.runs;
  for (const auto& [group, files] : all_of_one_file ? decltype(earlier)() : earlier)
    for (const auto& [file, count] : files)
      results.groups[group].remarks.push_back(std::to_string(count) + " of " + std::to_string(runs[group]) +
                                              (runs[group] == 1 ? " run from " : " runs from ") + printable(file));
  for (GroupResult& group : results.groups)
    if (const Estimate difference = results.difference(group, "sink_1"); is_same_of_every_seed(difference)) {
      char text[160];
      std::snprintf(
          text, sizeof text,
          "Sink_1 proxy differs from the baseline by exactly %+.1f for every seed: too coarse here for an interval",
          difference.mean);
      group.remarks.push_back(text);
    }
  results.commits.assign(commits.begin(), commits.end());
  results.machines.assign(machines.begin(), machines.end());
  results.seeds.assign(seeds.begin(), seeds.end());
  return results;
}

std::optional<double> paper_value(const std::string& text) {
  const auto value = parse_number<double>(std::string_view(text).substr(0, text.size() - text.ends_with('*')));
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string direction(const StudyResults& results, const GroupResult& group) {
  const Estimate difference = results.difference(group, "sink_1");
  if (difference.n == 0) return "";
  const StudyGroup &own = group.group, &base = results.groups[*results.baseline].group;
  const bool own_is_shorter = own.config.steps * base.planned_steps <= base.config.steps * own.planned_steps;
  const StudyGroup& shorter = own_is_shorter ? own : base;
  const Evidence evidence{difference.n, shorter.config.steps, shorter.planned_steps};
  const auto paper = [](const StudyGroup& of) {
    const std::optional<PaperRow> row = of.paper();
    return row ? paper_value(row->sink_1) : std::nullopt;
  };
  const auto papers_own = paper(own), papers_base = paper(base);
  const bool paper_differs = papers_own && papers_base && *papers_own != *papers_base;
  // If the paper claims nothing, the claim has our sign, so that it is never contradicted.
  const double claimed = paper_differs ? *papers_own - *papers_base : difference.mean;
  const Estimate effect{difference.n, claimed < 0 ? -difference.mean : difference.mean, difference.half};
  const Verdict verdict = comparison_verdict(evidence, effect, kMinSinkEffect);
  const std::string words = verdict_text(verdict, evidence, difference, 1);
  if (verdict != Verdict::supported && verdict != Verdict::contradicted) return words;
  return (paper_differs ? words + ": " : "") + (difference.mean > 0 ? "more" : "less");
}

std::vector<std::string> verdicts(const StudyResults& results) {
  std::vector<std::string> sentences;
  for (const auto& [title, measure, paper] : {std::tuple("Sink_1 proxy", "sink_1", &PaperRow::sink_1),
                                              std::tuple("Sink_* proxy", "sink_star", &PaperRow::sink_star),
                                              std::tuple("Loss", "val_loss", &PaperRow::valid)}) {
    const std::string order = order_sentence(results, title, measure, paper);
    if (measure == std::string("sink_1") || !order.ends_with(kNoOrder)) sentences.push_back(order);
  }
  if (std::string sentence = score_agreement(results); !sentence.empty()) sentences.push_back(sentence);
  return sentences;
}

}  // namespace sink
