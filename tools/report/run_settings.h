// The identity of a run without its seed: which runs may be averaged, and in which settings others differ.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "eval/sink/even_attention.h"
#include "tools/report/run_reader.h"
#include "tools/study/study.h"

namespace sink::report {

// Names as people read them ("learning rate") and values.
using Settings = std::map<std::string, std::string>;

struct Identity {
  bool known = false;  // false: the settings are unknown, and the run is equal to no other
  // Ablation, policies and saved settings, without those that do not change results (intervals of measuring and saving,
  // threads).
  Settings training;
  std::string data_sha256;  // of the training tokens; if both runs have it, it is compared instead of the path
  // What was measured, and the commit: the input, the edit of positions, and context, sequences, precision, data and
  // step where they differ from training.
  Settings measurement;
  // The checkpoint that training started from, by its path and the checksum of its parameters.
  std::string initial, initial_sha256;
  bool operator==(const Identity& other) const;
};

Identity identity_of(const Run& run);

// Whether the last measurement is of the model as it was trained, on validation sequences of its data. It may have
// more or fewer sequences, of another length, and another precision.
bool measures_own_text(const Run& run);

InputKind input_kind_of(const Run& run);

// A setting that is a whole number, at least 0; `otherwise` where the run has none.
std::int64_t whole_setting(const Run& run, const char* key, std::int64_t otherwise = 0);

// Which keys the rows of a measured run see; none where its context, window, prefix or kind of extra key is unknown, or
// where documents follow each other, whose places are in its data.
std::optional<VisibleKeys> visible_keys_of(const Run& run);

// alpha_1 and alpha_* as multiples of those of even attention; NaN where one of the two is unknown.
EvenAttention alpha_over_even(const Run& run);

// Whether two runs differ in nothing but their seed. The measurement counts if both have finished.
bool same_but_seed(const Run& a, const Run& b);

// For each run the settings in which the runs differ, without the seed: "learning rate 0.01, heads 8". Policies are
// named only if runs of one ablation differ in them. At most five settings; the others are counted.
std::vector<std::string> differences(const std::vector<const Run*>& runs);

}  // namespace sink::report
