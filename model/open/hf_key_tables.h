// The tables of keys of config.json by their parts, and what writes a line of them.
#pragma once

#include <vector>

#include "model/open/hf_config_keys.h"

namespace sink {

std::vector<ConfigKey> common_keys();      // of every family
std::vector<ConfigTable> family_tables();  // of each `model_type`
std::vector<ConfigTable> rope_tables();    // of the objects that say how positions rotate

constexpr ConfigKey read_key(const char* name, const char* missing, const char* note) {
  return {name, ConfigKey::Use::read, missing, nullptr, note};
}
constexpr ConfigKey read_or_null_key(const char* name, const char* missing, const char* note) {
  return {name, ConfigKey::Use::read_or_null, missing, nullptr, note};
}
constexpr ConfigKey fixed_key(const char* name, const char* missing, const char* values, const char* note) {
  return {name, ConfigKey::Use::fixed, missing, values, note};
}
constexpr ConfigKey ignored_key(const char* name, const char* note) {
  return {name, ConfigKey::Use::ignored, nullptr, nullptr, note};
}

// Why keys of any family cannot change a result.
inline constexpr const char* kNoteRun = "how transformers runs a model or returns its results";
inline constexpr const char* kNoteOrigin = "where the file comes from";
inline constexpr const char* kNoteTasks = "a head for other tasks, whose tensors would be refused";
inline constexpr const char* kNoteTraining = "training only";

}  // namespace sink
