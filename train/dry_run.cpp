#include "train/dry_run.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "engine/io/printable.h"
#include "engine/io/str_format.h"
#include "engine/storage.h"
#include "engine/threads.h"
#include "train/distributed/rank_plan.h"
#include "train/initial_model.h"
#include "train/optimizers/optimizers.h"
#include "train/progress.h"

namespace sink {
namespace {

double mib(double bytes) { return bytes / (1 << 20); }

// More than this is not computed to tell what it costs: a fraction of a second, of the fast path or of the plain loops.
double most_flops(const RunConfig& config) { return config.reference || config.precision == "f64" ? 1e9 : 5e10; }

struct Cost {
  double seconds;         // of a micro-batch
  double update_seconds;  // of an update
  double peak_bytes;      // of the process, on the device of the run
};

// Forward and backward over the first `rows` sequences, of which the first T tokens, and an update at a rate of 0. What
// is done once is done before.
Cost measured(TrainingRun& run, std::int64_t rows, std::int64_t T) {
  Batch batch = run.data().train_batch(0, 0, rows).first(T);
  Tensor scalars = make_step_scalars(/*learning_rate=*/0, /*update=*/1).to(run.model().parameters().device());
  auto seconds_of = [](auto&& work) {
    auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Cost cost{};
  for (int round = 0; round < 2; ++round) {
    cost.seconds = seconds_of([&] { run.add_gradients(batch, 1).to(Device::cpu); });
    cost.update_seconds = seconds_of([&] {
      run.optimizer().step(scalars);
      scalars.to(Device::cpu);  // waits for a GPU
    });
  }
  cost.peak_bytes = static_cast<double>(allocator_stats(run.model().parameters().device()).peak_bytes_in_use);
  return cost;
}

// The cost of a micro-batch and on how many tokens it was measured. One that is too large is not run: its time follows
// from the operations of a shorter sequence, its memory from two of them, for it grows with the tokens (no map is
// kept).
std::pair<Cost, std::int64_t> cost_of(TrainingRun& run) {
  const RunConfig& config = run.config();
  std::int64_t tokens = config.batch * config.context;
  auto flops = [&](std::int64_t rows, std::int64_t T) { return run.model().training_flops(rows * T, T); };
  std::int64_t T = std::max<std::int64_t>(128, config.prefix + 1);
  if (flops(config.batch, config.context) <= most_flops(config) || 2 * T >= tokens || 2 * T > config.context)
    return {measured(run, config.batch, config.context), tokens};
  while (4 * T <= config.context && flops(1, 4 * T) < most_flops(config) / 2) T *= 2;
  Cost small = measured(run, 1, T), large = measured(run, 1, 2 * T);
  double bytes_per_token = std::max(0.0, large.peak_bytes - small.peak_bytes) / static_cast<double>(T);
  return {{large.seconds * flops(config.batch, config.context) / flops(1, 2 * T), large.update_seconds,
           large.peak_bytes + bytes_per_token * static_cast<double>(tokens - 2 * T)},
          2 * T};
}

double seconds_of_step(const Cost& cost, const RunConfig& config) {
  return cost.seconds * static_cast<double>(config.accumulate) + cost.update_seconds;
}

std::string mib_text(double bytes) {
  const bool gib = bytes >= 1 << 30;
  return str_format(gib ? "%.2f GiB" : "%.1f MiB", bytes / (gib ? 1 << 30 : 1 << 20));
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

double seconds_per_step(TrainingRun& run) { return seconds_of_step(cost_of(run).first, run.config()); }

std::vector<std::string> data_use(const DataSource& data, double tokens) {
  std::vector<std::string> lines;
  auto in_data = static_cast<double>(data.train_tokens());
  if (in_data <= 0) return lines;
  lines.push_back(str_format("%.2f passes over %.4g tokens of data", tokens / in_data, in_data));
  std::vector<DomainUse> domains = data.domains();
  if (domains.size() < 2) return lines;
  for (const DomainUse& domain : domains)
    lines.push_back(str_format("  %-24s %7.4f of what is read, %8.2f passes over %.4g tokens", printable(domain.name),
                               domain.share, domain.passes(tokens), static_cast<double>(domain.tokens)));
  return lines;
}

int print_dry_run(TrainingRun& run) {
  const RunConfig& config = run.config();
  const LanguageModel& model = run.model();
  auto tokens = static_cast<double>(config.tokens_per_step());  // a run has more than 64 bits count
  auto steps = static_cast<double>(config.steps);
  auto [cost, measured_on] = cost_of(run);
  double seconds = seconds_of_step(cost, config);
  double flops = model.training_flops(1, config.context) * tokens;
  std::printf("ablation         %s (%s)\n", run.ablation().name.c_str(), run.ablation().policies.c_str());
  std::printf("parameters       %lld\n", static_cast<long long>(model.parameters().count()));
  for (const auto& parameter : model.parameters())
    std::printf("  %-44s %s\n", parameter->name().c_str(), parameter->info().shape.str().c_str());
  std::printf("tokens per step  %lld (%s of %lld)\n", static_cast<long long>(config.tokens_per_step()),
              counted(config.batch * config.accumulate, "sequence").c_str(), static_cast<long long>(config.context));
  std::printf("steps            %lld, %.4g tokens in all", static_cast<long long>(config.steps), steps * tokens);
  for (const std::string& line : data_use(run.data(), steps * tokens))
    std::printf("%s%s", line.starts_with(' ') ? "\n" : ", ", line.c_str());
  std::printf("\nFLOPs            %.4g per step, %.4g in all\n", flops, flops * steps);
  bool whole = measured_on == config.batch * config.context;
  // On a GPU the logits of a block stop growing at 1 GiB (linear_cross_entropy), which the estimate ignores.
  const char* about = whole ? "" : config.device == "cuda" ? "at most about " : "about ";
  std::printf("memory           %s%.1f MiB at the peak of a step, weights and optimiser included\n", about,
              mib(cost.peak_bytes));
  std::printf("%s    %.1f ms per step on %d threads (%.4g FLOP/s), so about %s for the run\n",
              whole ? "measured here" : "estimated    ", seconds * 1e3, thread_count(), flops / seconds,
              duration(seconds * steps).c_str());
  if (!whole)
    std::printf("                 from one sequence of %lld tokens: a whole micro-batch has %lld, too many to try\n",
                static_cast<long long>(measured_on), static_cast<long long>(config.batch * config.context));
  return 0;
}

std::string text_of_rank_plan(const RunConfig& config, const Ablation& ablation, std::int64_t vocabulary, int ranks) {
  require_ranks_divide(config, ranks);
  const std::unique_ptr<LanguageModel> model = make_unallocated_model(config, ablation, vocabulary);
  const RankPlan plan{.buckets = model->parameters().bucket_sizes(ranks),
                      .ranks = ranks,
                      .zero = config.zero,
                      .micro_batches = config.accumulate,
                      .ordered = config.gradient_sum == "ordered",
                      .bf16 = config.precision == "bf16",
                      .bytes = config.precision == "f64" ? 8 : 4,
                      .moments = optimizer_kind(config.optimizer).moments};
  const auto tokens = static_cast<double>(config.tokens_per_step());
  std::string text;
  auto say = [&](const char* name, const std::string& what) { text += str_format("%-16s %s\n", name, what); };
  say("ablation", ablation.name + " (" + ablation.policies + ")");
  say("parameters", std::to_string(model->parameters().count()));
  say("ranks", str_format("%d, --zero %lld, each %lld of the %lld micro-batches of a step (%lld tokens)", ranks,
                          config.zero, plan.rounds(), config.accumulate, config.tokens_per_step()));
  say("memory per rank", memory_text(plan));
  say("", "and what a pass keeps of --batch sequences (--dry-run without --nproc measures it)");
  say("on the wire", "each rank sends " + mib_text(bytes_sent_of(plan)) + " a step");
  if (config.rate <= 0) {
    say("time", "not known: --rate says how many tokens a second one rank trains alone, --link what it can send");
    return text;
  }
  const RankTime time = time_of(plan, tokens, config.rate, config.link * 1e9);
  const std::string waiting = ranks == 1 || config.link > 0 ? str_format("%.4g waiting", time.waiting * 1e3)
                                                            : "waiting not known without --link";
  say("time", str_format("%.4g ms a step (%.4g computing, %s), %.4g tokens a second, about %s for %lld steps",
                         time.step() * 1e3, time.computing * 1e3, waiting, tokens / time.step(),
                         duration(time.step() * static_cast<double>(config.steps)), config.steps));
  say("", "of stated rates: --rate and --link");
  return text;
}

}  // namespace sink
