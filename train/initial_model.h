// What a run starts from: drawn values, or the parameters of a checkpoint.
#pragma once

#include <memory>

#include "engine/data/data_source.h"
#include "model/ablation.h"
#include "train/run_config.h"

namespace sink {

// The model that `config` and `vocabulary` describe, with the values of --init and --seed.
std::unique_ptr<LanguageModel> make_run_model(const RunConfig& config, const Ablation& ablation,
                                              std::int64_t vocabulary);

// The same model before it has any numbers: its parameters by name and shape, in no memory.
std::unique_ptr<LanguageModel> make_model_without_numbers(const RunConfig& config, const Ablation& ablation,
                                                          std::int64_t vocabulary);

// Puts the parameters of config.initial, if there is one, into a model of make_run_model, and returns what they are
// (parameters_checksum), "" where there is none. Throws Error:
// Exit::corrupt_checkpoint where that checkpoint is damaged or of other policies, Exit::usage where its sizes are not
// the model's, Exit::bad_input where the run's data (may be null) has another tokenizer; other text is noted on stderr.
std::string load_initial(const RunConfig& config, const Ablation& ablation, const DataSource* data,
                         LanguageModel& model);

// `train_<ablation> init`: writes that model as a checkpoint which eval_<ablation> measures and --initial starts from.
// The whole program; returns its exit code. argv[1] is "init".
int init_main(int argc, char** argv, const Ablation& ablation);

}  // namespace sink
