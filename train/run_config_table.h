// The table of a run's settings: one line each. Those of the model and of the data come from model/size_settings.h
// and engine/data/data_settings.h.
#pragma once

#include "engine/io/setting.h"
#include "train/run_config.h"

namespace sink {

const Settings<RunConfig>& run_config_table();

// Whether a setting says what the run is (and so belongs in config.toml) or only how it was started (group Running).
bool is_saved(const Setting<RunConfig>& setting);

}  // namespace sink
