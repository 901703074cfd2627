#include "tools/sweep/machine_plan.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>

#include "engine/check.h"
#include "engine/io/printable.h"
#include "engine/io/str_format.h"
#include "tools/sweep/worker_processes.h"
#include "train/dry_run.h"
#include "train/run_config_table.h"
#include "train/trainer.h"

namespace sink {
namespace {

constexpr double kNotTimed = std::numeric_limits<double>::quiet_NaN();
constexpr double kMinSpeedup = 1.05;       // smaller differences are noise: then more processes are preferred
constexpr double kMeasuringSeconds = 0.7;  // of measuring each plan

// Memory in which child processes store one value each for their parent.
std::shared_ptr<double[]> shared_values(std::size_t count) {
  const std::size_t bytes = std::max<std::size_t>(1, count) * sizeof(double);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  SINK_CHECK(memory != MAP_FAILED, "sweep", "cannot allocate memory shared with child processes", Exit::out_of_memory);
  std::fill_n(static_cast<double*>(memory), count, kNotTimed);
  return {static_cast<double*>(memory), [bytes](double* values) { ::munmap(values, bytes); }};
}

// The median of as many measurements as fit into kMeasuringSeconds. Runs in its own process.
double measure(const TimedRun& timed) {
  apply_compute_options(timed.config);
  TrainingRun run(timed.config, timed.ablation);
  std::vector<double> seconds;
  const auto start = std::chrono::steady_clock::now();
  do {
    seconds.push_back(seconds_per_step(run));
  } while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < kMeasuringSeconds);
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2), seconds.end());
  return seconds[seconds.size() / 2];
}

std::string speed_text(const MachinePlan& plan, double rate) {
  return str_format("%zu of %s %.3g steps/s", plan.workers, counted(plan.threads, "thread"), rate);
}

}  // namespace

std::vector<double> seconds_per_step_of(const std::vector<TimedRun>& runs, std::size_t at_once) {
  const std::shared_ptr<double[]> values = shared_values(runs.size());
  const auto body = [&](std::size_t i) {
    try {
      values[i] = measure(runs[i]);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "sweep: warning: cannot measure the speed of %s: %s\n", runs[i].ablation.name.c_str(),
                   printable(error.what()).c_str());
    }
    return 0;
  };
  std::size_t started = 0;
  const auto next = [&] { return started < runs.size() ? std::optional(started++) : std::nullopt; };
  const int signal = run_in_processes({next, body, [](const JobEnd&) {}}, at_once);
  if (signal) fail("sweep", "stopped by signal " + std::to_string(signal), static_cast<Exit>(128 + signal));
  return {values.get(), values.get() + runs.size()};
}

namespace {

// Of all processes of the plan together; not positive if one of them failed.
double steps_per_second(TimedRun run, const MachinePlan& plan) {
  run.config.threads = plan.threads;
  double rate = 0;
  for (double seconds : seconds_per_step_of(std::vector(plan.workers, run), plan.workers))
    rate += std::isfinite(seconds) ? 1 / seconds : -std::numeric_limits<double>::infinity();
  return rate;
}

}  // namespace

MachinePlan fastest_plan(const TimedRun& run, std::int64_t cores, std::size_t runs) {
  MachinePlan best;
  double best_rate = 0;
  std::string measured;
  // Whether this is faster than the plans before it.
  const auto is_faster = [&](std::int64_t workers, std::int64_t threads) {
    const MachinePlan plan{std::clamp<std::size_t>(static_cast<std::size_t>(workers), 1, runs), threads, ""};
    const double rate = steps_per_second(run, plan);
    measured += (measured.empty() ? "" : ", ") + (rate > 0 ? speed_text(plan, rate) : std::string("one that failed"));
    if (rate <= best_rate * kMinSpeedup) return false;
    best = plan;
    best_rate = rate;
    return true;
  };
  if (run.config.device == "cpu") {
    for (std::int64_t threads = 1; threads < cores; threads *= 2) is_faster(cores / threads, threads);
    is_faster(1, cores);
  } else {  // from one process on, as more of them may not fit into the device's memory
    const std::int64_t most = std::min(cores, static_cast<std::int64_t>(runs));
    for (std::int64_t workers = 1; workers <= most && is_faster(workers, std::max<std::int64_t>(1, cores / workers));)
      workers *= 2;
  }
  best.measured = measured;
  return best;
}

double seconds_of_run(const RunConfig& config, double seconds_per_step) {
  const double steps = static_cast<double>(config.steps), every = static_cast<double>(config.eval_every),
               evaluations = config.eval_every > 0 ? std::floor(steps / every) + 2 : 2,
               sequence = seconds_per_step / static_cast<double>(config.batch * config.accumulate);
  return steps * seconds_per_step + evaluations * static_cast<double>(config.eval_sequences) * sequence / 3;
}

std::string timing_key(const RunConfig& config) {
  RunConfig shape = config;
  const RunConfig defaults;
  for (const Setting<RunConfig>& setting : run_config_table())
    if (std::holds_alternative<double>(setting.of_kind)) setting.set(shape, setting.value(defaults));
  shape.seed = 0;
  shape.steps = shape.warmup = shape.eval_every = shape.checkpoint_every = shape.log_every = 1;
  return to_toml(shape);
}

}  // namespace sink
