// Everything a training run is told: model sizes, data, optimiser, what to measure and where to write. Filled from
// flags, then environment (SINKLAB_<FLAG>), then a TOML file, in that order of strength; saved as config.toml.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/data/data_config.h"
#include "model/ablation.h"

namespace sink {

// The vocabulary is 0: that of the data.
struct RunConfig : DataConfig, Sizes {
  RunConfig() : Sizes{.layers = 3, .heads = 4, .width = 128, .feed_forward = 256, .context = 64} {}

  std::string init = "torch";  // torch | formula | formula-study (model/parameter_factory.h)
  std::string initial;         // checkpoint whose parameters are the initial values; empty: drawn

  std::int64_t batch = 48;  // sequences per micro-batch

  // Optimisation.
  std::string optimizer = "adamw";  // a row of train/optimizers/optimizers.def
  std::int64_t steps = 1000;
  double learning_rate = 4e-3;
  std::string schedule = "constant";      // after warm-up: constant | cosine
  double min_learning_rate = 0;           // where cosine ends
  std::string schedule_counts = "steps";  // steps | micro-batches (train/schedule.h)
  std::int64_t warmup = 100;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double adam_epsilon = 1e-8;
  double momentum = 0.95;
  double weight_decay = 0.1;
  std::string decay = "all";      // what is decayed, a group of decayed_part (train/optimizer.h)
  double clip = 1.0;              // global gradient norm; 0 never clips
  std::string precision = "f32";  // f32 | bf16 | tf32 | f64 (reference mathematics, for checks)
  bool reference = false;         // plain loops instead of the fast path
  bool recompute = false;         // blocks a second time in the backward pass, instead of keeping what is inside them
  std::int64_t threads = 0;       // 0: all
  std::string device = "cpu";     // cpu | cuda
  std::string graph = "on";       // on | off: the launches of a step on cuda as one
  std::string gradient_sum = "ordered";  // ordered | fast (train/distributed/data_parallel.cpp)
  std::int64_t nan_patience = 5;         // skipped steps in a row before the run stops

  // Measuring and saving.
  std::int64_t eval_every = 100;        // 0: only after the last step
  std::int64_t checkpoint_every = 500;  // also at the end and on SIGTERM / SIGINT
  std::int64_t key_alpha_every = 0;     // steps between lines with alpha of every key (train/run_log.h); 0: none
  std::int64_t birth_checkpoints = 0;   // N around the onset of the sink (train/birth_checkpoints.h); 0: none
  std::int64_t log_every = 10;          // plain progress lines, where there is no terminal
  std::string run;                      // run folder, e.g. runs/first
  std::string resume = "never";         // never | auto | path of a checkpoint
  std::int64_t replay_check = 0;        // steps between micro-batches that are computed twice; 0: none
  bool tensorboard = false;             // write curves for TensorBoard, next to metrics.jsonl
  bool force = false;                   // replace an existing run folder
  bool dry_run = false;                 // print parameters, memory and FLOPs, then leave
  std::int64_t nproc = 0;               // ranks to start here; 0: as the launcher says, or one
  std::int64_t comm_timeout = 300;      // seconds in which ranks must meet, and something move in a collective
  double rate = 0, link = 0;            // of --dry-run: tokens a second of one rank, GB a second that it sends
  std::int64_t zero = 0;                // 0 | 1: what is sharded over ranks: nothing, the optimiser's state (ZeRO-1)

  // The program it is run with, which fills them in; no flags. Empty in the settings of older programs.
  std::string ablation, policies;

  std::int64_t tokens_per_step() const { return batch * accumulate * context; }
};

// Fills `config` from the command line, environment and TOML file (--config). Returns true if the program should
// continue; false after --help, --version or --print-config, which it answers on stdout. Throws Error (Exit::usage) for
// unknown or invalid settings and for a file that names another ablation.
bool parse_run_config(int argc, char** argv, const Ablation& ablation, RunConfig& config);

// What `train_<ablation> init` is told: the settings of training, of which those of the model count, and
struct InitRequest {
  RunConfig config;
  std::string out;  // the checkpoint to write
};
// The same for its command line, in which argv[0] is "init".
bool parse_init_request(int argc, char** argv, const Ablation& ablation, InitRequest& request);

// The sizes in `config`, with the vocabulary of its data.
Sizes model_sizes(const RunConfig& config, std::int64_t vocabulary);

// Refuses (Error, Exit::usage) a number of ranks that does not divide the micro-batches of a step, saying what would.
void require_ranks_divide(const RunConfig& config, int ranks);

// Refuses (Error, Exit::usage) values that do not fit each other: heads that do not divide the width, a prefix as long
// as the context, sizes that a policy of the ablation cannot have, text without data.
void require_consistent(const RunConfig& config, const Ablation& ablation);

// Refuses (Error, Exit::usage) settings that the caller gave and that the run does not read, such as momentum for
// AdamW.
using IsGiven = std::function<bool(const std::string& flag)>;
void require_read(const IsGiven& is_given, const RunConfig& config, const std::string& policies);

// What the run is, as TOML that run_config_from_toml reads back to the same values, bit for bit. How it was started
// (run, resume, force, dry_run) is left out: a resumed run is the same run and two folders may hold it. Ablation and
// policies stand in front, where they are known.
std::string to_toml(const RunConfig& config);

// The settings in TOML `text` (a file's, or a checkpoint's), the defaults for what it leaves out. `where` opens the
// messages: Error (Exit::usage) for a key that is unknown or given twice, a section, a value that is not accepted.
RunConfig run_config_from_toml(const std::string& text, const std::string& where);

}  // namespace sink
