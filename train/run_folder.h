// The folder of a run, runs/<name>/. It is created safely, locked, never overwritten by accident, and resumed on
// request.
//
// --force removes an older run only when the new one can replace it: the older one's files are kept in `.replaced/`
// until the new run has its first checkpoint. After a kill or power loss at any moment, the next start finds one of the
// two complete:
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
  std::string resume_from;         // the checkpoint to resume from; empty: a new run
  std::vector<std::string> notes;  // messages to the user about what was found
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

// Creates or opens config.run and locks it for this process as long as the RunFolder exists:
//   resume "never"  the folder must be new or empty; with --force it may hold an older run
//   resume "auto"   resumes from the folder's checkpoint if there is one, else begins again in it; a run that has ended
//                   must have its checkpoint
//   resume PATH     resumes from that checkpoint; writes into config.run, which must be new, empty or hold it
// Removes nothing of a run. Throws Error: Exit::usage if a run would be overwritten or another process writes there,
// Exit::bad_input if the checkpoint does not exist, Exit::io if the folder cannot be created or written.
RunFolder open_run_folder(const RunConfig& config);

}  // namespace sink
