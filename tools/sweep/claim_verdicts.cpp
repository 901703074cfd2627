#include "tools/sweep/claim_verdicts.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "engine/io/csv.h"
#include "engine/io/file.h"
#include "engine/io/printable.h"
#include "engine/io/str_format.h"
#include "engine/io/text_table.h"
#include "tools/report/results_csv.h"
#include "tools/report/run_settings.h"
#include "tools/sweep/study_results.h"

namespace sink {
namespace {

constexpr const char* kNoSmallest = "none";
constexpr const char* kNoSmallestMeans =
    "Smallest `none`: the group that is compared with has no excess_1 of which the registered share could be taken, so "
    "no smallest effect is defined and such a claim is underpowered whatever its difference.\n\n";
constexpr const char* kEven = "even";  // `against`: a model that spreads its attention evenly

// By how many steps the sink is earlier than the massive activation; what never comes counts as coming at the last
// step.
double sink_lead(const report::Run& run) {
  const auto step_of = [&](const char* onset) {
    const double step = run.evaluation->get(onset);
    return step < 0 ? static_cast<double>(run.steps) : step;
  };
  return step_of("onset_massive") - step_of("onset_sink_1");
}

// NaN where the run has no such value.
double value_of(const report::Run& run, const std::string& measure) {
  const report::Evaluation& e = *run.evaluation;
  if (measure == "val_loss" || measure.starts_with("change_")) return e.get(measure);
  if (measure == "excess_fixed") return e.get("alpha_fixed_over_even") - 1;
  if (measure == "constant_share") return e.get("change_constant_1") / e.get("change_removed_1");
  if (measure == "sink_lead") return sink_lead(run);
  if (measure == "excess_massive") return e.get("massive_ratio") - 1;
  const EvenAttention ratio = report::alpha_over_even(run);
  if (measure == "excess_1") return ratio.alpha_1 - 1;
  if (measure == "excess_star") return ratio.alpha_star - 1;
  const std::optional<EvenAttention> even = report::even_attention_of(run);
  if (!even || std::isnan(even->alpha_star)) return ratio.alpha_1 - 1;
  return (e.get("alpha_1") + e.get("alpha_star")) / (even->alpha_1 + even->alpha_star) - 1;
}

// The values of a group's complete runs of these seeds.
BySeed values_of(const std::vector<report::Run>& runs, const std::string& group, const std::string& measure,
                 const std::vector<std::uint64_t>& seeds) {
  BySeed values;
  for (const report::Run& run : runs) {
    if (!is_complete(run) || group_of(run) != group || std::ranges::find(seeds, run.seed) == seeds.end()) continue;
    if (const double value = value_of(run, measure); std::isfinite(value)) values[run.seed] = value;
  }
  return values;
}

const std::vector<report::Run>& runs_of(const RunsOfStudies& runs, const std::string& study) {
  static const std::vector<report::Run> none;
  const auto found = runs.find(study);
  return found == runs.end() ? none : found->second;
}

// Fills in everything but the correction and the verdict. Returns false if seeds are missing.
bool measure_claim(const Preregistration& registered, const std::vector<report::Run>& runs, JudgedClaim& judged) {
  const RegisteredClaim& claim = judged.claim;
  const auto values = [&](const std::string& group, const std::string& measure) {
    return values_of(runs, group, measure, registered.seeds);
  };
  const BySeed ours = values(claim.run, claim.measure);
  BySeed others = claim.against == kEven ? ours : values(claim.against, claim.measure);
  if (claim.against == kEven)
    for (auto& [seed, value] : others) value = 0;
  judged.difference = paired_difference(ours, others);
  if (judged.difference.n < registered.seeds.size()) return false;
  const BySeed excess = values(claim.against == kEven ? "baseline" : claim.against, "excess_1");
  const double share = registered.smallest_share * estimate_of(excess).mean;
  judged.smallest = claim.smallest.value_or(share > 0 ? share : report::kNaN);
  judged.p = claim.expected == Expected::equal ? p_of_equality(judged.difference, judged.smallest)
                                               : p_of_difference(judged.difference);
  if (std::isnan(judged.p)) judged.p = 1;
  return true;
}

ClaimVerdict verdict_of(const JudgedClaim& judged, double level) {
  const Estimate& difference = judged.difference;
  if (std::isnan(judged.smallest)) return ClaimVerdict::underpowered;
  const bool is_significant = judged.p_of_family < level;
  if (judged.claim.expected == Expected::equal) {
    if (is_significant) return ClaimVerdict::replicated;
    const bool beyond = difference.low() > judged.smallest || difference.high() < -judged.smallest;
    return beyond ? ClaimVerdict::contradicted : ClaimVerdict::underpowered;
  }
  const bool as_claimed = (difference.mean < 0) == (judged.claim.expected == Expected::less);
  if (is_significant && !as_claimed) return ClaimVerdict::contradicted;
  if (is_significant && std::abs(difference.mean) >= judged.smallest) return ClaimVerdict::replicated;
  return p_of_equality(difference, judged.smallest) < level ? ClaimVerdict::contradicted : ClaimVerdict::underpowered;
}

const char* word_of(Expected expected) {
  return expected == Expected::less ? "less" : expected == Expected::greater ? "greater" : "equal";
}

std::string smallest_text(double smallest) { return std::isnan(smallest) ? kNoSmallest : str_format("%.3f", smallest); }

std::string p_text(double p) { return p < 0.0001 ? "< 0.0001" : str_format("%.4f", p); }

// What two runs of one name do not share, as "learning rate 0.1 instead of 0.01"; "" if they differ in their seed only.
// Runs of several commits may be combined.
std::string unshared_setting(const report::Run& a, const report::Run& b) {
  const report::Identity ours = report::identity_of(a), theirs = report::identity_of(b);
  if (!ours.known || !theirs.known) return "";
  const auto of = [](const report::Settings& settings, const std::string& name) {
    const auto found = settings.find(name);
    return found == settings.end() ? std::string("none") : found->second;
  };
  const auto differing = [&](const report::Settings& x, const report::Settings& y) -> std::string {
    for (const report::Settings* names : {&x, &y})
      for (const auto& [name, value] : *names)
        if (name != "data" && name != "commit" && of(x, name) != of(y, name))
          return name + " " + of(x, name) + " instead of " + of(y, name);
    return "";
  };
  if (!ours.data_sha256.empty() && !theirs.data_sha256.empty() && ours.data_sha256 != theirs.data_sha256)
    return "data " + ours.data_sha256.substr(0, 12) + "... instead of " + theirs.data_sha256.substr(0, 12) + "...";
  if (!same_start(ours, theirs))
    return "initial parameters " + ours.initial_sha256.substr(0, 12) + "... instead of " +
           theirs.initial_sha256.substr(0, 12) + "...";
  const std::string settings = differing(ours.training, theirs.training);
  return settings.empty() ? differing(ours.measurement, theirs.measurement) : settings;
}

// The complete runs of one name are one for each seed, and share all else.
void require_groups_of_one_recipe(const std::vector<report::Run>& runs, const std::string& file) {
  std::map<std::string, std::map<std::uint64_t, const report::Run*>> groups;
  for (const report::Run& run : runs) {
    if (!is_complete(run)) continue;
    auto& group = groups[group_of(run)];
    if (!group.emplace(run.seed, &run).second)
      throw Error(file + ": two complete runs are named " + printable(run.name) + "; keep one of the rows",
                  Exit::bad_input);
    const report::Run& first = *group.begin()->second;
    if (const std::string difference = unshared_setting(run, first); !difference.empty())
      throw Error(file + ": " + printable(run.name) + " has " + printable(difference) + ", as in " +
                      printable(first.name) + "; expected runs of one name to differ in their seed only; keep those " +
                      "of one recipe",
                  Exit::bad_input);
  }
}

// A row per claim, below the heading.
std::vector<Cells> claim_cells(const std::vector<JudgedClaim>& claims) {
  std::vector<Cells> rows{
      {"family", "run", "against", "measure", "expected", "difference", "smallest", "p, Holm", "verdict"}};
  for (const JudgedClaim& judged : claims) {
    const RegisteredClaim& claim = judged.claim;
    const bool has_test = judged.verdict != ClaimVerdict::not_run && judged.verdict != ClaimVerdict::not_testable;
    const Estimate& d = judged.difference;
    rows.push_back({printable(claim.family), printable(claim.run), printable(claim.against), claim.measure,
                    word_of(claim.expected), has_test ? str_format("%+.3f ± %.3f", d.mean, d.half) : "",
                    has_test ? smallest_text(judged.smallest) : "", has_test ? p_text(judged.p_of_family) : "",
                    name_of(judged.verdict)});
  }
  return rows;
}

std::vector<Cells> candidate_cells(const std::vector<RecipeCandidate>& candidates) {
  std::vector<Cells> rows{
      {"run", "steps", "seeds", "alpha_1 / even", "variation", "loss", "above the lowest", "passes"}};
  const auto known = [](const char* format, double x) { return std::isnan(x) ? std::string() : str_format(format, x); };
  for (const RecipeCandidate& c : candidates)
    rows.push_back({printable(c.run), std::to_string(c.steps), std::to_string(c.seeds), known("%.2f", c.ratio),
                    known("%.0f %%", 100 * c.variation), known("%.3f", c.loss), known("%.3f", c.loss_excess),
                    c.seeds < 2 ? ""
                    : c.passes  ? "yes"
                                : "no"});
  return rows;
}

std::string chosen(const std::vector<RecipeCandidate>& candidates, std::size_t seeds) {
  for (const RecipeCandidate& candidate : candidates)
    if (candidate.seeds < seeds)
      return "Not chosen yet: the rule needs all " + std::to_string(seeds) + " seeds of every candidate.";
  const RecipeCandidate* best = nullptr;
  for (const RecipeCandidate& candidate : candidates)
    if (candidate.passes && (!best || candidate.ratio > best->ratio)) best = &candidate;
  if (best) return "Chosen: " + printable(best->run) + ", " + std::to_string(best->steps) + " steps.";
  return candidates.empty() ? "No run of the choice is complete." : "No candidate passes.";
}

// "12 claims: 3 replicated, 9 not run."
std::string count_of(const std::vector<JudgedClaim>& claims) {
  std::map<ClaimVerdict, std::size_t> counts;
  for (const JudgedClaim& judged : claims) ++counts[judged.verdict];
  std::string text = std::to_string(claims.size()) + " claims:";
  for (const auto& [verdict, count] : counts)
    text += (text.back() == ':' ? " " : ", ") + std::to_string(count) + " " + name_of(verdict);
  return text + ".";
}

std::string markdown_of(const std::vector<Cells>& rows) {
  std::string text;
  for (const Cells& row : rows) {
    for (const std::string& cell : row) text += "| " + markdown_cell(cell) + " ";
    text += "|\n";
    if (&row != &rows.front()) continue;
    for (std::size_t c = 0; c < row.size(); ++c) text += "|---";
    text += "|\n";
  }
  return text;
}

}  // namespace

std::string group_of(const report::Run& run) {
  const std::string seed = "-" + std::to_string(run.seed);
  return run.name.ends_with(seed) ? run.name.substr(0, run.name.size() - seed.size()) : run.name;
}

bool is_complete(const report::Run& run) {
  return run.finished && run.failure.empty() && run.step == run.steps && run.evaluation.has_value();
}

const char* name_of(ClaimVerdict verdict) {
  switch (verdict) {
    case ClaimVerdict::replicated:
      return "replicated";
    case ClaimVerdict::contradicted:
      return "contradicted";
    case ClaimVerdict::underpowered:
      return "underpowered";
    case ClaimVerdict::not_testable:
      return "not testable";
    case ClaimVerdict::not_run:
      break;
  }
  return "not run";
}

RunsOfStudies read_runs_of(const Preregistration& registered, const std::string& folder) {
  std::set<std::string> studies{registered.choice.study};
  for (const RegisteredClaim& claim : registered.claims) studies.insert(claim.study);
  RunsOfStudies runs;
  for (const std::string& study : studies) {
    const std::string file = folder + "/" + study + "-runs.csv";
    if (study.empty() || !std::filesystem::exists(file)) continue;
    require_regular_file(file);
    runs[study] = report::read_results_csv(read_file("sweep", file), file);
    require_groups_of_one_recipe(runs[study], file);
  }
  return runs;
}

std::vector<std::string> unknown_runs(const Preregistration& registered, const RunsOfStudies& runs) {
  std::vector<std::string> unknown;
  for (const RegisteredClaim& claim : registered.claims) {
    const auto found = runs.find(claim.study);
    if (found == runs.end() || !claim.not_testable.empty()) continue;
    for (const std::string& name : {claim.run, claim.against}) {
      if (name == kEven || std::ranges::find(found->second, name, group_of) != found->second.end()) continue;
      const std::string text = claim.study + "-runs.csv has no run " + printable(name);
      if (std::ranges::find(unknown, text) == unknown.end()) unknown.push_back(text);
    }
  }
  return unknown;
}

std::vector<JudgedClaim> judge(const Preregistration& registered, const RunsOfStudies& runs) {
  std::vector<JudgedClaim> all;
  std::map<std::string, std::vector<std::size_t>> families;  // indices of testable claims, run or not
  std::vector<bool> is_measured;
  for (const RegisteredClaim& claim : registered.claims) {
    JudgedClaim judged;
    judged.claim = claim;
    const bool testable = claim.not_testable.empty();
    if (testable) families[claim.family].push_back(all.size());
    is_measured.push_back(testable && measure_claim(registered, runs_of(runs, claim.study), judged));
    judged.verdict = testable ? ClaimVerdict::not_run : ClaimVerdict::not_testable;
    all.push_back(judged);
  }
  for (const auto& [family, members] : families) {
    std::vector<double> p;
    for (std::size_t i : members) p.push_back(all[i].p);
    const std::vector<double> corrected = holm(p);
    for (std::size_t n = 0; n < members.size(); ++n) {
      JudgedClaim& judged = all[members[n]];
      judged.p_of_family = corrected[n];
      if (is_measured[members[n]]) judged.verdict = verdict_of(judged, registered.level);
    }
  }
  return all;
}

std::vector<RecipeCandidate> recipe_candidates(const Preregistration& registered, const RunsOfStudies& runs) {
  const RecipeChoice& rule = registered.choice;
  const std::vector<report::Run>& of_choice = runs_of(runs, rule.study);
  std::vector<RecipeCandidate> candidates;
  std::map<std::int64_t, double> lowest_loss;  // by steps
  for (const report::Run& run : of_choice) {
    const std::string group = group_of(run);
    if (std::ranges::find(candidates, group, &RecipeCandidate::run) != candidates.end()) continue;
    const Estimate excess = estimate_of(values_of(of_choice, group, "excess_1", rule.seeds));
    RecipeCandidate candidate{.run = group, .seeds = excess.n, .steps = run.steps, .ratio = excess.mean + 1};
    if (excess.n < 2) {
      candidate.variation = candidate.loss = candidate.loss_excess = report::kNaN;
      candidates.push_back(candidate);
      continue;
    }
    const double t = student_t_975(static_cast<std::int64_t>(excess.n) - 1);
    candidate.variation = excess.half / t * std::sqrt(static_cast<double>(excess.n)) / candidate.ratio;
    candidate.loss = estimate_of(values_of(of_choice, group, "val_loss", rule.seeds)).mean;
    double& lowest = lowest_loss.try_emplace(run.steps, candidate.loss).first->second;
    lowest = std::min(lowest, candidate.loss);
    candidates.push_back(candidate);
  }
  for (RecipeCandidate& candidate : candidates) {
    if (candidate.seeds < 2) continue;
    candidate.loss_excess = candidate.loss - lowest_loss[candidate.steps];
    candidate.passes = candidate.seeds == rule.seeds.size() && candidate.ratio >= rule.least_ratio &&
                       candidate.variation < rule.most_variation && candidate.loss_excess <= rule.most_loss_excess;
  }
  return candidates;
}

std::string verdicts_text(const Preregistration& registered, const RunsOfStudies& runs) {
  const std::vector<RecipeCandidate> candidates = recipe_candidates(registered, runs);
  const std::vector<JudgedClaim> claims = judge(registered, runs);
  std::string text = "Choice of the recipe\n\n";
  if (!candidates.empty()) text += aligned(candidate_cells(candidates)) + "\n";
  text += chosen(candidates, registered.choice.seeds.size()) + "\n\n";
  if (!claims.empty()) text += "Claims\n\n" + aligned(claim_cells(claims)) + "\n";
  return text + count_of(claims) + "\n";
}

std::string verdicts_markdown(const Preregistration& registered, const RunsOfStudies& runs) {
  const std::vector<RecipeCandidate> candidates = recipe_candidates(registered, runs);
  const std::vector<JudgedClaim> claims = judge(registered, runs);
  std::string text = std::string(kMarkdownMark) + "# Verdicts on the registered claims\n\n" + count_of(claims) +
                     " The claims, tests and words are defined in `" + markdown_text(printable(registered.path)) +
                     "`.\n\n";
  if (!claims.empty()) text += markdown_of(claim_cells(claims)) + "\n";
  if (std::ranges::any_of(claims, [](const JudgedClaim& judged) {
        return judged.verdict == ClaimVerdict::underpowered && std::isnan(judged.smallest);
      }))
    text += kNoSmallestMeans;
  std::set<std::string> sentences;
  for (const JudgedClaim& judged : claims)
    if (!judged.claim.not_testable.empty() && sentences.insert(judged.claim.not_testable).second)
      text += "Not testable, " +
              markdown_text(printable(judged.claim.run) + ": " + printable(judged.claim.not_testable)) + "\n\n";
  text += "## Choice of the recipe\n\n";
  if (!candidates.empty()) text += markdown_of(candidate_cells(candidates)) + "\n";
  return text + markdown_text(chosen(candidates, registered.choice.seeds.size())) + "\n";
}

std::string verdicts_csv(const Preregistration& registered, const RunsOfStudies& runs) {
  std::string text =
      "family,study,run,against,measure,expected,paper,says,seeds,difference,low,high,smallest,p,p_holm,verdict\n";
  for (const JudgedClaim& judged : judge(registered, runs)) {
    const RegisteredClaim& claim = judged.claim;
    for (const std::string& word : {claim.family, claim.study, claim.run, claim.against, claim.measure,
                                    std::string(word_of(claim.expected)), claim.paper, claim.says})
      text += csv_field(word) + ",";
    const bool has_test = judged.verdict != ClaimVerdict::not_run && judged.verdict != ClaimVerdict::not_testable;
    const Estimate& d = judged.difference;
    text += std::to_string(d.n) + ",";
    for (double number : {d.mean, d.low(), d.high(), judged.smallest, judged.p, judged.p_of_family})
      text += (has_test ? csv_field(number) : "") + ",";
    text += std::string(name_of(judged.verdict)) + "\n";
  }
  return text;
}

}  // namespace sink
