// What eval_<ablation> does: subcommands that measure a checkpoint, or explain one row of its attention.
#pragma once

#include <string>
#include <vector>

#include "eval/eval_command.h"

namespace sink {

// The whole program eval_<ablation>; returns its exit code.
int eval_main(int argc, char** argv, const Ablation& ablation);

// The same for a program of another name, whose arguments are `words`; for use inside run_program
// (engine/io/program.h).
struct EvalProgram {
  std::string name;
  std::string what;             // the first line of its help
  std::string note;             // the last paragraph of its help
  std::string version_details;  // the last line of --version
  std::string usage = {};       // "sinklab [COMMAND] MODEL"; empty: as usual
  std::vector<EvalCommand (*)(CLI::App&, const Ablation&)> more_commands = {};
};
int run_eval(const EvalProgram& program, std::vector<std::string> words, const Ablation& ablation);
// "attention", "sink", ...
std::vector<std::string> eval_command_names();

}  // namespace sink
