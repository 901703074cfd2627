// The folder of a run, runs/<name>/: made safely, never overwritten by accident, gone on with when asked.
#pragma once

#include <string>

#include "train/run_config.h"

namespace sink {

struct RunFolder {
  std::string path;
  std::string resume_from;  // the checkpoint to go on from; empty: a new run

  std::string config() const { return path + "/config.toml"; }
  std::string metrics() const { return path + "/metrics.jsonl"; }
  std::string checkpoint() const { return path + "/checkpoint.h5"; }
  std::string evaluation() const { return path + "/evaluation.json"; }
};

// Makes or reopens config.run:
//   resume "never"  the folder must be new or empty; with force, an older run's files in it are removed first
//   resume "auto"   goes on from its checkpoint if it has one, else begins anew in it
//   resume PATH     goes on from that checkpoint; writes into config.run, which must be new, empty or hold it
// Throws Error: Exit::usage where a run would be overwritten, Exit::bad_input for a checkpoint that is not there,
// Exit::io where the folder cannot be made or written.
RunFolder open_run_folder(const RunConfig& config);

}  // namespace sink
