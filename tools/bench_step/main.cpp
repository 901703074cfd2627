// bench_step: times training steps of a model on random tokens, and the matrix products of that model alone in the same
// process. Prints one JSON line; tools/bench/compare_step.py sets it beside PyTorch.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "autograd/tape.h"
#include "engine/io/program.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/rng.h"
#include "engine/thread_start.h"
#include "engine/threads.h"
#include "model/all_ablations.h"
#include "train/optimizer.h"

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

Tensor random_ids(const Shape& shape, std::int64_t V, const Rng& rng) {
  Tensor ids = Tensor::empty(shape, DType::I32);
  for (std::int64_t i = 0; i < ids.size(); ++i)
    ids.data<std::int32_t>()[i] =
        static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(V)));
  return ids;
}

Tensor random_values(const Shape& shape, DType type) {
  Rng rng(1, "bench");
  Tensor values = Tensor::empty(shape);
  for (std::int64_t i = 0; i < values.size(); ++i)
    values.data<float>()[i] = static_cast<float>(rng.uniform(static_cast<std::uint64_t>(i)) - 0.5);
  return values.to(type);
}

// GFLOP/s of the three products of y = x W^T over all weight shapes of the model, weighted by their operations.
double gemm_rate(const LanguageModel& model, std::int64_t tokens, DType type) {
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
    Tensor x = random_values({tokens, in}, type), w = random_values({out, in}, type);
    Tensor y = random_values({tokens, out}, type), dw = Tensor::empty({out, in});
    auto time = [&](auto&& product) {
      std::vector<double> times;
      for (int round = 0; round < 6; ++round) {
        double start = now_ms();
        product();
        times.push_back(now_ms() - start);
      }
      times.erase(times.begin());  // plans and page faults
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

struct Settings {
  std::string model = "text", precision = "f32", ablation;
  Sizes sizes;
  std::int64_t batch = 0;
  int threads = 0;
  double seconds = 10;
};

int run(int argc, char** argv) {
  Settings s;
  CLI::App app("Times training steps (forward, backward, clipping, AdamW) on random tokens; prints one JSON line.");
  app.add_option("--model", s.model, "text: the real-text model of quickstart; 60m: the study's model, T = 2048")
      ->check(CLI::IsMember({"text", "60m"}));
  app.add_option("--precision", s.precision)->check(CLI::IsMember({"f32", "bf16"}));
  app.add_option("--ablation", s.ablation, "default: pos_learnable for text, baseline for 60m");
  app.add_option("--threads", s.threads, "0: all");
  app.add_option("--seconds", s.seconds, "how long to time, after two steps of warm-up");
  std::int64_t layers = 0, heads = 0, width = 0, feed_forward = 0, vocabulary = 0, context = 0;
  app.add_option("--layers", layers, "instead of the model's; likewise the following");
  app.add_option("--heads", heads);
  app.add_option("--width", width);
  app.add_option("--feed-forward", feed_forward);
  app.add_option("--vocabulary", vocabulary);
  app.add_option("--context", context);
  app.add_option("--batch", s.batch, "sequences a step");
  app.add_option("--window", s.sizes.window, "keys a token sees; 0: all");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) { return app.exit(error) == 0 ? 0 : static_cast<int>(Exit::usage); }
  bool text = s.model == "text";
  std::int64_t window = s.sizes.window;
  s.sizes = text ? Sizes{3, 4, 128, 256, 64, 4096} : Sizes{10, 8, 768, 1536, 2048, 50432};
  s.sizes.window = window;
  if (layers) s.sizes.layers = layers;
  if (heads) s.sizes.heads = heads;
  if (width) s.sizes.width = width;
  if (feed_forward) s.sizes.feed_forward = feed_forward;
  if (vocabulary) s.sizes.vocabulary = vocabulary;
  if (context) s.sizes.context = context;
  if (!s.batch) s.batch = text ? 48 : 1;
  if (s.ablation.empty()) s.ablation = text ? "pos_learnable" : "baseline";
  start_threads(s.threads);

  DType type = s.precision == "bf16" ? DType::BF16 : DType::F32;
  std::unique_ptr<LanguageModel> model = ablation_named(s.ablation).make_model(s.sizes, InitScheme::torch, 0, type);
  Optimizer optimizer(model->parameters(), RunConfig{});
  std::int64_t T = s.sizes.context, tokens = s.batch * T, step = 0;
  double first_loss = 0, loss = 0;
  std::vector<double> times;
  for (double total = 0; times.size() < 5 || total < 1000 * s.seconds;) {
    Rng rng(static_cast<std::uint64_t>(step % 4), "bench tokens");
    Tensor ids = random_ids({s.batch * (T + 1)}, s.sizes.vocabulary, rng);
    Tensor inputs = ids.rows(0, tokens).reshape({s.batch, T}), targets = ids.rows(1, tokens + 1).reshape({s.batch, T});
    double start = now_ms();
    {
      Tape tape;
      Var loss_var = model->loss(inputs, targets);
      loss = loss_var.value().item();
      tape.backward(loss_var);
    }
    Tensor squared_norm = Tensor::empty({1}, DType::F64);
    optimizer.sum_squared_gradients(squared_norm);
    optimizer.step(4e-4, std::sqrt(squared_norm.item()), ++step);
    double elapsed = now_ms() - start;
    if (step == 1) first_loss = loss;
    if (step <= 2) continue;
    times.push_back(elapsed);
    total += elapsed;
  }
  double peak = peak_mib();
  double flops = model->training_flops(tokens, T), milliseconds = median(times);
  double gemm = gemm_rate(*model, tokens, type);
  nlohmann::ordered_json line{
      {"program", "sinklab"},      {"model", s.model},
      {"precision", s.precision},  {"ablation", s.ablation},
      {"window", s.sizes.window},  {"threads", thread_count()},
      {"ms_median", milliseconds}, {"ms_min", *std::min_element(times.begin(), times.end())},
      {"steps", times.size()},     {"tokens_per_second", static_cast<double>(tokens) / milliseconds * 1000},
      {"peak_mib", peak},          {"parameters", model->parameters().count()},
      {"flops_per_step", flops},   {"gflops", flops / milliseconds * 1e-6},
      {"gemm_gflops", gemm},       {"share_of_gemm", flops / milliseconds * 1e-6 / gemm},
      {"loss_first", first_loss},  {"loss_last", loss}};
  std::printf("%s\n", line.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace sink

int main(int argc, char** argv) {
  return sink::run_program("bench_step", [&] { return sink::run(argc, argv); });
}
