#include "model/open/hf_config_keys.h"

#include "engine/check.h"
#include "engine/io/printable.h"
#include "model/open/hf_key_tables.h"

namespace sink {
namespace {

const ConfigTable& table_named(const std::string& name) {
  for (const ConfigTable& table : config_tables())
    if (table.name == name) return table;
  fail("open model", "there is no table of keys `" + name + "`");
}

const ConfigKey* key_named(const std::vector<ConfigKey>& keys, const std::string& name) {
  for (const ConfigKey& key : keys)
    if (name == key.name) return &key;
  return nullptr;
}

}  // namespace

const std::vector<ConfigTable>& config_tables() {
  static const std::vector<ConfigTable> tables = [] {
    std::vector<ConfigTable> all{{"every", "Every family", common_keys(), false}};
    for (const std::vector<ConfigTable>& more : {family_tables(), rope_tables()})
      all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return tables;
}

ConfigJson known_keys(const ConfigJson& json, const std::string& name) {
  const ConfigTable& table = table_named(name);
  const std::vector<ConfigKey>& common = config_tables()[0].keys;
  for (const std::string& key : json.keys())
    if (!key_named(table.keys, key) && !(table.and_common && key_named(common, key)))
      json.refuse("the key `" + printable(key.substr(0, 60)) + "` is not known for " +
                  (table.and_common ? "`" + table.name + "`" : table.title) +
                  "; expected those of model/open/CONFIG_KEYS.md; remove it where it cannot change results");
  nlohmann::json defaults = nlohmann::json::object();
  auto check = [&](const ConfigKey& key) {
    if (key.use == ConfigKey::Use::ignored) return;
    if (!key.missing && !json.holds(key.name)) json.refuse(std::string("`") + key.name + "` is missing");
    if (key.use == ConfigKey::Use::fixed) json.expect(key.name, nlohmann::json::parse(key.values));
    const std::string missing = key.missing ? key.missing : "";
    if (key.use == ConfigKey::Use::read && missing != "null") json.expect_not_null(key.name);
    if (!missing.empty()) defaults[key.name] = nlohmann::json::parse(missing);
  };
  for (const ConfigKey& key : table.keys) check(key);
  if (table.and_common)
    for (const ConfigKey& key : common) check(key);
  return json.completed(defaults);
}

}  // namespace sink
