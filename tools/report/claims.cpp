#include "tools/report/claims.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "tools/report/html_text.h"
#include "tools/report/run_settings.h"

namespace sink::report {
namespace {

constexpr std::size_t kMostArms = 6;  // whose numbers are spelled out in one claim

// What a claim asks of one arm, or of a series of arms.
struct Answer {
  Verdict verdict = Verdict::open;
  std::size_t seeds = 0;
  std::string numbers;
};

BySeed by_seed(const Arm& arm, const std::function<double(const Run&)>& value) {
  BySeed out;
  for (const Run* run : arm.finished())
    if (run->evaluation && run->evaluation->input == "text")
      if (const double number = value(*run); std::isfinite(number)) out[run->seed] = number;
  return out;
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
  if (i.n > 1) out += " [" + number(i.mean - i.half, decimals) + ", " + number(i.mean + i.half, decimals) + "]";
  return out + unit + " (" + seeds_of(values) + (i.n > 1 ? "" : ", no interval") + ")";
}

Verdict opposite(Verdict verdict) {
  return verdict == Verdict::holds ? Verdict::fails : verdict == Verdict::fails ? Verdict::holds : Verdict::open;
}

// A claim holds or fails where it does so of all.
std::optional<Claim> together(const std::string& sentence, const std::string& paper,
                              const std::vector<Answer>& answers) {
  if (answers.empty()) return std::nullopt;
  Claim claim{sentence, answers.front().verdict, false, "", paper};
  std::size_t held = 0, failed = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Answer& answer = answers[i];
    if (answer.verdict != claim.verdict) claim.verdict = Verdict::open;
    held += answer.verdict == Verdict::holds;
    failed += answer.verdict == Verdict::fails;
    claim.one_seed = claim.one_seed || answer.seeds == 1;
    if (i < kMostArms) claim.numbers += "<li>" + answer.numbers + "</li>";
  }
  if (answers.size() > kMostArms)
    claim.numbers += "<li>and " + std::to_string(answers.size() - kMostArms) + " more, in the table below</li>";
  if (answers.size() > 1)
    claim.numbers += "<li>of " + std::to_string(answers.size()) + " in all: true of " + std::to_string(held) +
                     ", not true of " + std::to_string(failed) + "</li>";
  return claim;
}

double sink_percent(const Run& run) { return run.evaluation->sink_at(0.3, false); }
double raw_percent(const Run& run) { return run.evaluation->sink_at(0.3, true); }

const Run* measured(const Arm& arm) {
  const auto runs = arm.finished();
  return runs.empty() || !runs.front()->evaluation ? nullptr : runs.front();
}

std::optional<Claim> softmax_has_a_sink(const Group& group) {
  std::vector<Answer> answers;
  for (const Arm& arm : group.arms) {
    const Run* run = measured(arm);
    if (!run || run->attention != "softmax" || run->evaluation->extra != "none") continue;
    const BySeed sinks = by_seed(arm, sink_percent);
    if (sinks.empty()) continue;
    answers.push_back({above(estimate_of(sinks), kSinkPercent), sinks.size(),
                       escape(arm.label) + ": Sink<sub>1</sub> " + spelled(sinks, " %", 1)});
  }
  return together("Softmax attention has a sink on the first token.", "18.18 %", answers);
}

std::optional<Claim> sigmoid_has_none(const Group& group) {
  std::vector<Answer> answers;
  for (const Arm& arm : group.arms) {
    const Run* run = measured(arm);
    if (!run || run->attention != "sigmoid") continue;
    const BySeed sinks = by_seed(arm, sink_percent), raw = by_seed(arm, raw_percent);
    if (sinks.empty()) continue;
    answers.push_back({opposite(above(estimate_of(sinks), kSinkPercent)), sinks.size(),
                       escape(arm.label) + ": Sink<sub>1</sub> by proxy, as the study scores it, " +
                           spelled(sinks, " %", 1) + "; raw " + spelled(raw, " %", 1)});
  }
  return together("Sigmoid attention without normalisation has no sink.", "0.44 % (proxy)", answers);
}

std::optional<Claim> extra_key_takes_it(const Group& group) {
  std::vector<Answer> answers;
  for (const Arm& arm : group.arms) {
    const Run* run = measured(arm);
    if (!run || (run->evaluation->extra != "key" && run->evaluation->extra != "token")) continue;
    const BySeed first = by_seed(arm, sink_percent),
                 star = by_seed(arm, [](const Run&r) { return r.evaluation->sink_star_at(0.3, false); });
    if (first.empty() || star.empty()) continue;
    const Verdict none = opposite(above(estimate_of(first), kSinkPercent)),
                  taken = above(estimate_of(star), kSinkPercent);
    Verdict verdict = none == Verdict::holds && taken == Verdict::holds ? Verdict::holds : Verdict::open;
    if (none == Verdict::fails || taken == Verdict::fails) verdict = Verdict::fails;
    answers.push_back({verdict, std::min(first.size(), star.size()),
                       escape(arm.label) + ": Sink<sub>*</sub> " + spelled(star, " %", 1) + ", Sink<sub>1</sub> " +
                           spelled(first, " %", 1)});
  }
  return together("An extra key or sink token takes the sink from the first token.",
                  "sink token 74.12 % on *, K biases 73.34 %; 0.00 % on token 1", answers);
}

// Arms of softmax that differ in nothing but the setting of that name, by its value.
using Series = std::map<double, const Arm*>;

std::vector<Series> series_of(const Group& group, const std::string& name, double most) {
  std::vector<std::pair<Identity, Series>> all;
  for (const Arm& arm : group.arms) {
    const Run* run = measured(arm);
    if (!run || run->evaluation->input != "text" || run->attention != "softmax" || run->evaluation->extra != "none")
      continue;
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
                                const std::string& paper) {
  std::vector<Answer> answers;
  for (const Series& series : series_of(group, name, most)) {
    std::string means;
    for (const auto& [value, arm] : series)
      means += (means.empty() ? "" : "; ") + plain(value) + ": " + spelled(by_seed(*arm, sink_percent), " %", 1);
    const BySeed least = by_seed(*series.begin()->second, sink_percent),
                 greatest = by_seed(*series.rbegin()->second, sink_percent);
    BySeed differences;
    for (const auto& [seed, value] : greatest)
      if (const auto other = least.find(seed); other != least.end()) differences[seed] = value - other->second;
    if (differences.empty()) continue;
    answers.push_back({above(estimate_of(differences), 0), differences.size(),
                       escape(series.begin()->second->ablation) + ", Sink<sub>1</sub> at " + escape(name) + " " +
                           means +
                           ". At the greatest less at the least, seed by seed: " + spelled(differences, "", 1)});
  }
  return together(sentence, paper, answers);
}

std::optional<Claim> fixed_token_carries_it(const Group& group) {
  std::vector<Answer> answers;
  for (const Arm& arm : group.arms) {
    const Run* run = measured(arm);
    if (!run || run->evaluation->extra != "none") continue;
    const bool fixed = std::any_of(run->settings.begin(), run->settings.end(), [](const auto& setting) {
      return (setting.first == "fixed-token" || setting.first == "fixed-first-token") && !setting.second.empty() &&
             setting.second[0] != '-';
    });
    const auto position = static_cast<std::size_t>(std::max<std::int64_t>(1, whole_setting(*run, "fixed-position")));
    if (!fixed || position > run->evaluation->alpha_k.size()) continue;
    const BySeed lead = by_seed(arm, [&](const Run& r) {
      Row alpha = r.evaluation->alpha_k;
      if (alpha.size() < std::max<std::size_t>(2, position)) return kNaN;
      const double own = alpha[position - 1];
      alpha.erase(alpha.begin() + static_cast<std::ptrdiff_t>(position) - 1);
      return own - *std::max_element(alpha.begin(), alpha.end());
    });
    if (lead.empty()) continue;
    answers.push_back({above(estimate_of(lead), 0), lead.size(),
                       escape(arm.label) + ": &alpha; of position " + std::to_string(position) +
                           " less the greatest of the other first ten: " + spelled(lead, "", 3)});
  }
  return together("A fixed token carries the sink at the position where it stands.",
                  "at positions 1, 2 and 3: 74.11, 69.03 and 69.64 % there, 0.00 % elsewhere", answers);
}

std::string verdict_text(const Claim& claim) {
  const std::string text = claim.verdict == Verdict::holds   ? "true"
                           : claim.verdict == Verdict::fails ? "not true"
                                                             : "not decided by these runs";
  return claim.one_seed && claim.verdict != Verdict::open ? text + " (of one seed: no interval)" : text;
}

}  // namespace

Verdict above(const Estimate& interval, double bound) {
  if (interval.n == 0 || !std::isfinite(interval.mean)) return Verdict::open;
  const double half = interval.n > 1 ? interval.half : 0;
  if (interval.mean - half > bound) return Verdict::holds;
  if (interval.mean + half < bound) return Verdict::fails;
  return Verdict::open;
}

std::vector<Claim> claims(const Group& group) {
  std::vector<Claim> out;
  for (std::optional<Claim> claim :
       {softmax_has_a_sink(group), sigmoid_has_none(group), extra_key_takes_it(group),
        grows_with(group, "learning rate", HUGE_VAL, "The sink of softmax grows with the learning rate.",
                   "2.90 % at 1e-4, 11.21 % at 2e-4, 18.18 % at 4e-4, 32.23 % at 8e-4"),
        grows_with(group, "weight decay", 0.5, "The sink of softmax grows with weight decay, up to 0.5.",
                   "15.20 % at 0, 18.18 % at 0.1, 41.08 % at 0.5"),
        fixed_token_carries_it(group)})
    if (claim) out.push_back(std::move(*claim));
  return out;
}

std::string claims_table(const Group& group) {
  const std::vector<Claim> all = claims(group);
  if (all.empty()) return "";
  std::string out =
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Claims of the study and their "
      "verdicts\"><table "
      "class=\"claims\"><thead><tr><th scope=\"col\" class=\"word\">claim of the study</th><th scope=\"col\" "
      "class=\"word\">in these runs</th><th scope=\"col\" class=\"word\">because</th><th scope=\"col\" "
      "class=\"word\">the paper</th></tr></thead><tbody>";
  for (const Claim& claim : all)
    out += "<tr><th scope=\"row\" class=\"word\">" + claim.claim + "</th><td class=\"word\"><b>" + verdict_text(claim) +
           "</b></td><td class=\"word\"><ul>" + claim.numbers + "</ul></td><td class=\"word\">" + claim.paper +
           "</td></tr>";
  return out + "</tbody></table></div>";
}

}  // namespace sink::report
