// What `--dry-run` says of a run on ranks: the plan of train/distributed/rank_plan.h as text.
#include <cstdio>

#include "train/dry_run.h"
#include "train/initial_model.h"
#include "train/progress.h"
#include "train/distributed/rank_plan.h"

namespace sink {
namespace {

std::string mib_text(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, bytes >= 1024.0 * (1 << 20) ? "%.2f GiB" : "%.1f MiB",
                bytes / (bytes >= 1024.0 * (1 << 20) ? 1024.0 * (1 << 20) : 1 << 20));
  return text;
}

std::string memory_text(const RankPlan& plan) {
  const RankMemory memory = memory_of(plan);
  std::string text = mib_text(memory.total()) + ": ";
  bool first = true;
  for (auto [bytes, name] : {std::pair{memory.weights, "weights"},
                             {memory.copies, "their bf16 copy"},
                             {memory.gradients, "gradients"},
                             {memory.moments, "moments"},
                             {memory.sums, "sums of micro-batches"}}) {
    if (bytes == 0) continue;
    text += (first ? "" : ", ") + mib_text(bytes) + " " + name;
    first = false;
  }
  return text;
}

}  // namespace

std::string text_of_rank_plan(const RunConfig& config, const Ablation& ablation, std::int64_t vocabulary, int ranks) {
  require_ranks_divide(config, ranks);
  const std::unique_ptr<LanguageModel> model = make_model_without_numbers(config, ablation, vocabulary);
  RankPlan plan{.sections = model->parameters().section_sizes(ranks),
                .ranks = ranks,
                .zero = config.zero,
                .micro_batches = config.accumulate,
                .ordered = config.gradient_sum == "ordered",
                .bf16 = config.precision == "bf16",
                .moments = config.optimizer == "adamw" ? 2 : 1};
  if (config.optimizer == "muon" || config.optimizer == "orthoadam") plan.moments = 2;  // at most
  const auto tokens = static_cast<double>(config.tokens_per_step());
  char line[512];
  std::string text;
  auto say = [&](const char* name, const std::string& what) {
    std::snprintf(line, sizeof line, "%-16s %s\n", name, what.c_str());
    text += line;
  };
  say("ablation", ablation.name + " (" + ablation.policies + ")");
  say("parameters", std::to_string(model->parameters().count()));
  std::snprintf(line, sizeof line, "%d, --zero %lld, each %lld of the %lld micro-batches of a step (%lld tokens)",
                ranks, static_cast<long long>(config.zero), static_cast<long long>(plan.rounds()),
                static_cast<long long>(config.accumulate), static_cast<long long>(config.tokens_per_step()));
  say("ranks", line);
  say("memory per rank", memory_text(plan));
  say("", "and what a pass keeps of --batch sequences (--dry-run without --nproc measures it)");
  say("on the wire", "each rank sends " + mib_text(bytes_sent_of(plan)) + " a step");
  if (config.rate <= 0) {
    say("time", "not known: --rate says how many tokens a second one rank trains alone, --link what it can send");
    return text;
  }
  const RankTime time = time_of(plan, tokens, config.rate, config.link * 1e9);
  std::snprintf(line, sizeof line, "%.4g ms a step (%.4g computing, %s), %.4g tokens a second, about %s for %lld steps",
                time.step() * 1e3, time.computing * 1e3,
                ranks == 1 || config.link > 0 ? (std::to_string(time.waiting * 1e3).substr(0, 6) + " waiting").c_str()
                                              : "waiting not known without --link",
                tokens / time.step(), duration(time.step() * static_cast<double>(config.steps)).c_str(),
                static_cast<long long>(config.steps));
  say("time", line);
  say("", "of stated rates: --rate and --link");
  return text;
}

}  // namespace sink
