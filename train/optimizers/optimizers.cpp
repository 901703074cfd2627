#include "train/optimizers/optimizers.h"

#include <algorithm>

#include "engine/check.h"

namespace sink {

#define SINK_OPTIMIZER(name, ...) MakeOptimizer make_##name;
#include "train/optimizers/optimizers.def"
#undef SINK_OPTIMIZER

const std::vector<OptimizerKind>& optimizer_kinds() {
  constexpr bool element_wise = true, whole_matrices = false;
#define SINK_OPTIMIZER(name, updates, moments, source, ...) \
  {#name, updates, moments, source, {__VA_ARGS__}, make_##name},
  static const std::vector<OptimizerKind> kinds{
#include "train/optimizers/optimizers.def"
  };
#undef SINK_OPTIMIZER
  return kinds;
}

bool OptimizerKind::reads(const std::string& flag) const {
  return std::find(settings.begin(), settings.end(), flag) != settings.end();
}

const OptimizerKind& optimizer_kind(const std::string& name) {
  for (const OptimizerKind& kind : optimizer_kinds())
    if (kind.name == name) return kind;
  fail("train", "expected the optimizer " + optimizers_that([](const auto&) { return true; }) + ", got " + name,
       Exit::usage);
}

std::string optimizers_that(const std::function<bool(const OptimizerKind&)>& counts) {
  std::string names;
  for (const OptimizerKind& kind : optimizer_kinds())
    if (counts(kind)) names += (names.empty() ? "" : ", ") + kind.name;
  return names;
}

}  // namespace sink
