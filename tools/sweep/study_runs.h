// The runs of a study: every product of its lists as an ablation, a configuration and the paper's row.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/ablation.h"
#include "tools/study/matching_row.h"
#include "tools/sweep/study_file.h"
#include "train/run_config.h"

namespace sink {

// One line of the study's table: runs that differ in their seed alone.
struct StudyGroup {
  // The ablation and what of its own [[runs]] is other than the study's common settings: "baseline-weight-decay-0.5".
  // Of one that starts from another that one's name, "-tuned", and what of lists it has: "baseline-tuned-steps-400".
  std::string name;
  Ablation ablation;
  RunConfig config;                // of no seed yet, without a folder
  StudyRow row;                    // the paper's of this experiment; id empty: it has none
  std::string from = {};           // the name of the group whose checkpoints its runs start from; empty: of none
  std::int64_t planned_steps = 0;  // by the study's file, whatever --set says; 0: not known

  Reading reading() const;
  // The paper's row that may stand next to its runs: of the same experiment, on the same kind of input.
  std::optional<StudyRow> paper() const { return matching_row(row, reading()); }
};

struct StudyRun {
  std::size_t group;                     // index
  RunConfig config;                      // with seed, data, its folder as `run`, and resume = auto
  std::optional<std::size_t> from = {};  // index of the run whose checkpoint is `initial`
};

struct StudyRequest {
  std::string size = "cpu", data, out;
  std::string chat;                  // the data of runs that start from others, where the task is text
  GivenSettings changes;             // over the common settings; what a [[runs]] sets itself stays
  std::vector<std::uint64_t> seeds;  // empty: the study's
  std::vector<std::string> only;     // ablations or names of groups, which bring what they start from; empty: all
};

// In the file's order; of two that are the same the first. Throws Error (Exit::usage) with everything that is wrong
// with any of them, before anything is trained: unknown ablations, sizes a policy cannot have, text without --data,
// rows that the paper does not have, one name for two runs, a baseline that is no run.
std::vector<StudyGroup> groups_of(const StudyFile& study, const StudyRequest& request);

// All groups of the first seed, then all of the second: a sweep that is stopped early has compared them all. Folders
// are <out>/<group>-<seed>.
std::vector<StudyRun> runs_of(const StudyFile& study, const StudyRequest& request,
                              const std::vector<StudyGroup>& groups);

}  // namespace sink
