// The table of optimizers: optimizers.def has its rows. Settings, refusals, the help, plans of memory, the benchmark
// and the tests read it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sink {

class Optimizer;
class ParameterArena;
class ParameterShards;
struct AdamwSettings;
struct RunConfig;

using MakeOptimizer = std::unique_ptr<Optimizer>(ParameterArena&, const RunConfig&, const ParameterShards&);

struct OptimizerKind {
  std::string name;  // of --optimizer
  // Element by element: --zero can shard the state, and --decay can name a part of a matrix.
  bool element_wise;
  int moments;  // elements of state per element of a parameter; of whole_matrices: at most
  std::string source;
  std::vector<std::string> settings;  // flags
  MakeOptimizer* make;

  bool reads(const std::string& flag) const;
};

const std::vector<OptimizerKind>& optimizer_kinds();
// Throws Error (Exit::usage) if there is none of this name.
const OptimizerKind& optimizer_kind(const std::string& name);
// "adamw, sgd, lion": those that `counts` selects.
std::string optimizers_that(const std::function<bool(const OptimizerKind&)>& counts);

// Settings without weight decay, which differs between parameters.
AdamwSettings adamw_settings(const RunConfig& config);

}  // namespace sink
