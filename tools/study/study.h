// The study's matrix of experiments (Gu et al. 2025) as data: what each changes, which of our programs and settings
// make it, and what the study found. Beside it one line for every ablation that goes beyond the study.
//
// Numbers are text, as the study gives them: "18.18", "failed", "diverged", "n.r." (not reported, or lost with a
// figure). A star marks proxy weights, where rows do not sum to one.
#pragma once

#include <string>
#include <vector>

namespace sink {

struct StudyRow {
  std::string id;         // the experiment's: op-sigmoid-none
  std::string ablation;   // the struct of model/ablations.h that makes it: op_sigmoid_none
  std::string settings;   // flags beside those of the preset: "--heads 4"
  std::string sink_1;     // percent of heads whose first token gets more than 0.3
  std::string sink_star;  // the same of the extra key or sink token
  std::string valid;      // validation loss on Pile-CC, nats
  std::string meaning;
  std::string note = {};       // other numbers, or what is to be given beside the settings
  std::string preset = "60m";  // of study_presets()
};

// Every experiment of the study.
const std::vector<StudyRow>& study_rows();

// The file of train/studies that asks the question of this experiment, beside its neighbours; "" where there is none.
std::string study_file_of(const StudyRow& row);

// The ablations that are not of the study, with where they come from; id is empty, and so are the numbers.
const std::vector<StudyRow>& beyond_the_study();

// What the struct itself changes, all else being the study's default: its row among the two lists. Somebody's own
// ablation has none and gets one without id and numbers that says so.
StudyRow study_row_of(const std::string& ablation);

// The study's model sizes and optimiser settings as flags of train_<ablation>.
struct StudyPreset {
  std::string name;
  std::string flags;
  std::string meaning;
};
const std::vector<StudyPreset>& study_presets();

// "train_baseline <flags of the preset> <settings>": --data and --run are left to the user. Later flags win.
std::string study_command(const StudyRow& row);

}  // namespace sink
