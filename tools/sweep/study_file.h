// A study as its file gives it: a question, what all its runs have in common at each size, and lists whose products are
// the runs. What the settings mean is looked up later (tools/sweep/study_runs.h); a key that is no setting is refused
// here.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sink {

// Settings of run_config_table by their flags, as plain text, in the file's order.
using GivenSettings = std::vector<std::pair<std::string, std::string>>;

// One [[runs]]: every ablation, or every run that is started from, with every combination of the listed values.
struct RunProduct {
  std::vector<std::string> ablations;  // or
  std::vector<std::string> from;       // names of runs before it in the file
  std::vector<std::pair<std::string, std::vector<std::string>>> settings;
  std::string size;                // cpu or gpu: only there; empty: at both
  std::vector<std::string> study;  // ids of the study's rows, one a run in their order; empty: the ablation's own
  std::size_t line = 0;            // of the file
};

struct StudyFile {
  std::string path;
  std::string name;       // of the files it makes
  std::string question;   // one sentence
  std::string section;    // of the paper
  std::string note;       // what a reader of the table must know
  std::string baseline;   // the name of the run that others are compared with
  std::string cpu_hours;  // of one core, at the size cpu; as the author of the file measured
  std::vector<std::uint64_t> seeds;
  bool interventions = false;     // are measured of every complete run (eval/interventions/interventions.h)
  bool whole_checkpoints = true;  // of complete runs; false: without what only going on needs
  GivenSettings cpu, gpu;         // what all runs of a size have in common; of two values of a setting the later counts
  std::vector<RunProduct> runs;
};

// Reads TOML:
//   name = "weight_decay"          question, section, note, baseline = "...", cpu-hours = 2.5, seeds = [1, 2, 3],
//   recipe = "recipes/text.toml"   checkpoints = "whole" or "parameters",
//                                  interventions = true or false; the recipe is a file next to this one that has
//   [settings]  [cpu]  [gpu]       only these three sections, over which this file's go; [cpu] and [gpu] go over the
//   [[runs]]                       [settings] of their file, and all of them are settings of train_<ablation>
//   ablation = ["baseline", "op_sigmoid_none"]    one or a list; a list of any setting multiplies
//   weight-decay = [0, 0.1, 0.5]
//   size = "cpu"   study = ["opt-wd0", ...]
//   from = "baseline"               instead of ablation: starts from the checkpoint of that run of the same seed
// Throws Error (Exit::usage) with every line that it does not understand.
StudyFile read_study_file(const std::string& path);

// The same of texts, for tests: `recipe` gives the text of the file that the key names.
StudyFile study_from_toml(const std::string& text, const std::string& where, const std::string& recipe_text = {},
                          const std::string& recipe_where = {});
// The path that the key `recipe` of a study gives, empty where there is none.
std::string recipe_of_study(const std::string& text, const std::string& where);

}  // namespace sink
