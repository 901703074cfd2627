// The initial model of a run: drawn values, or the parameters of a checkpoint.
#pragma once

#include <memory>

#include "engine/data/data_source.h"
#include "model/ablation.h"
#include "train/run_config.h"

namespace sink {

// The model that `config` and `vocabulary` describe, with the values of --init and --seed.
std::unique_ptr<LanguageModel> make_run_model(const RunConfig& config, const Ablation& ablation,
                                              std::int64_t vocabulary);

// The same model before allocation: its parameters have names and shapes, but no memory.
std::unique_ptr<LanguageModel> make_unallocated_model(const RunConfig& config, const Ablation& ablation,
                                                      std::int64_t vocabulary);

// Copies the parameters of config.initial, if set, into a model of make_run_model. Returns their checksum
// (parameters_checksum), or "" if it is not set. Throws Error: Exit::corrupt_checkpoint if the checkpoint is damaged or
// of other policies; Exit::usage if its sizes are not the model's; Exit::bad_input if the run's data (may be null) has
// another tokenizer. Other text is only noted on stderr.
std::string load_initial(const RunConfig& config, const Ablation& ablation, const DataSource* data,
                         LanguageModel& model);

// `train_<ablation> init`: writes that model as a checkpoint which eval_<ablation> measures and --initial starts from.
// The whole program; returns its exit code. argv[1] is "init".
int init_main(int argc, char** argv, const Ablation& ablation);

}  // namespace sink
