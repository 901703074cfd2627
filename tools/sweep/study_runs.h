// The runs of a study: every combination of its grids as an ablation, a configuration and the paper's row.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/ablation.h"
#include "tools/study/study.h"
#include "tools/sweep/study_file.h"
#include "train/run_config.h"

namespace sink {

// One row of the study's table: runs that differ only in their seed.
struct StudyGroup {
  // The ablation and the settings of its [[runs]] that differ from the common ones: "baseline-weight-decay-0.5". A run
  // that starts from another has that name, "-tuned" and its listed settings: "baseline-tuned-steps-400".
  std::string name;
  Ablation ablation;
  RunConfig config;                // without seed and folder
  PaperRow row;                    // of the paper, the same experiment; id empty: there is none
  std::string from = {};           // the name of the group from whose checkpoints its runs start; empty: none
  std::int64_t planned_steps = 0;  // in the study's file, whatever --set says; 0: unknown

  InputKind input_kind() const;
  // The paper's row of the same experiment on the same kind of input, which may be compared with its runs.
  std::optional<PaperRow> paper() const { return matching_row(row, input_kind()); }
};

struct StudyRun {
  std::size_t group;                     // index
  RunConfig config;                      // with seed, data, its folder as `run`, and resume = auto
  std::optional<std::size_t> from = {};  // index of the run whose checkpoint is `initial`
};

struct StudyRequest {
  std::string size = "cpu", data, out;
  std::string chat;                  // data of runs that start from others, if the task is text
  GivenSettings changes;             // override the common settings, but not those of a [[runs]]
  std::vector<std::uint64_t> seeds;  // empty: the study's
  std::vector<std::string> only;     // ablations or names of groups, with the groups they start from; empty: all
};

// In the order of the file, without duplicates. Throws Error (Exit::usage) with all problems before anything is
// trained: unknown ablations, sizes that a policy cannot have, text without --data, rows that the paper does not have,
// one name for two runs, a baseline that is not a run.
std::vector<StudyGroup> groups_of(const StudyFile& study, const StudyRequest& request);

// All groups with the first seed, then all with the second, so that a sweep that is stopped early has every group.
// Folders are <out>/<group>-<seed>.
std::vector<StudyRun> runs_of(const StudyFile& study, const StudyRequest& request,
                              const std::vector<StudyGroup>& groups);

}  // namespace sink
