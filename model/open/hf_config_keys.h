// The keys of config.json by family: which are read, which must have one of a few values, and which cannot change a
// result. Other keys are refused. The tables of families are in their
// files; the others are those of CONFIG_KEYS.md.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "model/open/config_json.h"

namespace sink {

struct ConfigKey {
  enum class Use { read, read_or_null, fixed, ignored };
  std::string name;
  Use use;
  bool required = false;
  // Of a missing key in the class in transformers; none for keys that are required or ignored, or where the note tells.
  std::optional<nlohmann::json> missing = std::nullopt;
  nlohmann::json values = nlohmann::json::array();  // of a fixed key: those that are implemented here
  std::string note = {};
};

struct ConfigTable {
  std::string title;  // the `model_type`, or "rotary positions of type `linear`"
  std::vector<ConfigKey> keys = {};
  bool and_common = false;          // the keys of every family, too
  std::vector<ConfigKey> own = {};  // of a family: those that the page has in its table
};

// Those of the page, of which the first has the keys of every family, then those of families.
const std::vector<ConfigTable>& config_tables();
const ConfigTable& table_of(const std::string& title);

// The object with missing keys as the class in transformers has them. `title`: of the table. Throws Error
// (Exit::corrupt_checkpoint), naming the key, for a key that is not in the table, is null or missing and must not be,
// or is fixed and has another value.
ConfigJson known_keys(const ConfigJson& json, const std::string& title);

}  // namespace sink
