// What a run is apart from its seed, and how it is told from others: only runs that differ in nothing but the seed are
// seeds of one another.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/report/run_reader.h"
#include "tools/study/matching_row.h"

namespace sink::report {

// Names as people read them ("learning rate") and values.
using Settings = std::map<std::string, std::string>;

struct Identity {
  // Whether the settings are known at all; what is not known is the same as nothing else.
  bool known = false;
  // Ablation, policies and every saved setting that the numbers depend on; not how often they were looked at or saved,
  // and on how many threads.
  Settings training;
  // Of the tokens of training; where two runs have it, their data is told by it and not by its path.
  std::string data_sha256;
  // What was measured, and by which build: the input, and context, sequences, precision, data and step where they are
  // not training's own.
  Settings measurement;
};

Identity identity_of(const Run& run);

// What the run read and saw, by its settings.
Reading reading_of(const Run& run);

// A setting that is a whole number and at least 0; 0 where the run has none.
std::int64_t whole_setting(const Run& run, const char* key);

// Whether two runs may differ in their seed, and in nothing else. The measurement counts where both have finished.
bool same_but_seed(const Run& a, const Run& b);

// For each run the settings in which they are not all alike, without the seed: "learning rate 0.01, heads 8". Policies
// are only named where runs of one ablation differ in them. At most five settings; the rest is counted.
std::vector<std::string> differences(const std::vector<const Run*>& runs);

}  // namespace sink::report
