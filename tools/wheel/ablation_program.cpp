// train_<ablation> and eval_<ablation> of all ablations in one program, since a wheel cannot hold 222: which of them it
// is, its name says.
#include <filesystem>
#include <string>

#include "engine/check.h"
#include "engine/io/program.h"
#include "eval/sink/evaluate_command.h"
#include "model/all_ablations.h"
#include "train/trainer.h"

int main(int argc, char** argv) {
  const std::string name = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "";
  for (const sink::Ablation& ablation : sink::all_ablations()) {
    if (name == "train_" + ablation.name) return sink::train_main(argc, argv, ablation);
    if (name == "eval_" + ablation.name) return sink::eval_main(argc, argv, ablation);
  }
  return sink::run_program("ablation_program", [&]() -> int {
    throw sink::Error("expected to be called train_<ablation> or eval_<ablation>, got `" + name + "`",
                      sink::Exit::usage);
  });
}
