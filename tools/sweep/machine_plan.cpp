#include "tools/sweep/machine_plan.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>

#include "engine/check.h"
#include "engine/io/printable.h"
#include "tools/sweep/worker_processes.h"
#include "train/dry_run.h"
#include "train/run_config_table.h"
#include "train/trainer.h"

namespace sink {
namespace {

constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();
constexpr double kMinSpeedup = 1.05;       // faster than this is no chance; else more processes, which wait less
constexpr double kMeasuringSeconds = 0.7;  // of measuring, at least one measurement

// Values that child processes leave for their parent.
class SharedValues {
 public:
  explicit SharedValues(std::size_t count) : bytes_(std::max<std::size_t>(1, count) * sizeof(double)) {
    void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    SINK_CHECK(memory != MAP_FAILED, "sweep", "no memory to share with processes", Exit::out_of_memory);
    values_ = static_cast<double*>(memory);
    std::fill_n(values_, count, kNotMeasured);
  }
  ~SharedValues() { ::munmap(values_, bytes_); }
  SharedValues(const SharedValues&) = delete;
  SharedValues& operator=(const SharedValues&) = delete;
  double& operator[](std::size_t i) { return values_[i]; }

 private:
  std::size_t bytes_;
  double* values_;
};

// In a process of its own: the median of as many measurements as fit.
double measure(const TimedRun& timed) {
  settle_process(timed.config);
  TrainingRun run(timed.config, timed.ablation);
  std::vector<double> seconds;
  const auto start = std::chrono::steady_clock::now();
  do {
    seconds.push_back(seconds_per_step(run));
  } while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < kMeasuringSeconds);
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2), seconds.end());
  return seconds[seconds.size() / 2];
}

std::string phrase(const MachinePlan& plan, double rate) {
  char text[96];
  std::snprintf(text, sizeof text, "%zu of %lld thread%s %.3g steps/s", plan.workers,
                static_cast<long long>(plan.threads), plan.threads == 1 ? "" : "s", rate);
  return text;
}

}  // namespace

std::vector<double> seconds_per_step_of(const std::vector<TimedRun>& runs, std::size_t at_once) {
  SharedValues values(runs.size());
  const int signal = run_in_processes(
      runs.size(), at_once,
      [&](std::size_t i) {
        try {
          values[i] = measure(runs[i]);
        } catch (const std::exception& error) {
          std::fprintf(stderr, "sweep: %s cannot be measured: %s\n", runs[i].ablation.name.c_str(),
                       printable(error.what()).c_str());
        }
        return 0;
      },
      [](const JobEnd&) {});
  if (signal) fail("sweep", "stopped by signal " + std::to_string(signal), static_cast<Exit>(128 + signal));
  std::vector<double> seconds;
  for (std::size_t i = 0; i < runs.size(); ++i) seconds.push_back(values[i]);
  return seconds;
}

MachinePlan fastest_plan(const TimedRun& run, std::int64_t cores, std::size_t runs) {
  if (run.config.device != "cpu") return {1, cores, "one process has the device"};
  std::vector<std::int64_t> tried;
  for (std::int64_t threads = 1; threads < cores; threads *= 2) tried.push_back(threads);
  tried.push_back(cores);
  MachinePlan best;
  double best_rate = 0;
  std::string measured;
  for (std::int64_t threads : tried) {
    MachinePlan plan{std::clamp<std::size_t>(static_cast<std::size_t>(cores / threads), 1, runs), threads, ""};
    TimedRun timed = run;
    timed.config.threads = threads;
    double rate = 0;
    for (double seconds : seconds_per_step_of(std::vector(plan.workers, timed), plan.workers))
      rate += std::isfinite(seconds) ? 1 / seconds : -std::numeric_limits<double>::infinity();
    measured += (measured.empty() ? "" : ", ") + (rate > 0 ? phrase(plan, rate) : std::string("one that failed"));
    if (rate > best_rate * kMinSpeedup) {
      best = plan;
      best_rate = rate;
    }
  }
  best.measured = measured;
  return best;
}

double seconds_of_run(const RunConfig& config, double seconds_per_step) {
  const double steps = static_cast<double>(config.steps),
               evaluations = std::floor(steps / static_cast<double>(config.eval_every)) + 2,
               sequence = seconds_per_step / static_cast<double>(config.batch * config.accumulate);
  return steps * seconds_per_step + evaluations * static_cast<double>(config.eval_sequences) * sequence / 3;
}

std::string shape_of(const RunConfig& config) {
  RunConfig shape = config;
  const RunConfig usual;
  for (const Setting<RunConfig>& setting : run_config_table())
    if (std::holds_alternative<double>(setting.of_kind)) setting.set(shape, setting.value(usual));
  shape.seed = 0;
  shape.steps = shape.warmup = shape.eval_every = shape.checkpoint_every = shape.log_every = 1;
  return to_toml(shape);
}

}  // namespace sink
