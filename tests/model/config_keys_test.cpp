// The tables of keys of config.json: their page, the defaults of transformers' classes, and the files that
// the classes write.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/io/file.h"
#include "model/open/family/family.h"
#include "model/open/hf_config_keys.h"
#include "tests/support/check_refused.h"
#include "tests/support/files.h"

using namespace sink;

namespace {

using Json = nlohmann::json;
using Use = ConfigKey::Use;

const ConfigKey* find(const ConfigTable& table, const std::string& name) {
  for (const ConfigKey& key : table.keys)
    if (key.name == name) return &key;
  return nullptr;
}

ConfigJson config(const TemporaryFolder& folder, const Json& json) {
  write_file_atomically(folder / "config.json", json.dump());
  return ConfigJson::read(folder / "config.json");
}

}  // namespace

namespace {

std::string in_code(const Json& value) { return "`" + value.dump() + "`"; }

// A line of the page.
std::string line_of(const ConfigKey& key) {
  std::string use = key.use == Use::ignored ? "ignored" : key.use == Use::read ? "read" : "read, or null";
  if (key.use == Use::fixed) use = "must be";
  for (const Json& value : key.values) use += (&value == &key.values[0] ? " " : ", ") + in_code(value);
  return "| `" + key.name + "` | " + use + " | " + (key.missing ? in_code(*key.missing) : "") + " | " + key.note +
         " |\n";
}

std::string section_of(const std::string& title, const FamilyKeys& keys) {
  std::string text = "## " + title + "\n\nBesides these, " +
                     (keys.like_llama ? "the keys of similar families" : "the keys of every family");
  for (const std::string& name : keys.without) text += " but `" + name + "`";
  text += std::string(keys.like_llama ? " and of every family" : "") +
          ".\n\n| key | use | missing | what it is, or why it cannot change results |\n| --- | --- | --- | --- |\n";
  for (const ConfigKey& key : table_of(title).own) text += line_of(key);
  return text + "\n";
}

}  // namespace

TEST_CASE(
    "config keys: the page has the keys of families as in their files, and every other line is a key of its table") {
  const std::string path = std::string(SINK_SOURCE_DIR) + "/model/open/CONFIG_KEYS.md";
  std::string page = read_bytes(path), sections, last;
  for (const Family& family : families()) {
    if (family.type.empty() || family.type == last) continue;
    sections += section_of(last = family.type, family.keys);
    if (!family.outer_type.empty()) sections += section_of(family.outer_type, family.outer_keys);
  }
  if (std::getenv("SINK_WRITE_PAGE")) {
    const std::size_t begin = page.find("## " + families()[0].type + "\n"), end = page.find("## `rope_parameters`");
    REQUIRE(begin < end);
    write_file_atomically(path, page.replace(begin, end - begin, sections));
  }
  CHECK(contains(page, "\n" + sections + "## `rope_parameters`"));
  std::size_t lines = 0, keys = 0, own = 0;
  for (std::size_t at = 0; (at = page.find("\n| `", at)) != std::string::npos; ++at) ++lines;
  for (const ConfigTable& table : config_tables()) {
    keys += table.and_common ? table.own.size() : table.keys.size();
    own += table.and_common;
  }
  CHECK(config_tables().size() == own + 10);
  CHECK(keys == lines);
  CHECK(keys > 300);
}

TEST_CASE("config keys: no table has a key twice, fixed ones are what a missing key is, all values are JSON") {
  for (const ConfigTable& table : config_tables()) {
    std::set<std::string> names;
    for (const ConfigKey& key : table.keys) {
      CAPTURE(key.name);
      CHECK(names.insert(key.name).second);
      CHECK((!table.and_common || !find(config_tables()[0], key.name)));
      CHECK(key.note != "");
      CHECK((key.use == Use::fixed) == !key.values.empty());
      CHECK(!(key.required && key.missing));
      if (key.use != Use::fixed) continue;
      const bool has = key.required || std::ranges::find(key.values, key.missing.value()) != key.values.end();
      CHECK(has);
    }
  }
}

TEST_CASE("config keys: a missing key is what transformers' class has, and all keys that the class writes are known") {
  // Made from other keys by the class.
  const std::set<std::string> derived = {"num_kv_heads",
                                         "ffn_hidden_size",
                                         "head_dim",
                                         "num_key_value_heads",
                                         "layer_types",
                                         "rope_parameters",
                                         "word_embed_proj_dim",
                                         "sliding_window",
                                         "no_rope_layers",
                                         "architectures",
                                         "pruned_heads",
                                         "bos_token_id",
                                         "_sliding_window_pattern",
                                         "num_local_experts",
                                         "attention_layers",
                                         "layer_rope_theta"};
  const std::set<std::string> still_plain = {"mistral sliding_window",      "gemma3_text sliding_window",
                                             "gpt_oss sliding_window",      "qwen3 head_dim",
                                             "gemma3_text head_dim",        "gpt_oss head_dim",
                                             "mistral num_key_value_heads", "qwen2 num_key_value_heads",
                                             "qwen3 num_key_value_heads",   "gemma3_text num_key_value_heads",
                                             "gpt_oss num_key_value_heads", "mixtral num_local_experts",
                                             "gpt_oss num_local_experts"};
  // Grids have the `defaults` of their class (tests/golden/open/make_config_grid.py).
  std::set<std::string> classes;
  for (const Json& grid : Json::parse(read_file("test", SINK_SOURCE_DIR "/tests/golden/open/grid.json"))) {
    const Json& defaults = grid["defaults"];
    const std::string name = grid["cases"][0]["config"]["model_type"];
    const ConfigTable& table = table_of(name);
    classes.insert(name);
    CHECK(defaults.size() > 20);
    int compared = 0;
    for (const auto& [key, value] : defaults.items()) {
      CAPTURE(name);
      CAPTURE(key);
      const ConfigKey* own = find(table, key);
      const ConfigKey* known = own ? own : find(config_tables()[0], key);
      CHECK(known);
      if (!known || known->use == Use::ignored || known->required) continue;
      if (derived.contains(key) && !still_plain.contains(name + " " + key)) continue;
      CHECK(known->missing.value() == value);
      ++compared;
    }
    CHECK(compared >= 8);
    const TemporaryFolder folder;
    Json whole = defaults;
    whole["model_type"] = name;
    CHECK_NOTHROW(known_keys(config(folder, whole), name));
  }
  for (const Family& family : families())
    CHECK_MESSAGE(classes.contains(family.type) != family.type.empty(), family.name);
}

TEST_CASE("config keys: what is not known, null, missing or of another value is refused by name") {
  const TemporaryFolder folder;
  auto refused = [&](const char* table, const Json& json, std::initializer_list<std::string> words) {
    check_refused([&] { known_keys(config(folder, json), table); }, words, Exit::corrupt_checkpoint);
  };
  refused("llama", {{"model_type", "llama"}, {"use_alibi", true}},
          {"config.json: the key `use_alibi` is not known for `llama`", "CONFIG_KEYS.md"});
  refused("llama", {{"model_type", "llama"}, {"use_alibi", nullptr}}, {"`use_alibi`"});
  refused("llama", {{"model_type", "llama"}, {"rms_norm_eps", nullptr}}, {"`rms_norm_eps` is null"});
  refused("llama", {{"model_type", "llama"}, {"is_causal", nullptr}}, {"`is_causal` must be true, got null"});
  refused("llama", {{"hidden_size", 16}}, {"`model_type` is missing"});
  refused("rotary positions of type `linear`", {{"rope_type", "linear"}}, {"`factor` is missing"});
  refused("rotary positions of type `linear`", {{"factor", 2}, {"beta_fast", 2}},
          {"`beta_fast`", "rotary positions of type `linear`"});
  const ConfigJson mistral = known_keys(config(folder, {{"model_type", "mistral"}}), "mistral");
  CHECK(mistral.integer("sliding_window") == 4096);
  CHECK_FALSE(mistral.has("head_dim"));
  const ConfigJson no_window =
      known_keys(config(folder, {{"model_type", "mistral"}, {"sliding_window", nullptr}}), "mistral");
  CHECK_FALSE(no_window.has("sliding_window"));
}
