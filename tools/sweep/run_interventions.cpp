#include "tools/sweep/run_interventions.h"

#include "engine/io/file.h"
#include "engine/threads.h"
#include "eval/interventions/checkpoint_interventions.h"
#include "tools/report/run_reader.h"

namespace sink {

bool has_interventions(const RunConfig& run) {
  const report::Run read = report::read_run_folder(run.run);
  return read.evaluation && read.evaluation->scalar.contains("change_removed_1");
}

void store_interventions(const RunConfig& run, const Ablation& ablation) {
  set_thread_count(1);
  GivenInput given;
  given.data = run.data;
  const CheckpointInterventions found =
      intervene_on_checkpoint({.checkpoint = run.run + "/checkpoint.h5", .given = given}, ablation);
  write_file_atomically(run.run + "/interventions.json", found.json);
}

}  // namespace sink
