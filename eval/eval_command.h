// A subcommand of eval_<ablation>: its part of the command line, and what it does once that is read.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "model/ablation.h"

namespace sink {

struct EvalCommand {
  CLI::App* line = nullptr;
  std::function<int()> run;  // returns the exit code
};

// Each is in the source file of its name and adds itself to `app`.
EvalCommand attention_command(CLI::App& app, const Ablation& ablation);
EvalCommand view_command(CLI::App& app, const Ablation& ablation);
EvalCommand lens_command(CLI::App& app, const Ablation& ablation);
EvalCommand sink_command(CLI::App& app, const Ablation& ablation);
EvalCommand logits_command(CLI::App& app, const Ablation& ablation);
EvalCommand tokens_command(CLI::App& app, const Ablation& ablation);
EvalCommand explain_command(CLI::App& app, const Ablation& ablation);
EvalCommand interventions_command(CLI::App& app, const Ablation& ablation);
EvalCommand generate_command(CLI::App& app, const Ablation& ablation);
EvalCommand chat_command(CLI::App& app, const Ablation& ablation);
EvalCommand stream_command(CLI::App& app, const Ablation& ablation);
EvalCommand score_command(CLI::App& app, const Ablation& ablation);
EvalCommand import_command(CLI::App& app, const Ablation& ablation);
EvalCommand export_command(CLI::App& app, const Ablation& ablation);
EvalCommand quantise_command(CLI::App& app, const Ablation& ablation);

}  // namespace sink
