#include "tools/report/claims.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "tools/report/html_text.h"
#include "tools/report/planned_steps.h"
#include "tools/report/run_settings.h"

namespace sink::report {
namespace {

constexpr std::size_t kMostArms = 6;  // whose values are listed in one claim

// What one group of runs, or a series of groups, says of a claim.
struct Answer {
  Verdict verdict;
  Evidence evidence;
  std::string words, values;
  Reading reading;
};

// The runs that speak for a group: finished ones, or where none is, one of each seed with its last measurement.
std::vector<const Run*> asked(const Arm& arm) {
  std::vector<const Run*> out = arm.finished();
  std::set<std::uint64_t> seeds;
  if (out.empty())
    for (const Run* run : arm.runs)
      if (run->evaluation && seeds.insert(run->seed).second) out.push_back(run);
  std::erase_if(out, [](const Run* run) { return !run->evaluation || run->evaluation->input != "text"; });
  return out;
}

BySeed by_seed(const Arm& arm, const std::function<double(const Run&)>& value) {
  BySeed out;
  for (const Run* run : asked(arm))
    if (const double found = value(*run); std::isfinite(found)) out[run->seed] = found;
  return out;
}

// Of the runs of these groups whose seeds `values` has: how many seeds, and the run that got least far.
Evidence evidence_of(const std::vector<const Arm*>& arms, const BySeed& values) {
  Evidence evidence{values.size(), 0, 0};
  double least = HUGE_VAL;
  for (const Arm* arm : arms)
    for (const Run* run : asked(*arm)) {
      if (!values.contains(run->seed)) continue;
      const std::int64_t steps = run->finished ? run->step : run->unfinished_step, planned = planned_steps(*run);
      const double part = planned > 0 ? static_cast<double>(steps) / static_cast<double>(planned) : 1;
      if (part < least) least = part, evidence.steps = steps, evidence.planned = planned;
    }
  return evidence;
}

std::string seeds_of(const BySeed& values) {
  std::string out;
  for (const auto& [seed, value] : values) out += (out.empty() ? "" : ", ") + std::to_string(seed);
  return (values.size() == 1 ? "seed " : "seeds ") + out;
}

// "41.7 [38.0, 45.4] % (seeds 0, 1, 2)"; of one seed "41.7 % (seed 0, no interval)".
std::string spelled(const BySeed& values, const char* unit, int decimals) {
  const Estimate i = estimate_of(values);
  std::string out = number(i.mean, decimals);
  if (i.n > 1) out += " " + interval_text(i, decimals);
  return out + unit + " (" + seeds_of(values) + (i.n > 1 ? "" : ", no interval") + ")";
}

BySeed minus(BySeed values, double bound, int sign = 1) {
  for (auto& [seed, value] : values) value = sign * (value - bound);
  return values;
}

// Whether a level lies above the bound (sign 1) or below it (-1).
Answer level(const std::vector<const Arm*>& arms, const BySeed& values, double bound, int sign, std::string text) {
  const Evidence evidence = evidence_of(arms, values);
  const Verdict verdict = level_verdict(evidence, estimate_of(minus(values, bound, sign)));
  return {verdict, evidence, verdict_text(verdict, evidence, estimate_of(values), 1), std::move(text),
          reading_of(*asked(*arms.front()).front())};
}

std::size_t count(const std::vector<Answer>& answers, Verdict verdict) {
  return static_cast<std::size_t>(
      std::count_if(answers.begin(), answers.end(), [&](const Answer& a) { return a.verdict == verdict; }));
}

// Of the groups that are not tested the reason they share, or that of the first.
std::string untested_words(const std::vector<Answer>& answers) {
  std::string words = answers.front().words;
  const bool alike =
      std::all_of(answers.begin(), answers.end(), [&](const Answer& answer) { return answer.words == words; });
  if (answers.size() == 1) return words;
  return alike ? words + " each" : words + " (and the like of " + std::to_string(answers.size() - 1) + " more)";
}

// A claim has the verdict that all tested groups give; where they differ it is undecided.
void judge(const std::vector<Answer>& answers, Claim& claim) {
  const std::size_t untested = count(answers, Verdict::not_tested), tested = answers.size() - untested;
  if (tested == 0) {
    claim.words = untested_words(answers);
    return;
  }
  claim.verdict = Verdict::undecided;
  std::string intervals;
  for (const Verdict verdict : {Verdict::too_small, Verdict::undecided, Verdict::contradicted, Verdict::supported})
    if (count(answers, verdict) == tested) claim.verdict = verdict;
  for (const Answer& answer : answers)
    if (answer.verdict == claim.verdict && (claim.words.empty() || claim.verdict == Verdict::undecided))
      claim.words += (claim.words.empty() ? "" : "; ") + answer.words;
  if (count(answers, claim.verdict) != tested)
    claim.words = "undecided: supported by " + std::to_string(count(answers, Verdict::supported)) + " of " +
                  std::to_string(tested) + " groups of runs, contradicted by " +
                  std::to_string(count(answers, Verdict::contradicted));
  if (untested > 0)
    claim.words += "; " + std::to_string(untested) + " of " + std::to_string(answers.size()) + " not tested";
}

// `paper` tells what the paper found for runs that read so; "" where it has no such row.
std::optional<Claim> together(const std::string& sentence, const std::vector<Answer>& answers,
                              const std::function<std::string(const Reading&)>& paper) {
  if (answers.empty()) return std::nullopt;
  Claim claim{sentence, Verdict::not_tested, "", "", ""};
  judge(answers, claim);
  std::vector<Reading> readings;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Answer& answer = answers[i];
    if (std::find(readings.begin(), readings.end(), answer.reading) == readings.end())
      readings.push_back(answer.reading);
    if (i < kMostArms)
      claim.values += "<li>" + answer.values + (answers.size() > 1 ? ": " + answer.words : "") + "</li>";
  }
  if (answers.size() > kMostArms)
    claim.values +=
        "<li>and " + std::to_string(answers.size() - kMostArms) + " more, in the table of final values</li>";
  for (const Reading& reading : readings) {
    const std::string found = paper(reading), what = escape(description_of(reading));
    claim.paper += (claim.paper.empty() ? "" : "; ") +
                   (found.empty() ? std::string(kNoMatchingRow) + " for " + what : found + " on " + what);
  }
  return claim;
}

StudyRow row_named(const char* id) {
  for (const StudyRow& row : study_rows())
    if (row.id == id) return row;
  return {};
}

// "18.18 %", of the paper's row of this experiment for runs that read so.
std::string paper_sink(const char* id, const Reading& reading, std::string StudyRow::*value = &StudyRow::sink_1) {
  const std::optional<StudyRow> row = matching_row(row_named(id), reading);
  if (!row || (*row).*value == "n.r.") return "";
  std::string text = (*row).*value;
  const bool proxy = text.ends_with('*');
  if (proxy) text.pop_back();
  return text + (proxy ? " % (proxy)" : " %");
}

double sink_percent(const Run& run) { return run.evaluation->sink_at(0.3, false); }
double raw_percent(const Run& run) { return run.evaluation->sink_at(0.3, true); }

const Run* measured(const Arm& arm) {
  const auto runs = asked(arm);
  return runs.empty() ? nullptr : runs.front();
}

std::optional<Claim> softmax_has_a_sink(const Group& group) {
  std::vector<Answer> answers;
  for (const Arm& arm : group.arms) {
    const Run* run = measured(arm);
    if (!run || run->attention != "softmax" || run->evaluation->extra != "none") continue;
    const BySeed sinks = by_seed(arm, sink_percent);
    if (sinks.empty()) continue;
    answers.push_back(level({&arm}, sinks, kSmallestSink, 1,
                            escape(arm.label) + ": Sink<sub>1</sub> (raw = proxy) " + spelled(sinks, " %", 1)));
  }
  return together("Softmax attention has a sink on the first token.", answers,
                  [](const Reading& reading) { return paper_sink("base-60m", reading); });
}

std::optional<Claim> sigmoid_has_none(const Group& group) {
  std::vector<Answer> answers;
  for (const Arm& arm : group.arms) {
    const Run* run = measured(arm);
    if (!run || run->attention != "sigmoid") continue;
    const BySeed sinks = by_seed(arm, sink_percent), raw = by_seed(arm, raw_percent);
    if (sinks.empty()) continue;
    answers.push_back(level({&arm}, sinks, kSmallestSink, -1,
                            escape(arm.label) + ": Sink<sub>1</sub> by proxy, as the paper scores it, " +
                                spelled(sinks, " %", 1) + "; raw " + spelled(raw, " %", 1)));
  }
  return together("Sigmoid attention without normalisation has no sink.", answers,
                  [](const Reading& reading) { return paper_sink("op-sigmoid-none", reading); });
}

// Both must hold: the extra key has a sink, and the first token none.
std::optional<Claim> extra_key_takes_it(const Group& group) {
  std::vector<Answer> answers;
  for (const Arm& arm : group.arms) {
    const Run* run = measured(arm);
    if (!run || (run->evaluation->extra != "key" && run->evaluation->extra != "token")) continue;
    const BySeed first = by_seed(arm, sink_percent),
                 star = by_seed(arm, [](const Run&r) { return r.evaluation->sink_star_at(0.3, false); });
    if (first.empty() || star.empty()) continue;
    const std::string text = escape(arm.label) + ": Sink<sub>*</sub> by proxy " + spelled(star, " %", 1) +
                             ", Sink<sub>1</sub> by proxy " + spelled(first, " %", 1);
    const Answer none = level({&arm}, first, kSmallestSink, -1, text),
                 taken = level({&arm}, star, kSmallestSink, 1, text);
    const auto is = [](const Answer& answer, Verdict verdict) { return answer.verdict == verdict; };
    // The one that says less than supported; of two the one that contradicts.
    answers.push_back(is(none, Verdict::supported) || is(taken, Verdict::contradicted) ? taken : none);
  }
  return together(
      "An extra key or sink token takes the sink from the first token.", answers, [](const Reading& reading) {
        const std::string token = paper_sink("bias-sinktoken", reading, &StudyRow::sink_star),
                          key = paper_sink("bias-k", reading, &StudyRow::sink_star);
        return key.empty() ? key : "sink token " + token + ", K biases " + key + " on *; 0.00 % on token 1,";
      });
}

// Arms of softmax that differ in nothing but the setting of that name, by its value.
using Series = std::map<double, const Arm*>;

std::vector<Series> series_of(const Group& group, const std::string& name, double most) {
  std::vector<std::pair<Identity, Series>> all;
  for (const Arm& arm : group.arms) {
    const Run* run = measured(arm);
    if (!run || run->attention != "softmax" || run->evaluation->extra != "none") continue;
    Identity identity = identity_of(*run);
    const auto found = identity.training.find(name);
    if (!identity.known || found == identity.training.end()) continue;
    const double value = std::strtod(found->second.c_str(), nullptr);
    identity.training.erase(name);
    if (value > most) continue;
    auto series = std::find_if(all.begin(), all.end(), [&](const auto& other) {
      return other.first.training == identity.training && other.first.data_sha256 == identity.data_sha256 &&
             other.first.measurement == identity.measurement;
    });
    if (series == all.end()) series = all.insert(all.end(), {identity, {}});
    series->second.emplace(value, &arm);
  }
  std::vector<Series> out;
  for (auto& [identity, series] : all)
    if (series.size() > 1) out.push_back(std::move(series));
  return out;
}

std::optional<Claim> grows_with(const Group& group, const std::string& name, double most, const std::string& sentence,
                                const std::string& natural_text) {
  std::vector<Answer> answers;
  for (const Series& series : series_of(group, name, most)) {
    std::string means;
    for (const auto& [value, arm] : series)
      means += (means.empty() ? "" : "; ") + plain(value) + ": " + spelled(by_seed(*arm, sink_percent), " %", 1);
    const Arm &least = *series.begin()->second, &greatest = *series.rbegin()->second;
    const BySeed low = by_seed(least, sink_percent), high = by_seed(greatest, sink_percent);
    BySeed differences;
    for (const auto& [seed, value] : high)
      if (const auto other = low.find(seed); other != low.end()) differences[seed] = value - other->second;
    if (differences.empty()) continue;
    const Evidence evidence = evidence_of({&least, &greatest}, differences);
    const Estimate difference = paired_difference(high, low);
    const Verdict verdict = comparison_verdict(evidence, difference, kSmallestSink);
    answers.push_back({verdict, evidence, verdict_text(verdict, evidence, difference, 1),
                       escape(least.ablation) + ", Sink<sub>1</sub> (raw = proxy) at " + escape(name) + " " + means +
                           ". At the greatest less at the least, seed by seed: " + spelled(differences, "", 1),
                       reading_of(*measured(least))});
  }
  return together(sentence, answers,
                  [&](const Reading& reading) { return reading == Reading{} ? natural_text : std::string(); });
}

std::optional<Claim> fixed_token_carries_it(const Group& group) {
  std::vector<Answer> answers;
  for (const Arm& arm : group.arms) {
    const Run* run = measured(arm);
    if (!run || run->evaluation->extra != "none") continue;
    const auto position = static_cast<std::size_t>(reading_of(*run).fixed_position);
    if (position == 0 || position > run->evaluation->alpha_k.size()) continue;
    const BySeed lead = by_seed(arm, [&](const Run& r) {
      Row alpha = r.evaluation->alpha_k;
      if (alpha.size() < std::max<std::size_t>(2, position)) return kNaN;
      const double own = alpha[position - 1];
      alpha.erase(alpha.begin() + static_cast<std::ptrdiff_t>(position) - 1);
      return own - *std::max_element(alpha.begin(), alpha.end());
    });
    if (lead.empty()) continue;
    const Evidence evidence = evidence_of({&arm}, lead);
    const Verdict verdict = comparison_verdict(evidence, estimate_of(lead), kSmallestAlpha);
    answers.push_back({verdict, evidence, verdict_text(verdict, evidence, estimate_of(lead), 3),
                       escape(arm.label) + ": &alpha; by proxy of position " + std::to_string(position) +
                           " less the greatest of the other first ten: " + spelled(lead, "", 3),
                       reading_of(*run)});
  }
  return together("A fixed token carries the sink at the position where it is.", answers, [](const Reading& reading) {
    const char* values[] = {"74.11 % there", "69.03 % there, 0.00 % on token 1", "69.64 % there, 0.00 % on token 1"};
    const bool known = matching_row(row_named("base-60m"), reading).has_value() && reading.fixed_position <= 3;
    return known ? std::string(values[reading.fixed_position - 1]) : "";
  });
}

}  // namespace

std::vector<Claim> claims(const Group& group) {
  std::vector<Claim> out;
  for (std::optional<Claim> claim :
       {softmax_has_a_sink(group), sigmoid_has_none(group), extra_key_takes_it(group),
        grows_with(group, "learning rate", HUGE_VAL, "The sink of softmax grows with the learning rate.",
                   "2.90 % at 1e-4, 11.21 % at 2e-4, 18.18 % at 4e-4, 32.23 % at 8e-4,"),
        grows_with(group, "weight decay", 0.5, "The sink of softmax grows with weight decay, up to 0.5.",
                   "15.20 % at 0, 18.18 % at 0.1, 41.08 % at 0.5,"),
        fixed_token_carries_it(group)})
    if (claim) out.push_back(std::move(*claim));
  return out;
}

std::string claims_table(const Group& group) {
  const std::vector<Claim> all = claims(group);
  if (all.empty()) return "";
  std::string out =
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Claims of the paper and their "
      "verdicts\"><table "
      "class=\"claims\"><thead><tr><th scope=\"col\" class=\"word\">claim of the paper</th><th scope=\"col\" "
      "class=\"word\">in these runs</th><th scope=\"col\" class=\"word\">because</th><th scope=\"col\" "
      "class=\"word\">the paper, on the same kind of input</th></tr></thead><tbody>";
  for (const Claim& claim : all) {
    const bool tested = claim.verdict != Verdict::not_tested;
    out += "<tr><th scope=\"row\" class=\"word\">" + claim.claim + "</th><td class=\"word\">" + (tested ? "<b>" : "") +
           claim.words + (tested ? "</b>" : "") + "</td><td class=\"word\"><ul>" + claim.values +
           "</ul></td><td class=\"word\">" + claim.paper + "</td></tr>";
  }
  return out + "</tbody></table></div>";
}

std::string claims_summary(const Group& group) {
  constexpr std::string_view kEach = " each";
  const std::vector<Claim> all = claims(group);
  if (all.empty()) return "";
  std::vector<std::pair<std::string, std::size_t>> counts;  // by their words, intervals left out
  for (const Claim& claim : all) {
    std::string words = claim.words.substr(0, claim.words.find(" ["));
    if (claim.verdict != Verdict::not_tested) words = words.substr(0, words.find_first_of(":;"));
    if (words.ends_with(kEach)) words.resize(words.size() - kEach.size());  // said once, below
    const auto found = std::find_if(counts.begin(), counts.end(), [&](const auto& one) { return one.first == words; });
    if (found == counts.end())
      counts.emplace_back(words, 1);
    else
      ++found->second;
  }
  std::string out;
  for (const auto& [words, times] : counts)
    out += (out.empty() ? "" : "; ") + (all.size() == 1 ? "" : std::to_string(times) + " ") + words +
           (times > 1 && words.starts_with("not tested") ? std::string(kEach) : "");
  return (all.size() == 1 ? "The paper\u2019s claim that these runs could test: "
                          : "The paper\u2019s claims that these runs could test: ") +
         out + ".";
}

}  // namespace sink::report
