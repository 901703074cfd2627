// The readers look into the table of optimizers and make none.
#include <cstdlib>

#include "train/optimizers/optimizers.h"

namespace sink {

#define SINK_OPTIMIZER(name, ...) \
  std::unique_ptr<Optimizer> make_##name(ParameterArena&, const RunConfig&, const ParameterShards&) { std::abort(); }
#include "train/optimizers/optimizers.def"
#undef SINK_OPTIMIZER

}  // namespace sink
