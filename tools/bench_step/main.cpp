// bench_step: times training steps of a model on random tokens, and separately its matrix products, on the CPU or on
// the CUDA device. Prints one JSON line; tools/bench/compare_step.py compares it with PyTorch.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/io/command_line.h"
#include "engine/io/program.h"
#include "engine/io/setting.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/rng.h"
#include "engine/threads.h"
#include "model/all_ablations.h"
#include "tools/bench_step/random_tokens.h"
#include "train/run_config_table.h"
#include "train/training_run.h"

namespace sink {
namespace {

double now_ms() {
  auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(time).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// At most four million of them, repeated: the host would draw the 1.65 billion of one product of 60M for 40 s.
Tensor random_values(const Shape& shape, DType type, Device device) {
  Rng rng(1, "bench");
  auto value = [&](std::int64_t i, std::int64_t) { return rng.uniform(static_cast<std::uint64_t>(i)) - 0.5; };
  constexpr std::int64_t kMost = 1 << 22;
  Tensor drawn = Tensor::table<float>(std::min(shape.size(), kMost), 1, value).to(type).to(device);
  Tensor x = Tensor::empty({shape.size(), 1}, type, device);
  for (std::int64_t first = 0; first < x.size(); first += kMost) {
    std::int64_t count = std::min(kMost, x.size() - first);
    Tensor part = x.rows(first, first + count);
    part.copy_from(drawn.rows(0, count));
  }
  return x.reshape(shape);
}

// GFLOP/s of the three products of y = x W^T over all weight shapes of the model, weighted by their operations.
double gemm_rate(const LanguageModel& model, std::int64_t tokens, DType type, Device device) {
  struct Product {
    std::int64_t out, in, count;
  };
  const Sizes& s = model.sizes();
  std::vector<Product> products{{3 * s.width, s.width, s.layers},
                                {s.width, s.width, s.layers},
                                {2 * s.feed_forward, s.width, s.layers},
                                {s.width, s.feed_forward, s.layers},
                                {s.vocabulary, s.width, 1}};
  double operations = 0, milliseconds = 0;
  for (auto [out, in, count] : products) {
    Tensor x = random_values({tokens, in}, type, device), w = random_values({out, in}, type, device);
    Tensor y = random_values({tokens, out}, type, device), dw = Tensor::empty({out, in}, DType::F32, device);
    Tensor sync = Tensor::zeros({1}, DType::F32, device);
    auto time = [&](auto&& product) {
      std::vector<double> times;
      for (int round = 0; round < 6; ++round) {
        double start = now_ms();
        product();
        sync.to(Device::cpu);  // waits for a GPU
        times.push_back(now_ms() - start);
      }
      times.erase(times.begin());  // includes planning and page faults
      milliseconds += static_cast<double>(count) * median(times);
      operations += 2.0 * static_cast<double>(count * tokens * out * in);
    };
    time([&] { matmul({x}, transposed(w), y); });
    time([&] { matmul({y}, {w}, x); });
    time([&] { matmul(transposed(y), {x}, dw); });
  }
  return operations / milliseconds * 1e-6;
}

double peak_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  return 0;
}

struct Request {
  std::string model = "text", ablation;
  RunConfig config;
  int threads = 0;
  double seconds = 10;
};

// Returns false after --help.
bool parse(int argc, char** argv, Request& request) {
  CLI::App app("Times training steps (forward, backward, clipping, update) on random tokens; prints one JSON line.",
               "bench_step");
  app.add_option("--model", request.model, "text: of the quickstart, 60m: of the paper; with T = 2048")
      ->check(CLI::IsMember({"text", "60m"}));
  RunConfig given;
  given.layers = given.heads = given.width = given.feed_forward = given.context = given.batch = 0;
  app.add_option("--precision", given.precision)->check(CLI::IsMember({"f32", "bf16"}));
  app.add_option("--ablation", request.ablation, "[pos_learnable for text, baseline for 60m]");
  app.add_option("--device", given.device)->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--graph", given.graph, "CUDA graph or one launch per kernel; with --device cuda")
      ->check(CLI::IsMember({"on", "off"}));
  app.add_option("--optimizer", given.optimizer)
      ->check(CLI::IsMember(setting_named(run_config_table(), "optimizer")->choices));
  app.add_option("--threads", request.threads, "0: all")->check(whole_number(0, 4096));
  app.add_option("--seconds", request.seconds, "duration of the measurement; after two warm-up steps")
      ->check(real_number(0, 1e6));
  app.add_option("--layers", given.layers, "overrides --model, as do the options below");
  app.add_option("--heads", given.heads);
  app.add_option("--d-model,--width", given.width);
  app.add_option("--feed-forward", given.feed_forward);
  app.add_option("--vocabulary", given.vocabulary);
  app.add_option("--context", given.context);
  app.add_option("--batch", given.batch, "sequences per step");
  app.add_option("--window", given.window, "keys a token sees; 0: all");
  if (!parse_command_line(app, argc, argv)) return false;

  bool text = request.model == "text";
  auto or_else = [](std::int64_t value, std::int64_t of_model) { return value ? value : of_model; };
  RunConfig& config = request.config = given;
  config.layers = or_else(given.layers, text ? 3 : 10);
  config.heads = or_else(given.heads, text ? 4 : 8);
  config.width = or_else(given.width, text ? 128 : 768);
  config.feed_forward = or_else(given.feed_forward, text ? 256 : 1536);
  config.context = or_else(given.context, text ? 64 : 2048);
  config.batch = or_else(given.batch, text ? 48 : 1);
  config.learning_rate = 4e-4;
  config.warmup = 0;
  config.vocabulary = or_else(given.vocabulary, text ? 4096 : 50432);
  if (request.ablation.empty()) request.ablation = text ? "pos_learnable" : "baseline";
  return true;
}

int run(int argc, char** argv) {
  Request request;
  if (!parse(argc, argv, request)) return 0;
  start_threads(request.threads);
  const RunConfig& config = request.config;
  TrainingRun run(config, ablation_named(request.ablation),
                  std::make_unique<RandomTokens>(config.vocabulary, config.batch, config.context));
  double first_loss = run.step().loss, loss = run.step().loss;  // warm-up
  std::vector<double> times;
  for (double total = 0; times.size() < 5 || total < 1000 * request.seconds; total += times.back()) {
    StepResult result = run.step();
    loss = result.loss;
    times.push_back(1000 * result.seconds);
  }
  double peak = peak_mib(), milliseconds = median(times);
  auto peak_on_device = static_cast<double>(allocator_stats(Device::cuda).peak_bytes_in_use);
  std::int64_t tokens = config.tokens_per_step();
  double flops = run.model().training_flops(tokens, config.context);
  Device device = device_named(config.device);
  double gemm = gemm_rate(run.model(), tokens, dtype_named(config.precision), device);
  nlohmann::ordered_json line{{"program", "sinklab"},
                              {"model", request.model},
                              {"precision", config.precision},
                              {"ablation", request.ablation},
                              {"optimizer", config.optimizer},
                              {"window", config.window},
                              {"device", description_of(device)},
                              {"graph", run.recording().replays()},
                              {"threads", thread_count()},
                              {"ms_median", milliseconds},
                              {"ms_min", *std::min_element(times.begin(), times.end())},
                              {"steps", times.size()},
                              {"tokens_per_second", static_cast<double>(tokens) / milliseconds * 1000},
                              {"peak_mib", peak},  // of the CPU's memory
                              {"peak_device_mib", peak_on_device / 1048576},
                              {"parameters", run.model().parameters().count()},
                              {"flops_per_step", flops},
                              {"gflops", flops / milliseconds * 1e-6},
                              {"gemm_gflops", gemm},
                              {"share_of_gemm", flops / milliseconds * 1e-6 / gemm},
                              {"loss_first", first_loss},
                              {"loss_last", loss}};
  std::printf("%s\n", line.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace sink

int main(int argc, char** argv) {
  return sink::run_program("bench_step", [&] { return sink::run(argc, argv); });
}
