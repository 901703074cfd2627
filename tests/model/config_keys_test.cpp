// The tables of keys of config.json: the page made from them, the defaults of transformers' classes, and the files that
// the classes write.
#include <doctest/doctest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/io/file.h"
#include "model/open/hf_config_keys.h"
#include "tests/support/check_refused.h"
#include "tests/support/files.h"

using namespace sink;

namespace {

using Json = nlohmann::json;
using Use = ConfigKey::Use;

const std::string kPage = std::string(SINK_SOURCE_DIR) + "/model/open/CONFIG_KEYS.md";

// The values of a JSON list, each as code.
std::string values_of(const char* list) {
  std::string text;
  for (const Json& value : Json::parse(list)) text += (text.empty() ? "`" : ", `") + value.dump() + "`";
  return text;
}

std::string missing_of(const ConfigKey& key) {
  if (key.use == Use::ignored) return "";
  if (!key.missing) return "refused";
  const std::string missing = key.missing;
  return missing.empty() || missing == "null" ? "" : "`" + missing + "`";
}

std::string use_of(const ConfigKey& key) {
  switch (key.use) {
    case Use::read:
      return "read";
    case Use::read_or_null:
      return "read, or null";
    case Use::fixed:
      return "must be " + values_of(key.values);
    case Use::ignored:
      return "ignored";
  }
  return "";
}

std::string page() {
  std::string page =
      "# Keys of config.json\n\n"
      "For users of models in folders of Hugging Face: what this program does with each key of `config.json`. A key is "
      "read,\nmust have one of a few values, or is ignored because it cannot change a result. Any other key is refused "
      "with exit code\n4, and so is another value. A missing key is what the class in transformers 5 has for it, as "
      "the "
      "column says.\n\n"
      "This page is made from `model/open/hf_config_keys.cpp` by `config_keys_test`; run it with `SINK_WRITE_PAGE=1` "
      "to "
      "write\nthe page again.\n";
  for (const ConfigTable& table : config_tables()) {
    page += "\n## " + table.title + "\n\n";
    if (table.and_common) page += "Besides these, the keys of every family.\n\n";
    page += "| key | use | missing | what it is, or why it cannot change results |\n| --- | --- | --- | --- |\n";
    for (const ConfigKey& key : table.keys)
      page +=
          "| `" + std::string(key.name) + "` | " + use_of(key) + " | " + missing_of(key) + " | " + key.note + " |\n";
  }
  return page;
}

const ConfigTable& table_named(const std::string& name) {
  for (const ConfigTable& table : config_tables())
    if (table.name == name) return table;
  fail("test", name);
}

const ConfigKey* find(const ConfigTable& table, const std::string& name) {
  for (const ConfigKey& key : table.keys)
    if (key.name == name) return &key;
  return nullptr;
}

ConfigJson config(const TemporaryFolder& folder, const Json& json) {
  write_file_atomically(folder / "config.json", json.dump());
  return ConfigJson::read(folder / "config.json");
}

// Tables, and the file whose `defaults` are those of the class (tests/golden/open/make_config_grid.py).
constexpr const char* kClasses[][2] = {
    {"gpt2", "gpt2"},   {"opt", "opt"},     {"gpt_neox", "gpt_neox"},  {"llama", "llama"},    {"mistral", "mistral"},
    {"qwen2", "qwen2"}, {"qwen3", "qwen3"}, {"gemma3_text", "gemma3"}, {"gpt_oss", "gpt_oss"}};

Json defaults_of_class(const std::string& file) {
  return Json::parse(
      read_file("test", std::string(SINK_SOURCE_DIR) + "/tests/golden/open/grid/" + file + ".json"))["defaults"];
}

}  // namespace

TEST_CASE("config keys: the page is made from the tables") {
  if (std::getenv("SINK_WRITE_PAGE")) write_file_atomically(kPage, page());
  CHECK_MESSAGE(read_bytes(kPage) == page(), "run config_keys_test with SINK_WRITE_PAGE=1");
}

TEST_CASE("config keys: no table has a key twice, fixed ones are what a missing key is, all values are JSON") {
  for (const ConfigTable& table : config_tables()) {
    std::set<std::string> names;
    for (const ConfigKey& key : table.keys) {
      CAPTURE(key.name);
      CHECK(names.insert(key.name).second);
      CHECK((!table.and_common || !find(config_tables()[0], key.name)));
      CHECK(std::string(key.note) != "");
      if (key.use != Use::fixed) continue;
      const Json values = Json::parse(key.values);
      const bool has = !key.missing || std::ranges::find(values, Json::parse(key.missing)) != values.end();
      CHECK(has);
    }
  }
}

TEST_CASE("config keys: a missing key is what transformers' class has, and all keys that the class writes are known") {
  // Made from other keys by the class.
  const std::set<std::string> derived = {
      "head_dim",       "num_key_value_heads", "layer_types",  "rope_parameters", "word_embed_proj_dim",
      "sliding_window", "architectures",       "pruned_heads", "bos_token_id",    "_sliding_window_pattern"};
  const std::set<std::string> still_plain = {"mistral sliding_window",      "gemma3_text sliding_window",
                                             "gpt_oss sliding_window",      "qwen3 head_dim",
                                             "gemma3_text head_dim",        "gpt_oss head_dim",
                                             "mistral num_key_value_heads", "qwen2 num_key_value_heads",
                                             "qwen3 num_key_value_heads",   "gemma3_text num_key_value_heads",
                                             "gpt_oss num_key_value_heads"};
  for (auto [name, file] : kClasses) {
    const ConfigTable& table = table_named(name);
    const Json defaults = defaults_of_class(file);
    CHECK(defaults.size() > 20);
    int compared = 0;
    for (const auto& [key, value] : defaults.items()) {
      CAPTURE(name);
      CAPTURE(key);
      const ConfigKey* own = find(table, key);
      const ConfigKey* known = own ? own : find(config_tables()[0], key);
      CHECK(known);
      if (!known || known->use == Use::ignored || !known->missing) continue;
      if (derived.contains(key) && !still_plain.contains(std::string(name) + " " + key)) continue;
      CHECK(Json::parse(known->missing) == value);
      ++compared;
    }
    CHECK(compared >= 8);
    const TemporaryFolder folder;
    Json whole = defaults;
    whole["model_type"] = name;
    CHECK_NOTHROW(known_keys(config(folder, whole), name));
  }
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
  refused("rope linear", {{"rope_type", "linear"}}, {"`factor` is missing"});
  refused("rope linear", {{"factor", 2}, {"beta_fast", 2}}, {"`beta_fast`", "rotary positions of type `linear`"});
  const ConfigJson mistral = known_keys(config(folder, {{"model_type", "mistral"}}), "mistral");
  CHECK(mistral.integer("sliding_window") == 4096);
  CHECK_FALSE(mistral.has("head_dim"));
  const ConfigJson no_window =
      known_keys(config(folder, {{"model_type", "mistral"}, {"sliding_window", nullptr}}), "mistral");
  CHECK_FALSE(no_window.has("sliding_window"));
}
