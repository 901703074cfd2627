#include "model/open/hf_config_keys.h"

#include <algorithm>

#include "engine/check.h"
#include "engine/io/printable.h"
#include "model/open/family/family.h"
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

// The keys of a family that are in its file.
std::vector<ConfigKey> own_keys(const FamilyKeys& family, const std::vector<ConfigKey>& usual) {
  auto note_of = [&](const std::string& name, const std::string& note) {
    const ConfigKey* key = key_named(usual, name);
    SINK_CHECK(key || !note.empty(), "family", "`" + name + "` is in no other table: it needs a note");
    return note.empty() ? key->note : note;
  };
  std::vector<ConfigKey> keys{{.name = "architectures", .use = Use::fixed, .missing = nullptr, .note = "the class"}};
  keys[0].values = {nullptr, Json::array()};
  for (const std::string& name : family.classes) keys[0].values.push_back(Json::array({name}));
  const auto defaults = nlohmann::ordered_json::parse(family.defaults);
  for (const auto& [name, value] : defaults.items())
    keys.push_back({.name = name, .use = Use::read, .missing = value, .note = note_of(name, "")});
  for (const ReadKey& key : family.read) {
    keys.push_back({.name = key.name, .use = Use::read, .note = note_of(key.name, key.note)});
    if (key.missing.empty()) continue;
    keys.back().missing = Json::parse(key.missing);
    if (key.missing != "null" && keys.back().note.find("null: ") != std::string::npos)
      keys.back().use = Use::read_or_null;
  }
  for (const FixedKey& key : family.fixed) {
    const Json values = Json::parse("[" + key.values + "]");
    keys.push_back({key.name, Use::fixed, false, values[0], values, note_of(key.name, key.note)});
  }
  for (const IgnoredKeys& some : family.ignored)
    for (const std::string& name : some.names) keys.push_back({.name = name, .use = Use::ignored, .note = some.why});
  return keys;
}

ConfigTable family_table(const std::string& title, const FamilyKeys& family, const std::vector<ConfigKey>& usual) {
  ConfigTable table{.title = title, .keys = {}, .and_common = true, .own = own_keys(family, usual)};
  if (family.like_llama) table.keys = usual;
  std::erase_if(table.keys, [&](const ConfigKey& key) {
    return key_named(table.own, key.name) || std::ranges::find(family.without, key.name) != family.without.end();
  });
  table.keys.insert(table.keys.begin(), table.own.begin(), table.own.end());
  return table;
}

}  // namespace

const std::vector<ConfigTable>& config_tables() {
  static const std::vector<ConfigTable> tables = [] {
    std::vector<ConfigTable> all;
    for (const NameTable& page : name_tables(carried_text("CONFIG_KEYS.md"))) {
      ConfigTable& table = all.emplace_back(ConfigTable{.title = page.title});
      for (const auto& cells : page.rows) table.keys.push_back(key_in(cells));
    }
    const auto of_family = [](const ConfigTable& table) {
      return std::ranges::any_of(families(), [&](const Family& family) {
        return table.title == family.type || table.title == family.outer_type;
      });
    };
    std::erase_if(all, of_family);  // on the page they are for people
    const std::vector<ConfigKey> usual = all.at(1).keys;
    for (const Family& family : families())
      if (!family.type.empty() && std::ranges::find(all, family.type, &ConfigTable::title) == all.end()) {
        all.push_back(family_table(family.type, family.keys, usual));
        if (!family.outer_type.empty()) all.push_back(family_table(family.outer_type, family.outer_keys, usual));
      }
    return all;
  }();
  return tables;
}

const ConfigTable& table_of(const std::string& title) {
  const auto table = std::ranges::find(config_tables(), title, &ConfigTable::title);
  SINK_CHECK(table != config_tables().end(), "open model", "there is no table of keys `" + title + "`");
  return *table;
}

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
