// What `interventions` and `quantise` have in common on a command line.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "eval/checkpoint_interventions.h"
#include "eval/compute_options.h"

namespace sink {

struct InterventionOptions {
  InterventionRequest request;
  std::string out;
  ComputeOptions compute;
  bool force = false;
};

// The model, what it reads, how it computes, --out and --force.
void add_intervention_options(CLI::App* line, InterventionOptions& options);
// Measures, writes the table to stderr and the JSON to stdout or --out, and returns the exit code.
int run_intervention_request(const InterventionOptions& options, const Ablation& ablation,
                             const std::function<std::string(const CheckpointInterventions&)>& table_of);

}  // namespace sink
