// The folder of a run, runs/<name>/: made safely, locked, never overwritten by accident, gone on with when asked.
//
// --force never removes a run before there is another: the older one's files wait in `.replaced/` until the new one has
// its first checkpoint. Killed at any moment, the next start finds either run whole:
//   .replaced/ without config.toml, which moves last   moving was cut short: the older run is moved back
//   .replaced/ with it, no checkpoint.h5               the new run had none yet: it begins again, the older one waits
//   .replaced/ with it, and checkpoint.h5              the older run is no longer needed: removed
#pragma once

#include <string>
#include <vector>

#include "engine/io/folder_lock.h"
#include "train/run_config.h"

namespace sink {

struct RunFolder {
  std::string path;
  std::string resume_from;         // the checkpoint to go on from; empty: a new run
  std::vector<std::string> notes;  // what the user should hear about what was found
  bool sets_aside = false;         // --force, and there is an older run to move aside
  FolderLock lock;

  std::string config() const { return path + "/config.toml"; }
  std::string metrics() const { return path + "/metrics.jsonl"; }
  std::string checkpoint() const { return path + "/checkpoint.h5"; }
  std::string evaluation() const { return path + "/evaluation.json"; }
  // Of a run that starts from a checkpoint: what was measured of that before the first step.
  std::string evaluation_before() const { return path + "/evaluation-before.json"; }
  std::string replaced() const { return path + "/.replaced"; }

  // Moves an older run that --force replaces to `.replaced/`: when all that the new one reads has been read.
  void set_aside_older_run();
  // Removes it: when the new run has a checkpoint.
  void drop_older_run() const;
};

// Makes or reopens config.run, and holds it for this process as long as the RunFolder lives:
//   resume "never"  the folder must be new or empty; with force, an older run may stand in it
//   resume "auto"   goes on from its checkpoint if it has one, else begins anew in it
//   resume PATH     goes on from that checkpoint; writes into config.run, which must be new, empty or hold it
// Removes nothing of a run. Throws Error: Exit::usage where a run would be overwritten or another process writes there,
// Exit::bad_input for a checkpoint that is not there, Exit::io where the folder cannot be made or written.
RunFolder open_run_folder(const RunConfig& config);

}  // namespace sink
