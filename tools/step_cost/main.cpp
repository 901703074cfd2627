// step_cost: counts what one training step, or one evaluation, asks of a GPU, on the emulated device: launches, bytes
// of device memory and tensor-core FLOPs of every kernel, per token. One and two layers, and one and two sequences,
// give what a layer and a sequence cost; the model's own number of layers follows from that, as all layers are equal.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/cuda/emulated/traffic.h"
#include "engine/io/command_line.h"
#include "engine/io/program.h"
#include "engine/io/setting.h"
#include "engine/threads.h"
#include "model/all_ablations.h"
#include "tools/bench_step/random_tokens.h"
#include "train/training_run.h"

namespace sink {
namespace {

// What a kernel does in one step, or per token.
struct Cost {
  double launches = 0;  // of the step
  double requested = 0, read = 0, written = 0, tensor_flops = 0;

  Cost operator+(const Cost& y) const {
    return {launches + y.launches, requested + y.requested, read + y.read, written + y.written,
            tensor_flops + y.tensor_flops};
  }
  Cost operator*(double factor) const {
    return {launches * factor, requested * factor, read * factor, written * factor, tensor_flops * factor};
  }
};

struct Model {
  std::int64_t layers, heads, width, feed_forward;
};
const std::map<std::string, Model> kModels{{"60m", {10, 8, 768, 1536}}, {"1.1b", {22, 32, 2048, 5632}}};

struct Counted {
  std::string ablation;
  bool evaluation = false;  // instead of a training step
};

std::map<std::string, Cost> cost_of(const Counted& counted, RunConfig config, std::int64_t layers,
                                    std::int64_t sequences) {
  config.layers = layers, config.batch = config.eval_sequences = sequences;
  TrainingRun run(config, ablation_named(counted.ablation),
                  std::make_unique<RandomTokens>(config.vocabulary, config.batch, config.context));
  if (!counted.evaluation) run.step();  // creates what exists once
  emulated::start_traffic();
  counted.evaluation ? void(run.evaluate()) : void(run.step());
  std::map<std::string, Cost> costs;
  for (const auto& [name, x] : emulated::stop_traffic())
    costs[name] = {static_cast<double>(x.launches), static_cast<double>(x.requested), static_cast<double>(x.read),
                   static_cast<double>(x.written), static_cast<double>(x.tensor_flops)};
  return costs;
}

// What L layers and N sequences cost, by those of one and two: c(L, N) = c(1, N) + (L - 1) (c(2, N) - c(1, N)), and the
// same for sequences. Per token, but for launches.
std::map<std::string, Cost> predicted_cost(const Counted& counted, const RunConfig& config, std::int64_t layers,
                                           std::int64_t sequences) {
  std::map<std::string, Cost> sum;
  auto add = [&](std::int64_t of_layers, std::int64_t of_sequences, std::int64_t times) {
    if (times == 0) return;
    for (const auto& [name, cost] : cost_of(counted, config, of_layers, of_sequences))
      sum[name] = sum[name] + cost * static_cast<double>(times);
  };
  for (std::int64_t of_sequences : {1, 2}) {
    std::int64_t times = of_sequences == 1 ? 2 - sequences : sequences - 1;
    add(1, of_sequences, times * (2 - layers));
    add(2, of_sequences, times * (layers - 1));
  }
  for (auto& [name, cost] : sum) {
    const double launches = cost.launches;
    cost = cost * (1 / static_cast<double>(sequences * config.context));
    cost.launches = launches;
  }
  return sum;
}

void print(const std::map<std::string, Cost>& costs) {
  std::printf("%-44s %8s %12s %12s %12s %12s\n", "kernel", "launches", "requested", "read", "written", "MFLOP");
  auto line = [](const std::string& name, const Cost& x) {
    std::printf("%-44s %8.0f %12.0f %12.0f %12.0f %12.3f\n", name.c_str(), x.launches, x.requested, x.read, x.written,
                x.tensor_flops * 1e-6);
  };
  Cost sum;
  for (const auto& [name, cost] : costs) {
    line(name, cost);
    sum = sum + cost;
  }
  line("sum", sum);
}

int run(int argc, char** argv) {
  CLI::App app(
      "Counts a training step's or an evaluation's launches, bytes and tensor-core FLOPs per token on the emulated "
      "device.",
      "step_cost");
  std::string model = "60m";
  Counted counted{.ablation = "baseline"};
  RunConfig config;
  config.device = "cuda", config.precision = "bf16", config.graph = "off";
  config.context = 2048, config.batch = 1, config.vocabulary = 50432, config.warmup = 0;
  app.add_option("--model", model, "the paper's model of this size")->check(CLI::IsMember({"60m", "1.1b"}));
  app.add_option("--ablation", counted.ablation);
  app.add_flag("--evaluation", counted.evaluation, "counts an evaluation instead of a training step");
  std::int64_t sequences = 1;
  app.add_option("--context", config.context, "tokens of a sequence");
  app.add_option("--sequences", sequences, "of the step or evaluation")->check(CLI::PositiveNumber);
  app.add_option("--vocabulary", config.vocabulary);
  if (!parse_command_line(app, argc, argv)) return 0;
  const Model& sizes = kModels.at(model);
  config.heads = sizes.heads, config.width = sizes.width, config.feed_forward = sizes.feed_forward;
  start_threads(0);
  std::printf("%s, %s, %lld x %lld tokens, heads of %lld, bf16; bytes and FLOPs per token, launches per %s\n",
              model.c_str(), counted.ablation.c_str(), static_cast<long long>(sequences),
              static_cast<long long>(config.context), static_cast<long long>(sizes.width / sizes.heads),
              counted.evaluation ? "evaluation" : "step");
  print(predicted_cost(counted, config, sizes.layers, sequences));
  return 0;
}

}  // namespace
}  // namespace sink

int main(int argc, char** argv) {
  return sink::run_program("step_cost", [&] { return sink::run(argc, argv); });
}
