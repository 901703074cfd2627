// The files of a study beside its runs: <out>/<study>.md, .csv, -runs.csv, .svg and .html, and the table on stdout.
#pragma once

#include <string>
#include <vector>

#include "tools/sweep/study_results.h"

namespace sink {

class StudyOutput {
 public:
  StudyOutput(const std::string& folder, const std::string& study) : stem_(folder + "/" + study) {}

  // Before any work: throws Error (Exit::usage) where another's file stands in the way.
  void require_free(bool force) const;
  // Reads what stands in the folders of the runs and writes it all; without Chart.js on the system no page, with a
  // note.
  void write(const StudyFile& study, const std::string& size, const std::vector<StudyArm>& arms,
             const std::vector<StudyRun>& runs) const;

 private:
  std::string stem_;
};

// What stands there of each run.
std::vector<StudyOutcome> outcomes_of(const std::vector<StudyRun>& runs);

}  // namespace sink
