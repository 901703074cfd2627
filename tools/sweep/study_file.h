// A study as its file describes it: a question, the common settings of its runs at each size, and grids of runs.
// Unknown keys are refused here; ablations and rows of the paper are looked up later (tools/sweep/study_runs.h).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sink {

// Flags of run_config_table and their values as text, in the order of the file.
using GivenSettings = std::vector<std::pair<std::string, std::string>>;

// One [[runs]]: every ablation, or every run to start from, with every combination of the listed values.
struct RunGrid {
  std::vector<std::string> ablations;  // or
  std::vector<std::string> from;       // names of runs before it in the file
  std::vector<std::pair<std::string, std::vector<std::string>>> settings;
  std::string size;                // cpu or gpu: only at this size; empty: at both
  std::vector<std::string> study;  // ids of the paper's rows, one per run in their order; empty: the ablation's row
  std::size_t line = 0;            // in the file
};

struct StudyFile {
  std::string path;
  std::string name;       // of the output files
  std::string question;   // one sentence
  std::string section;    // of the paper
  std::string note;       // printed below the table
  std::string baseline;   // the name of the run with which the others are compared
  std::string cpu_hours;  // core-hours at the size cpu, measured by the author of the file
  std::vector<std::uint64_t> seeds;
  bool interventions = false;     // measured for every complete run (eval/interventions/interventions.h)
  bool whole_checkpoints = true;  // false: complete runs keep no optimizer state
  GivenSettings cpu, gpu;         // common settings of a size; the later of two values of a setting counts
  std::vector<RunGrid> runs;
};

// Reads TOML:
//   name = "weight_decay"          question, section, note, baseline = "...", cpu-hours = 2.5, seeds = [1, 2, 3],
//   recipe = "recipes/text.toml"   checkpoints = "whole" or "parameters", interventions = true or false
//   [settings]  [cpu]  [gpu]       settings of train_<ablation>; [cpu] and [gpu] override [settings]
//   [[runs]]
//   ablation = ["baseline", "op_sigmoid_none"]    one or a list; a list of any setting multiplies the runs
//   weight-decay = [0, 0.1, 0.5]
//   size = "cpu"   study = ["opt-wd0", ...]
//   from = "baseline"               instead of ablation: starts from the checkpoint of that run of the same seed
// The recipe is another file with [settings], [cpu] and [gpu] only, which this file overrides. It is looked for next to
// this file, then in the repository's folder of studies, so that a copy of a study still finds it.
// Throws Error (Exit::usage) with every line that is wrong.
StudyFile read_study_file(const std::string& path);

// The same for texts, without the key `recipe`: `recipe_text` is the recipe.
StudyFile study_from_toml(const std::string& text, const std::string& where, const std::string& recipe_text = {},
                          const std::string& recipe_where = {});

// `path` below the nearest folder above this program that has it, as the checkout around a build; empty if none has.
std::string beside_program(const std::string& path);

// The folder train/studies of the current folder or, if it has none, of the repository that holds this program; empty
// if there is none.
std::string studies_folder();

// The studies of a folder, sorted: its TOML files except the registered claims (tools/sweep/preregistration.h).
std::vector<std::string> study_files(const std::string& folder);

// The file of a study given by its path or, as in `sweep weight_decay`, by its name in `folder`. Throws Error
// (Exit::usage) if there is neither.
std::string find_study(const std::string& given, const std::string& folder);

}  // namespace sink
