// One job of the sweep: an ablation trained from a seed, what was measured of it, and its result file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/ablation.h"
#include "train/run_config.h"

namespace sink {

// What all ablations are trained with: Bigram-Backcopy, one layer of two heads, the same steps.
RunConfig sweep_recipe();

// The recipe for one job. bias_k_d64 alone needs other sizes: one head instead of two, for keys of 64 numbers.
RunConfig job_config(RunConfig recipe, const std::string& ablation, std::uint64_t seed);

struct SweepResult {
  std::string ablation;
  std::uint64_t seed = 0;
  std::string settings;  // to_toml of its RunConfig
  std::string commit;
  double seconds = 0;  // of one core
  // Why there are no numbers: the message of the error that ended the job; empty where all went well.
  std::string error;

  std::int64_t steps = 0;                       // taken; fewer than asked for if it was given up
  std::int64_t skipped = 0, first_skipped = 0;  // steps whose loss or gradient was not finite
  bool given_up = false;                        // nan_patience such steps in a row
  double worst_loss = 0;                        // highest training loss after warm-up
  std::int64_t worst_step = 0;

  double loss = 0;                                       // on validation sequences, nats a target
  double best_loss = 0;                                  // of the best predictor on the same sequences
  double entropy_floor = 0;                              // its expected value
  double alpha_1 = 0, alpha_1_raw = 0, alpha_1_max = 0;  // the last one proxy, of the strongest head
  double sink_1 = 0, sink_1_raw = 0;                     // percent
  bool has_star = false;                                 // an extra key or a sink token
  double alpha_star = 0, alpha_star_raw = 0, sink_star = 0;
  double row_mass = 0, first_value_norm_ratio = 0;

  struct Point {
    std::int64_t step;
    double loss, alpha_1, alpha_1_raw;
  };
  std::vector<Point> curve;  // every eval_every steps
};

// Trains and measures; errors of ours end in SweepResult::error.
SweepResult train_job(const RunConfig& config, const Ablation& ablation);

std::string to_json(const SweepResult& result);
// Throws Exit::bad_input if `text` is not such a result; `where` opens the message.
SweepResult sweep_result_from_json(const std::string& text, const std::string& where);

// For spreadsheets: a header, and one line a result.
std::string results_csv(const std::vector<SweepResult>& results);

}  // namespace sink
