// The paper's claims that the runs of a task can test (findings.h).
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "tools/report/findings.h"
#include "tools/report/html_text.h"
#include "tools/report/planned_steps.h"
#include "tools/report/run_settings.h"
#include "tools/report/verdict.h"

namespace sink::report {
namespace {

constexpr std::size_t kMaxListedGroups = 6;  // whose values one claim shows

// How one group, or one series of groups, answers a claim. Texts are HTML.
struct Answer {
  Verdict verdict;
  std::string words, values;
  InputKind input;
};

struct Claim {
  std::string sentence;
  Verdict verdict = Verdict::not_tested;
  std::string words;   // of the verdict; of several groups also how they differ
  std::string values;  // list items, one per answer
  std::string paper;   // the paper's value on the same kind of input, or that it has none
};

// Finished runs, or where there are none, one run per seed with its last measurement. Only models that were trained
// here, whose seeds are known, on their own text.
std::vector<const Run*> evaluated_runs(const Group& group) {
  std::vector<const Run*> out = group.finished();
  std::set<std::uint64_t> seeds;
  if (out.empty())
    for (const Run* run : group.runs)
      if (run->evaluation && seeds.insert(run->seed).second) out.push_back(run);
  std::erase_if(out, [](const Run* run) { return !run->trained_here() || !measures_own_text(*run); });
  return out;
}

BySeed by_seed(const Group& group, const std::function<double(const Run&)>& value) {
  BySeed out;
  for (const Run* run : evaluated_runs(group))
    if (const double found = value(*run); std::isfinite(found)) out[run->seed] = found;
  return out;
}

double sink_percent(const Run& run) { return run.evaluation->sink_at(0.3, false); }
double raw_sink_percent(const Run& run) { return run.evaluation->sink_at(0.3, true); }
double star_percent(const Run& run) { return run.evaluation->sink_star_at(0.3, false); }

// Of the runs of these groups whose seeds are in `values`: the number of seeds, and the run that is least complete.
Evidence evidence_of(const std::vector<const Group*>& groups, const BySeed& values) {
  Evidence evidence{.seeds = values.size()};
  double least = HUGE_VAL;
  for (const Group* group : groups) {
    BySeed entropies;
    for (const Run* run : evaluated_runs(*group)) {
      if (!values.contains(run->seed)) continue;
      if (const double share = entropy_over_even(*run); std::isfinite(share)) entropies[run->seed] = share;
      const std::int64_t steps = run->finished ? run->step : run->unfinished_step, planned = planned_steps(*run);
      const double part = planned > 0 ? static_cast<double>(steps) / static_cast<double>(planned) : 1;
      if (part < least) least = part, evidence.steps = steps, evidence.planned = planned;
    }
    if (estimate_of(entropies).mean > kMaxEntropy) evidence.nearly_even = true;
  }
  return evidence;
}

// "41.7 [38.0, 45.4] % (seeds 0, 1, 2)"; of one seed "41.7 % (seed 0, no interval)".
std::string with_interval(const BySeed& values, const char* unit, int decimals) {
  const Estimate i = estimate_of(values);
  std::string seeds;
  for (const auto& [seed, value] : values) seeds += (seeds.empty() ? "" : ", ") + std::to_string(seed);
  return number(i.mean, decimals) + (i.n > 1 ? " " + interval_text(i, decimals) : "") + unit +
         (i.n == 1 ? " (seed " : " (seeds ") + seeds + (i.n > 1 ? ")" : ", no interval)");
}

// Whether a level in percent is above the smallest sink (sign 1) or below it (sign -1).
Answer level(const Group& group, const BySeed& values, int sign, std::string text) {
  const Evidence evidence = evidence_of({&group}, values);
  BySeed effects = values;
  for (auto& [seed, value] : effects) value = sign * (value - kMinSinkEffect);
  const Verdict verdict = level_verdict(evidence, estimate_of(effects));
  return {verdict, verdict_text(verdict, evidence, estimate_of(values), 1), std::move(text),
          input_kind_of(*evaluated_runs(group).front())};
}

Answer comparison(const std::vector<const Group*>& groups, const BySeed& differences, const Estimate& estimate,
                  double smallest, int decimals, std::string text) {
  const Evidence evidence = evidence_of(groups, differences);
  const Verdict verdict = comparison_verdict(evidence, estimate, smallest);
  return {verdict, verdict_text(verdict, evidence, estimate, decimals), std::move(text),
          input_kind_of(*evaluated_runs(*groups.front()).front())};
}

// Asks every group that has evaluated runs, with the first of them.
template <class Ask>
std::vector<Answer> answers_of(const TaskRuns& task, Ask ask) {
  std::vector<Answer> answers;
  for (const Group& group : task.groups)
    if (const auto runs = evaluated_runs(group); !runs.empty())
      if (std::optional<Answer> answer = ask(group, *runs.front())) answers.push_back(std::move(*answer));
  return answers;
}

std::size_t count(const std::vector<Answer>& answers, Verdict verdict) {
  return static_cast<std::size_t>(std::ranges::count(answers, verdict, &Answer::verdict));
}

// The reason that untested groups share, or that of the first.
std::string untested_words(const std::vector<Answer>& answers) {
  const std::string& words = answers.front().words;
  if (answers.size() == 1) return words;
  const bool shared = std::ranges::count(answers, words, &Answer::words) == std::ssize(answers);
  return words + (shared ? " each" : " (similar for " + std::to_string(answers.size() - 1) + " more)");
}

// The verdict of all tested groups; undecided where they differ.
void set_verdict(const std::vector<Answer>& answers, Claim& claim) {
  const std::size_t untested = count(answers, Verdict::not_tested), tested = answers.size() - untested;
  if (tested == 0) {
    claim.words = untested_words(answers);
    return;
  }
  claim.verdict = Verdict::undecided;
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

// `paper` is the paper's value for an input, "" if it has none.
void add_claim(const char* sentence, const std::vector<Answer>& answers,
               const std::function<std::string(const InputKind&)>& paper, std::vector<Claim>& claims) {
  if (answers.empty()) return;
  Claim claim;
  claim.sentence = sentence;
  set_verdict(answers, claim);
  std::vector<InputKind> inputs;
  for (const Answer& answer : answers) {
    if (std::ranges::find(inputs, answer.input) == inputs.end()) inputs.push_back(answer.input);
    if (&answer - answers.data() < static_cast<std::ptrdiff_t>(kMaxListedGroups))
      claim.values += "<li>" + answer.values + (answers.size() > 1 ? ": " + answer.words : "") + "</li>";
  }
  if (answers.size() > kMaxListedGroups)
    claim.values +=
        "<li>and " + std::to_string(answers.size() - kMaxListedGroups) + " more, in the table of final values</li>";
  for (const InputKind& input : inputs) {
    const std::string found = paper(input), what = escape(describe(input));
    claim.paper += (claim.paper.empty() ? "" : "; ") +
                   (found.empty() ? std::string(kNoMatchingRow) + " for " + what : found + " on " + what);
  }
  claims.push_back(std::move(claim));
}

// "18.18 %": the value in the paper's row of this experiment for the same input.
std::string paper_sink(const char* id, const InputKind& input, std::string PaperRow::*value = &PaperRow::sink_1) {
  const auto named = std::ranges::find(paper_rows(), id, &PaperRow::id);
  const std::optional<PaperRow> row = matching_row(*named, input);
  if (!row || (*row).*value == "n.r.") return "";
  std::string text = (*row).*value;
  const bool proxy = text.ends_with('*');
  if (proxy) text.pop_back();
  return text + (proxy ? " % (proxy)" : " %");
}

bool is_plain_softmax(const Run& run) {
  return run.attention == "softmax" && run.evaluation->extra == Evaluation::Extra::none;
}

std::optional<Answer> softmax_answer(const Group& group, const Run& run) {
  const BySeed sinks = by_seed(group, sink_percent);
  if (!is_plain_softmax(run) || sinks.empty()) return std::nullopt;
  return level(group, sinks, 1,
               escape(group.label) + ": Sink<sub>1</sub> (raw = proxy) " + with_interval(sinks, " %", 1));
}

std::optional<Answer> sigmoid_answer(const Group& group, const Run& run) {
  const BySeed sinks = by_seed(group, sink_percent), raw = by_seed(group, raw_sink_percent);
  if (run.attention != "sigmoid" || sinks.empty()) return std::nullopt;
  return level(group, sinks, -1,
               escape(group.label) + ": Sink<sub>1</sub> by proxy, as the paper scores it, " +
                   with_interval(sinks, " %", 1) + "; raw " + with_interval(raw, " %", 1));
}

// Two conditions: the extra key has a sink, and the first token has none.
std::optional<Answer> extra_key_answer(const Group& group, const Run& run) {
  const BySeed first = by_seed(group, sink_percent), star = by_seed(group, star_percent);
  if ((run.evaluation->extra != Evaluation::Extra::key && run.evaluation->extra != Evaluation::Extra::token) ||
      first.empty() || star.empty())
    return std::nullopt;
  const std::string text = escape(group.label) + ": Sink<sub>*</sub> by proxy " + with_interval(star, " %", 1) +
                           ", Sink<sub>1</sub> by proxy " + with_interval(first, " %", 1);
  const Answer none = level(group, first, -1, text), taken = level(group, star, 1, text);
  // The answer that is not supported; of two such the contradiction.
  return none.verdict == Verdict::supported || taken.verdict == Verdict::contradicted ? taken : none;
}

std::string extra_key_paper(const InputKind& input) {
  const std::string token = paper_sink("bias-sinktoken", input, &PaperRow::sink_star),
                    key = paper_sink("bias-k", input, &PaperRow::sink_star);
  return key.empty() ? "" : "sink token " + token + ", K biases " + key + " on *; 0.00 % on token 1,";
}

// Softmax groups that differ in nothing but one setting, by its value.
using Series = std::map<double, const Group*>;

std::vector<Series> series_of(const TaskRuns& task, const std::string& setting, double most) {
  std::vector<std::pair<Identity, Series>> all;
  for (const Group& group : task.groups) {
    const auto runs = evaluated_runs(group);
    if (runs.empty() || !is_plain_softmax(*runs.front())) continue;
    Identity identity = identity_of(*runs.front());
    const auto found = identity.training.find(setting);
    if (!identity.known || found == identity.training.end()) continue;
    const double value = std::strtod(found->second.c_str(), nullptr);
    identity.training.erase(setting);
    if (value > most) continue;
    auto series = std::ranges::find(all, identity, &std::pair<Identity, Series>::first);
    if (series == all.end()) series = all.insert(all.end(), {identity, {}});
    series->second.emplace(value, &group);
  }
  std::vector<Series> out;
  for (auto& [identity, series] : all)
    if (series.size() > 1) out.push_back(std::move(series));
  return out;
}

// "it falls between 0.01 and 0.02", where the interval of two neighbours is beyond the smallest effect; else "".
std::string fall_in(const Series& series) {
  for (auto low = series.begin(), high = std::next(low); high != series.end(); ++low, ++high)
    if (paired_difference(by_seed(*high->second, sink_percent), by_seed(*low->second, sink_percent)).high() <
        -kMinSinkEffect)
      return "it falls between " + plain(low->first) + " and " + plain(high->first);
  return "";
}

std::vector<Answer> growth_answers(const TaskRuns& task, const std::string& setting, double most) {
  std::vector<Answer> answers;
  for (const Series& series : series_of(task, setting, most)) {
    std::string means;
    for (const auto& [value, group] : series)
      means +=
          (means.empty() ? "" : "; ") + plain(value) + ": " + with_interval(by_seed(*group, sink_percent), " %", 1);
    const Group &lowest = *series.begin()->second, &highest = *series.rbegin()->second;
    const BySeed low = by_seed(lowest, sink_percent), high = by_seed(highest, sink_percent);
    BySeed differences;
    for (const auto& [seed, value] : high)
      if (const auto other = low.find(seed); other != low.end()) differences[seed] = value - other->second;
    if (differences.empty()) continue;
    answers.push_back(
        comparison({&lowest, &highest}, differences, paired_difference(high, low), kMinSinkEffect, 1,
                   escape(lowest.ablation) + ", Sink<sub>1</sub> (raw = proxy) at " + escape(setting) + " " + means +
                       ". At the greatest less at the least, seed by seed: " + with_interval(differences, "", 1)));
    if (const std::string fall = fall_in(series); answers.back().verdict == Verdict::supported && !fall.empty())
      answers.back().verdict = Verdict::undecided, answers.back().words = "undecided: " + fall;
  }
  return answers;
}

std::optional<Answer> fixed_token_answer(const Group& group, const Run& run) {
  const InputKind input = input_kind_of(run);
  const auto position = static_cast<std::size_t>(input.fixed_to > 0 ? 0 : input.fixed_position);
  if (run.evaluation->extra != Evaluation::Extra::none || position == 0 ||
      position > run.evaluation->proxy.alpha_k.size())
    return std::nullopt;
  const BySeed lead = by_seed(group, [&](const Run& r) {
    Row above = r.evaluation->proxy.alpha_k;  // above even attention, which is more on earlier positions
    if (above.size() < std::max<std::size_t>(2, position)) return kNaN;
    for (std::size_t i = 0; i < above.size(); ++i) above[i] -= uniform_alpha(r, static_cast<std::int64_t>(i) + 1);
    const double fixed = std::exchange(above[position - 1], -HUGE_VAL);
    return std::ranges::any_of(above, [](double x) { return std::isnan(x); })
               ? kNaN
               : fixed - *std::ranges::max_element(above);
  });
  if (lead.empty()) return std::nullopt;
  return comparison({&group}, lead, estimate_of(lead), kMinAlphaEffect, 3,
                    escape(group.label) + ": &alpha; by proxy above even attention, of position " +
                        std::to_string(position) +
                        " less the greatest of the other first ten: " + with_interval(lead, "", 3));
}

std::string fixed_token_paper(const InputKind& input) {
  const char* values[] = {"74.11 % there", "69.03 % there, 0.00 % on token 1", "69.64 % there, 0.00 % on token 1"};
  return input.fixed_position <= 3 && !paper_sink("base-60m", input).empty() ? values[input.fixed_position - 1] : "";
}

std::vector<Claim> claims_of(const TaskRuns& task) {
  const auto natural_text = [](const char* values) {
    return [=](const InputKind& input) { return std::string(input == InputKind{} ? values : ""); };
  };
  std::vector<Claim> claims;
  add_claim(
      "Softmax attention has a sink on the first token.", answers_of(task, softmax_answer),
      [](const InputKind& input) { return paper_sink("base-60m", input); }, claims);
  add_claim(
      "Sigmoid attention without normalisation has no sink.", answers_of(task, sigmoid_answer),
      [](const InputKind& input) { return paper_sink("op-sigmoid-none", input); }, claims);
  add_claim("An extra key or sink token takes the sink from the first token.", answers_of(task, extra_key_answer),
            extra_key_paper, claims);
  add_claim("The sink of softmax grows with the learning rate.", growth_answers(task, "learning rate", HUGE_VAL),
            natural_text("2.90 % at 1e-4, 11.21 % at 2e-4, 18.18 % at 4e-4, 32.23 % at 8e-4,"), claims);
  add_claim("The sink of softmax grows with weight decay, up to 0.5.", growth_answers(task, "weight decay", 0.5),
            natural_text("15.20 % at 0, 18.18 % at 0.1, 41.08 % at 0.5,"), claims);
  add_claim("A fixed token carries the sink at the position where it is.", answers_of(task, fixed_token_answer),
            fixed_token_paper, claims);
  return claims;
}

}  // namespace

std::string claims_table(const TaskRuns& task) {
  std::string rows;
  for (const Claim& claim : claims_of(task)) {
    const bool tested = claim.verdict != Verdict::not_tested;
    rows += "<tr><th scope=\"row\" class=\"word\">" + claim.sentence + "</th><td class=\"word\">" +
            (tested ? "<b>" + claim.words + "</b>" : claim.words) + "</td><td class=\"word\"><ul>" + claim.values +
            "</ul></td><td class=\"word\">" + claim.paper + "</td></tr>";
  }
  return rows.empty() ? ""
                      : fill(page_file("claims.html"), {{"seeds", std::to_string(kMinSeeds)},
                                                        {"sink", plain(kMinSinkEffect)},
                                                        {"alpha", plain(kMinAlphaEffect)},
                                                        {"rows", rows}});
}

std::string claims_summary(const TaskRuns& task) {
  constexpr std::string_view kEach = " each";
  const std::vector<Claim> all = claims_of(task);
  std::vector<std::pair<std::string, std::size_t>> counts;  // by words without intervals
  for (const Claim& claim : all) {
    std::string words = claim.words.substr(0, claim.words.find(" ["));
    if (claim.verdict != Verdict::not_tested) words = words.substr(0, words.find_first_of(":;"));
    if (words.ends_with(kEach)) words.resize(words.size() - kEach.size());  // added below
    const auto found = std::ranges::find(counts, words, &std::pair<std::string, std::size_t>::first);
    if (found == counts.end())
      counts.emplace_back(words, 1);
    else
      ++found->second;
  }
  std::string out;
  for (const auto& [words, times] : counts)
    out += (out.empty() ? "" : "; ") + (all.size() == 1 ? "" : std::to_string(times) + " ") + words +
           (times > 1 && words.starts_with("not tested") ? std::string(kEach) : "");
  return out.empty() ? "" : (all.size() == 1 ? "The paper\u2019s claim: " : "The paper\u2019s claims: ") + out + ".";
}

}  // namespace sink::report
