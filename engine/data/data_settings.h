// The table of what the batches of a run depend on (engine/data/data_config.h).
#pragma once

#include "engine/data/data_config.h"
#include "engine/io/setting.h"

namespace sink {

// Context and prefix are sizes of the model too; their lines are in its table (model/size_settings.h).
const Settings<DataConfig>& data_settings();

}  // namespace sink
