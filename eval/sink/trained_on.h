// What a checkpoint says of the data and the length of its run.
#pragma once

#include "engine/data/data_config.h"
#include "engine/io/checkpoint.h"
#include "model/sizes.h"

namespace sink {

struct TrainedOn : DataConfig {
  std::int64_t context = 0;  // T
  std::int64_t prefix = 0;   // tokens that every token sees
  std::int64_t steps = 0;    // 0: not said
};

// From its config_toml, the defaults where that is silent; settings of other things are not looked at. `sizes` are the
// model's own: what was once given on a command line does not say how it is. Throws Error (Exit::corrupt_checkpoint).
TrainedOn trained_on(const Checkpoint& checkpoint, const Sizes& sizes);

// A checkpoint made by hand may lack what only training knows.
std::string attribute_or(const Checkpoint& checkpoint, const std::string& name, const std::string& otherwise);

}  // namespace sink
