#include "train/run_config_table.h"

#include "engine/data/data_settings.h"
#include "model/size_settings.h"
#include "train/optimizers/optimizers.h"

namespace sink {
namespace {

constexpr const char* kRunning = "Running";
constexpr double kMillion = 1e6, kBillion = 1e9;
constexpr double kLeastEpsilon = 1e-30;  // without it, a weight without a gradient would be 0 / 0; less is 0 in f32

Setting<RunConfig> of_data(const char* flag) {
  const Setting<DataConfig>* line = setting_named(data_settings(), flag);
  if (!line) fail("settings", std::string("no line ") + flag + " in the table", Exit::failure);
  return *line;
}

Setting<RunConfig> of_optimizer(const char* group) {
  Setting<RunConfig> setting("optimizer", group, &RunConfig::optimizer, "what updates the weights:");
  for (const OptimizerKind& kind : optimizer_kinds()) {
    setting.choices.push_back(kind.name);
    setting.help += " " + kind.name + " (" + kind.source + "),";
  }
  setting.help.back() = ';';
  setting.help +=
      " each wants a learning rate of its own. A flag below that it does not read is refused, a line of a file passed "
      "over";
  return setting;
}

Settings<RunConfig> make_table() {
  using C = RunConfig;
  const char *model = "Model", *data = "Data", *optimiser = "Optimisation", *measuring = "Measuring and saving";
  auto one_of = [](std::vector<std::string> choices, Setting<RunConfig> setting) {
    setting.choices = std::move(choices);
    return setting;
  };
  Settings<RunConfig> table{
      one_of(
          {"torch", "formula", "formula-study"},
          {"init", model, &C::init,
           "initial weights; torch: PyTorch's own; formula: of the paper's code, which shrinks the last matrix of "
           "SwiGLU with depth, here of every kind of block but mixtures of experts; formula-study: as there, of SwiGLU "
           "alone"}),
      {"initial", model, &C::initial, "checkpoint whose parameters are the initial values, none: drawn (--init)"},
      of_data("task"),
      of_data("data"),
      of_data("data-order"),
      of_data("loader-ranks"),
      of_data("data-fraction"),
      of_data("fixed-token"),
      of_data("fixed-position"),
      of_data("fixed-to"),
      of_data("fixed-probability"),
      of_data("random-from"),
      of_data("random-to"),
      of_data("document-mask"),
      of_data("reset-positions"),
      {"batch", data, &C::batch, "sequences per micro-batch", 1, 65536},
      of_data("accumulate"),
      of_data("seed"),
      of_optimizer(optimiser),
      {"steps", optimiser, &C::steps, "optimiser steps", 1, kBillion},
      {"learning-rate", optimiser, &C::learning_rate, "peak learning rate (Gu et al., Table 9)", 0, 100},
      one_of({"constant", "cosine"}, {"schedule", optimiser, &C::schedule, "learning rate after warm-up"}),
      {"min-learning-rate", optimiser, &C::min_learning_rate, "where cosine ends", 0, 100},
      {"warmup", optimiser, &C::warmup, "steps of linear warm-up from 0", 0, kBillion},
      one_of({"steps", "micro-batches"},
             {"schedule-counts", optimiser, &C::schedule_counts,
              "where in warm-up and cosine step s (from 1) is: at s, or as in the released code, which counts "
              "micro-batches from 0, at s - 1 / accumulate"}),
      {"beta1", optimiser, &C::beta1, "decay of the gradient's mean", 0, 1, true},
      {"beta2", optimiser, &C::beta2, "decay of the squared gradient's mean; without one, of the momentum", 0, 1, true},
      {"adam-epsilon", optimiser, &C::adam_epsilon, "added to the denominator", kLeastEpsilon, 1},
      {"momentum", optimiser, &C::momentum, "of the running sum of gradients", 0, 1, true},
      {"weight-decay", optimiser, &C::weight_decay, "decoupled, in every optimiser (Gu et al., Table 2)", 0, 1000},
      one_of({"all", "matrices", "qk", "vo", "ffn", "embeddings", "gains"},
             {"decay", optimiser, &C::decay,
              "what decays: all parameters, as in the paper; the weights of products, as is usual elsewhere (no "
              "embeddings, gains, biases, extra keys); or one group of weights"}),
      {"clip", optimiser, &C::clip, "global gradient norm above which it is scaled, 0: never", 0, kBillion},
      one_of({"f32", "bf16", "tf32", "f64"},
             {"precision", optimiser, &C::precision,
              "of matrix products; tf32 (f32 but for a GPU's products) needs --device cuda; f64 runs the reference"}),
      {"reference", optimiser, &C::reference, "plain loops instead of the fast path; slow, made for stepping through"},
      with_flag<C>(
          "gradient-checkpointing",
          {"recompute", optimiser, &C::recompute,
           "keep only each block's input and run the block again in the backward pass: the same bits, less memory"}),
      {"threads", optimiser, &C::threads, "0: as many as there are cores", 0, 4096},
      one_of({"cpu", "cuda"},
             {"device", optimiser, &C::device, "where it is computed; cuda needs a build that has it"}),
      one_of({"on", "off"},
             {"graph", optimiser, &C::graph,
              "--device cuda: a step's launches recorded once and run as one, a CUDA graph; off: one by one"}),
      one_of({"ordered", "fast"},
             {"gradient-sum", optimiser, &C::gradient_sum,
              "gradients of micro-batches summed in their order, the same bits on any number of ranks; fast: by each "
              "rank first, in less memory and with fewer bytes between ranks"}),
      {"nan-patience", optimiser, &C::nan_patience, "NaN steps skipped in a row before the run stops", 1, kBillion},
      {"eval-every", measuring, &C::eval_every, "steps between measurements of loss and sink; 0: only after the last",
       0, kBillion},
      of_data("eval-sequences"),
      of_data("prefix-validation"),
      {"checkpoint-every", measuring, &C::checkpoint_every, "steps; also at the end and on SIGTERM, SIGINT, SIGUSR1", 1,
       kBillion},
      {"key-alpha-every", measuring, &C::key_alpha_every,
       "steps between lines of metrics.jsonl with alpha of every key of every head on the step's first micro-batch; "
       "0: none",
       0, kBillion},
      {"birth-checkpoints", measuring, &C::birth_checkpoints,
       "parameters of this many evaluations up to the first at which a head's alpha_1 (or alpha_*, with an extra key "
       "or token) passes 0.2, and of as many after it, in <run>/birth; 0: none",
       0, 10000},
      {"log-every", measuring, &C::log_every, "steps between progress lines where there is no terminal", 1, kBillion},
      {"run", kRunning, &C::run, "folder to write, such as runs/first"},
      {"resume", kRunning, &C::resume, "never, auto or a checkpoint; auto: from the run's checkpoint, if any"},
      {"tensorboard", kRunning, &C::tensorboard,
       "write curves for TensorBoard next to metrics.jsonl (tensorboard --logdir runs)"},
      {"replay-check", kRunning, &C::replay_check,
       "every N steps compute a micro-batch twice and stop if a bit differs, as on a faulty machine; 0: never", 0,
       kBillion},
      {"force", kRunning, &C::force,
       "replace the run in an existing folder; it is kept in .replaced until the new one has its first checkpoint"},
      {"dry-run", kRunning, &C::dry_run, "print parameters, memory and FLOPs, then exit"},
      {"rate", kRunning, &C::rate,
       "--dry-run --nproc N: tokens a second that one rank trains alone, as its progress line says; 0: not known", 0,
       kBillion},
      {"link", kRunning, &C::link, "--dry-run --nproc N: 10^9 bytes a second that a rank can send; 0: not known", 0,
       kMillion},
      {"nproc", kRunning, &C::nproc,
       "start this many ranks here by mpirun, each with its share of the micro-batches (--accumulate); 0: one, or "
       "what mpirun or srun has started",
       0, 1024},
      {"comm-timeout", kRunning, &C::comm_timeout, "seconds to wait for a rank that does not start or respond", 1,
       1000000},
      {"zero", kRunning, &C::zero, "what is sharded over the ranks: 0 nothing, 1 the optimiser's state (ZeRO-1)", 0, 3},
  };
  table.insert(table.begin(), size_settings().begin(), size_settings().end());
  std::erase_if(table, [](const Setting<RunConfig>& setting) { return setting.flag == "vocabulary"; });  // the data's
  for (Setting<RunConfig>& setting : table) {
    const std::string readers = optimizers_that([&](const OptimizerKind& kind) { return kind.reads(setting.flag); });
    if (!readers.empty()) setting.help += " (" + readers + ")";
  }
  return table;
}

}  // namespace

const Settings<RunConfig>& run_config_table() {
  static const Settings<RunConfig> table = make_table();
  return table;
}

bool is_saved(const Setting<RunConfig>& setting) { return setting.group != kRunning; }

}  // namespace sink
