// What `interventions` and `quantise` have in common on a command line.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "engine/io/compute_options.h"
#include "eval/interventions/checkpoint_interventions.h"
#include "eval/json_output.h"

namespace sink {

struct InterventionOptions {
  InterventionRequest request;
  JsonOutput output;
  ComputeOptions compute;
};

// The model, what it reads, how it computes, --json, --out and --force.
void add_intervention_options(CLI::App* line, InterventionOptions& options);
// Measures, writes table and JSON (json_output.h), and returns the exit code.
int run_intervention_request(const InterventionOptions& options, const Ablation& ablation,
                             const std::function<std::string(const CheckpointInterventions&)>& table_of);

}  // namespace sink
