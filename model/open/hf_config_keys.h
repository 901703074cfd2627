// The keys that config.json has of each family: which are read, which must have one value, and which cannot change a
// result. No other key is accepted. CONFIG_KEYS.md is these tables as a page (tests/model/config_keys_test.cpp).
#pragma once

#include <string>
#include <vector>

#include "model/open/config_json.h"

namespace sink {

struct ConfigKey {
  enum class Use { read, read_or_null, fixed, ignored };

  const char* name;
  Use use;
  // Of a key that is read or fixed, as JSON: what a missing one is, by transformers' class. "": what the note says;
  // "null": so is null; nullptr: it must be there.
  const char* missing;
  const char* values;  // of a fixed key, as a JSON list: those that are computed here
  const char* note;
};

struct ConfigTable {
  std::string name;   // the `model_type`, or what known_keys() is asked for
  std::string title;  // of the page
  std::vector<ConfigKey> keys;
  bool and_common;  // the keys of every family, too
};

// In the order of the page; the first is the keys of every family.
const std::vector<ConfigTable>& config_tables();

// The object with its missing keys as the class in transformers has them. Throws Error (Exit::corrupt_checkpoint),
// naming the key, where one is not in the table, is null or missing and must not be, or is fixed and has another value.
ConfigJson known_keys(const ConfigJson& json, const std::string& table);

}  // namespace sink
