#include "eval/sink/trained_on.h"

#include "engine/data/data_settings.h"
#include "engine/data/same_data.h"
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
  if (run.fixed_probability == 0) {  // a token that no sequence of the run had
    const DataConfig without;
    run.fixed_token = without.fixed_token;
    run.fixed_position = without.fixed_position;
    run.fixed_to = without.fixed_to;
    run.fixed_probability = without.fixed_probability;
  }
  return run;
}

std::string attribute_or(const Checkpoint& checkpoint, const std::string& name, const std::string& otherwise) {
  return checkpoint.attributes.contains(name) ? checkpoint.attribute(name) : otherwise;
}

std::int64_t integer_or(const Checkpoint& checkpoint, const std::string& name, std::int64_t otherwise) {
  return checkpoint.attributes.contains(name) ? checkpoint.integer(name) : otherwise;
}

std::unique_ptr<DataSource> validation_text(const Checkpoint& checkpoint, TrainedOn run, const std::string& other,
                                            const Sizes& sizes) {
  if (!other.empty()) run.data = other;
  if (run.task == "text" && run.data.empty())
    throw Error(checkpoint.path +
                    " does not record its training text: give --data FOLDER, --text, --text-file or "
                    "--tokens; `sink` also has --input random",
                Exit::usage);
  std::unique_ptr<DataSource> data = make_data_source(run, run.context, run.prefix);
  if (data->vocabulary() > sizes.vocabulary)
    throw Error((run.data.empty() ? "the task " + run.task : run.data) + " has " + std::to_string(data->vocabulary()) +
                    " kinds of tokens, the model " + std::to_string(sizes.vocabulary) +
                    ": give the data that it was trained on",
                Exit::bad_input);
  if (!other.empty())
    require_same_tokenizer(checkpoint, *data, run.data);
  else
    require_same_data(checkpoint, *data, run.data,
                      "give the folder that holds it as --data, or this one to measure on other text");
  return data;
}

std::int64_t first_token(const Checkpoint& checkpoint, const TrainedOn& run, const std::string& command,
                         std::optional<bool> bos) {
  if (bos == false) return -1;
  if (run.fixed_token < 0) {
    const std::int64_t own = integer_or(checkpoint, "begin_token", -1);
    if (own >= 0 || !bos) return own;
    const std::int64_t prefix = integer_or(checkpoint, "prefix_token", -1);
    if (prefix < 0)
      throw Error(checkpoint.path + " names no begin token: leave out --bos, or write the token in the text",
                  Exit::usage);
    return prefix;
  }
  if (run.fixed_position != 1 || run.fixed_to > 1)
    throw Error(checkpoint.path + " was trained with a fixed token at " +
                    (run.fixed_to > 1 ? "a drawn position" : "position " + std::to_string(run.fixed_position)) +
                    " of every sequence; " + command + " takes models that have it first, or have none",
                Exit::usage);
  return run.fixed_token;
}

}  // namespace sink
