// The files of a study beside its runs: <out>/<study>.md, .csv, -runs.csv, .svg and .html, and the table on stdout.
#pragma once

#include <string>
#include <vector>

#include "tools/sweep/earlier_runs.h"
#include "tools/sweep/study_results.h"

namespace sink {

class StudyOutput {
 public:
  StudyOutput(const std::string& folder, const std::string& study) : stem_(folder + "/" + study) {}

  // Before any work: throws Error (Exit::usage) where another's file stands in the way.
  void require_free(bool force) const;
  // Throws Error (Exit::usage) where a file that is read is one that will be written: rows of it that are no runs of
  // the study would be lost.
  void require_no_input(const std::vector<std::string>& files) const;
  // Writes it all; without Chart.js on the system no page, with a note. The page has the runs of folders alone.
  void write(const StudyFile& study, const std::string& size, const std::vector<StudyArm>& arms,
             const std::vector<StudyOutcome>& outcomes) const;
  // The table on stdout alone.
  void print(const StudyFile& study, const std::string& size, const std::vector<StudyArm>& arms,
             const std::vector<StudyOutcome>& outcomes) const;

 private:
  std::string stem_;
};

// Of each run what stands in its folder, or in the row that stands for it.
std::vector<StudyOutcome> outcomes_of(const std::vector<StudyRun>& runs, const std::vector<const EarlierRun*>& earlier);

}  // namespace sink
