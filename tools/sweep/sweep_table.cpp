#include "tools/sweep/sweep_table.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <set>

#include "tools/study/study.h"

namespace sink {
namespace {

using Cells = std::vector<std::string>;

__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...) {
  char text[512];
  std::va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// Jobs of one ablation that have numbers.
using Group = std::vector<const SweepResult*>;

template <class Of>
double mean_of(const Group& group, Of of) {
  double sum = 0;
  for (const SweepResult* result : group) sum += of(*result);
  return sum / static_cast<double>(group.size());
}

// "0.92 (0.90-0.94)"
template <class Of>
std::string mean_and_range(const Group& group, Of of) {
  double low = of(*group.front()), high = low;
  for (const SweepResult* result : group) {
    low = std::min(low, of(*result));
    high = std::max(high, of(*result));
  }
  return format("%.2f", mean_of(group, of)) + (group.size() > 1 ? format(" (%.2f-%.2f)", low, high) : "");
}

// The seeds' stories, each told once: "loss +0.20 above the usual (seed 1)".
std::string story(const std::vector<const SweepResult*>& jobs, const std::map<std::uint64_t, double>& usual) {
  std::string text;
  for (const SweepResult* job : jobs) {
    std::string wrong = what_went_wrong(*job, usual.at(job->seed));
    if (!wrong.empty())
      text += (text.empty() ? "" : "; ") + wrong + format(" (seed %llu)", (unsigned long long)job->seed);
  }
  // A mean is over seeds of one program.
  std::set<std::string> commits;
  for (const SweepResult* job : jobs) commits.insert(job->commit);
  if (commits.size() > 1) {
    text += text.empty() ? "mean over commits" : "; mean over commits";
    for (const std::string& commit : commits) text += " " + commit;
  }
  return text;
}

Cells line_of(const std::string& ablation, const std::vector<const SweepResult*>& jobs,
              const std::map<std::uint64_t, double>& usual) {
  const StudyRow& study = study_row_of(ablation);
  Group group;
  for (const SweepResult* job : jobs)
    if (job->error.empty()) group.push_back(job);
  Cells cells{ablation};
  if (group.empty()) {
    cells.resize(10);
  } else {
    bool star = group.front()->has_star;
    cells.push_back(mean_and_range(group, [](const auto& r) { return r.alpha_1; }));
    cells.push_back(mean_and_range(group, [](const auto& r) { return r.alpha_1_raw; }));
    cells.push_back(star ? mean_and_range(group, [](const auto& r) { return r.alpha_star; }) : "");
    cells.push_back(format("%.0f", mean_of(group, [](const auto& r) { return r.sink_1; })));
    cells.push_back(star ? format("%.0f", mean_of(group, [](const auto& r) { return r.sink_star; })) : "");
    cells.push_back(format("%.3f", mean_of(group, [](const auto& r) { return r.loss; })));
    cells.push_back(format("%+.3f", mean_of(group, [](const auto& r) { return r.loss - r.best_loss; })));
    cells.push_back(format("%.2f", mean_of(group, [](const auto& r) { return r.row_mass; })));
    cells.push_back(format("%.2f", mean_of(group, [](const auto& r) { return r.first_value_norm_ratio; })));
  }
  cells.push_back(story(jobs, usual));
  cells.push_back(study.sink_1);
  cells.push_back(study.sink_star);
  cells.push_back(study.valid);
  return cells;
}

std::string markdown(const std::vector<Cells>& rows) {
  std::vector<std::size_t> width(rows.front().size(), 1);
  for (const Cells& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  std::string text;
  for (const Cells& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) text += "| " + row[c] + std::string(width[c] - row[c].size() + 1, ' ');
    text += "|\n";
    if (&row != &rows.front()) continue;
    for (std::size_t c = 0; c < row.size(); ++c) text.append("|").append(width[c] + 2, '-');
    text += "|\n";
  }
  return text;
}

}  // namespace

std::string what_went_wrong(const SweepResult& r, double usual_loss) {
  constexpr double kVocabularyLoss = 4.1589;  // ln 64: knows nothing
  if (!r.error.empty()) return r.error;
  std::string text;
  auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (r.skipped > 0)
    add(format("%lld step%s not finite, first %lld", (long long)r.skipped, r.skipped > 1 ? "s" : "",
               (long long)r.first_skipped));
  if (r.given_up) add(format("given up at step %lld", (long long)r.steps));
  if (r.worst_loss > kVocabularyLoss)
    add(format("training loss %.3g at step %lld", r.worst_loss, (long long)r.worst_step));
  bool learned =
      std::any_of(r.curve.begin(), r.curve.end(), [](const auto& p) { return p.loss < kVocabularyLoss - 0.3; });
  if (!learned)
    add(format("loss never left ln V (%.2f)", r.loss));
  else if (!(r.loss < usual_loss + 0.02))
    add(format("loss %+.2f from the usual", r.loss - usual_loss));
  return text;
}

std::string sweep_table(const std::vector<SweepResult>& results, const RunConfig& recipe,
                        const std::vector<std::string>& missing) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const SweepResult*>> by_ablation;
  std::map<std::uint64_t, std::vector<double>> losses;
  std::map<std::uint64_t, const SweepResult*> of_seed;
  std::set<std::string> commits;
  double seconds = 0;
  for (const SweepResult& result : results) {
    if (by_ablation[result.ablation].empty()) order.push_back(result.ablation);
    by_ablation[result.ablation].push_back(&result);
    losses[result.seed];
    commits.insert(result.commit);
    seconds += result.seconds;
    if (!result.error.empty()) continue;
    losses[result.seed].push_back(result.loss);
    of_seed[result.seed] = &result;
  }
  std::map<std::uint64_t, double> usual;
  for (const auto& [seed, values] : losses) usual[seed] = median(values);

  std::vector<Cells> rows{{"ablation", "alpha_1, proxy", "alpha_1, raw", "alpha_*", "Sink_1 %", "Sink_* %", "loss",
                           "above best", "row mass", "v_1 / v_t", "what went wrong", "study: Sink_1 %", "Sink_* %",
                           "valid"}};
  for (const std::string& ablation : order) rows.push_back(line_of(ablation, by_ablation[ablation], usual));

  std::string text = markdown(rows) + "\n";
  text += format(
      "Bigram-Backcopy, %lld steps of %lld sequences of %lld, %lld layer%s of %lld heads, width %lld, learning "
      "rate %g; mean (least-greatest) over seeds.\n",
      (long long)recipe.steps, (long long)recipe.batch, (long long)recipe.context, (long long)recipe.layers,
      recipe.layers > 1 ? "s" : "", (long long)recipe.heads, (long long)recipe.width, recipe.learning_rate);
  text +=
      "alpha_*, Sink_*: of the extra key or sink token. best: the best predictor's loss on the same sequences. "
      "v_1 / v_t: norm of the first value against the others' mean. Study: * proxy weights; n.r. not reported.\n";
  for (const std::string& ablation : order)
    if (const RunConfig own = job_config(recipe, ablation, recipe.seed); own.heads != recipe.heads)
      text += format("%s: %lld head%s.\n", ablation.c_str(), (long long)own.heads, own.heads > 1 ? "s" : "");
  for (const auto& [seed, result] : of_seed)
    text += format("Seed %llu: usual loss %.3f (median), best predictor %.3f, expected %.3f.\n",
                   (unsigned long long)seed, usual[seed], result->best_loss, result->entropy_floor);
  text += format("%zu results, %.0f s of one core in all, made by commit", results.size(), seconds);
  for (const std::string& commit : commits) text += " " + commit;
  text += ".\n";
  for (const std::string& job : missing) text += "Missing: " + job + "\n";
  return text;
}

}  // namespace sink
