// What stands in the folder of a study's run: nothing, a run that was begun, one that is complete, one that failed.
// Only a run of the same settings counts.
#pragma once

#include <functional>
#include <string>

#include "model/ablation.h"
#include "tools/sweep/study_runs.h"

namespace sink {

enum class RunStanding { missing, begun, complete, failed };

struct FoundRun {
  RunStanding state = RunStanding::missing;
  std::string reason;        // why it failed
  std::int64_t threads = 0;  // of one that was begun, which its bits depend on
};

// The settings in which a stored configuration differs from the wanted one, "heads = 4 instead of 8, ..."; "" where in
// none. What no number depends on is not compared (threads, how often is measured, saved and shown), nor where the data
// lies: what it is has a checksum. Settings that an older program did not know have their default.
std::string differing_settings(const RunConfig& stored, const RunConfig& wanted);

// Throws Error (Exit::usage), naming the settings, where the folder holds a run of others; Exit::bad_input where the
// complete run was trained on other data than that of this checksum (asked for only then).
FoundRun found_run(const RunConfig& wanted, const std::function<std::string()>& data_checksum);

// <run>/failure.txt: that the run of these settings ended without its numbers, and why, in one line. It is not tried
// again by itself.
void store_failure(const RunConfig& run, const std::string& reason);

// Whether an error of this exit code is the run's own (diverged, out of memory, a bug) and not the machine's or the
// user's (a full disk, no such device, a folder in use), after which the same run may well succeed.
bool is_failure_of_run(Exit code);

// Rewrites the checkpoint of a complete run without what only going on with it needs.
void keep_parameters_alone(const std::string& run);

}  // namespace sink
