#include "eval/sink/trained_on.h"

#include "engine/data/data_settings.h"
#include "engine/io/settings_toml.h"

namespace sink {

TrainedOn trained_on(const Checkpoint& checkpoint, const Sizes& sizes) {
  const std::string where = checkpoint.path + " (config_toml)";
  const Setting<TrainedOn> steps{"steps", "", &TrainedOn::steps, "", 1, 1e9};
  TrainedOn run;
  run.context = sizes.context;
  run.prefix = sizes.prefix;
  try {
    for (const auto& [key, value] :
         read_settings_toml(attribute_or(checkpoint, "config_toml", ""), where, Exit::corrupt_checkpoint)) {
      if (key == steps.key()) steps.set(run, value, where + ": " + key);
      if (const Setting<DataConfig>* setting = setting_named(data_settings(), key))
        setting->set(run, value, where + ": " + key);
    }
  } catch (const Error& error) { throw Error(error.what(), Exit::corrupt_checkpoint); }
  return run;
}

std::string attribute_or(const Checkpoint& checkpoint, const std::string& name, const std::string& otherwise) {
  return checkpoint.attributes.contains(name) ? checkpoint.attribute(name) : otherwise;
}

}  // namespace sink
