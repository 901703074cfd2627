// The table of the settings of a run's batches (engine/data/data_config.h).
#pragma once

#include "engine/data/data_config.h"
#include "engine/io/setting.h"

namespace sink {

const Settings<DataConfig>& data_settings();

}  // namespace sink
