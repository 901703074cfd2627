#include "model/open/hf_config_keys.h"

#include <algorithm>

#include "engine/check.h"
#include "engine/io/printable.h"
#include "model/open/name_tables.h"

namespace sink {
namespace {

using Json = nlohmann::json;
using Use = ConfigKey::Use;

// Of the cells key, use, missing and note.
ConfigKey key_in(const std::vector<std::string>& cells) {
  const std::string &use = cells.at(1), &missing = cells.at(2);
  ConfigKey key{.name = code_in(cells[0]).at(0), .use = Use::fixed, .note = cells.at(3)};
  if (use == "read") key.use = Use::read;
  if (use == "read, or null") key.use = Use::read_or_null;
  if (use == "ignored") key.use = Use::ignored;
  key.required = missing == "refused";
  if (missing.starts_with('`')) key.missing = Json::parse(code_in(missing)[0]);
  for (const std::string& value : code_in(use)) key.values.push_back(Json::parse(value));
  return key;
}

const ConfigKey* key_named(const std::vector<ConfigKey>& keys, const std::string& name) {
  const auto found = std::ranges::find(keys, name, &ConfigKey::name);
  return found == keys.end() ? nullptr : &*found;
}

const ConfigTable& table_of(const std::string& title) {
  const auto table = std::ranges::find(config_tables(), title, &ConfigTable::title);
  SINK_CHECK(table != config_tables().end(), "open model", "there is no table of keys `" + title + "`");
  return *table;
}

}  // namespace

const std::vector<ConfigTable>& config_tables() {
  static const std::vector<ConfigTable> tables = [] {
    std::vector<ConfigTable> all;
    for (const NameTable& page : name_tables(carried_text("CONFIG_KEYS.md"))) {
      ConfigTable& table = all.emplace_back(
          ConfigTable{page.title, {}, page.text.find("the keys of every family") != std::string::npos});
      for (const auto& cells : page.rows) table.keys.push_back(key_in(cells));
    }
    return all;
  }();
  return tables;
}

const ConfigKey* key_of(const std::string& type, const std::string& key) { return key_named(table_of(type).keys, key); }

ConfigJson known_keys(const ConfigJson& json, const std::string& title) {
  const ConfigTable* table = &table_of(title);
  const std::vector<ConfigKey>& common = config_tables()[0].keys;
  for (const std::string& key : json.keys())
    if (!key_named(table->keys, key) && !(table->and_common && key_named(common, key)))
      json.refuse("the key " + in_quotes(key) + " is not known for " + (table->and_common ? "`" + title + "`" : title) +
                  "; expected those of model/open/CONFIG_KEYS.md; remove it where it cannot change results");
  Json defaults = Json::object();
  auto check = [&](const ConfigKey& key) {
    if (key.use == Use::ignored) return;
    if (key.required && !json.holds(key.name)) json.refuse("`" + key.name + "` is missing");
    if (key.use == Use::fixed) json.expect(key.name, key.values);
    if (key.use == Use::read && !(key.missing && key.missing->is_null())) json.expect_not_null(key.name);
    if (key.missing) defaults[key.name] = *key.missing;
  };
  for (const ConfigKey& key : table->keys) check(key);
  if (table->and_common)
    for (const ConfigKey& key : common) check(key);
  return json.completed(defaults);
}

}  // namespace sink
