// Writes config.json of Hugging Face, which hf_config.cpp reads.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/check.h"
#include "model/open/family/family_parts.h"
#include "model/open/hf_config_keys.h"
#include "model/size_settings.h"

namespace sink {
namespace {

using OrderedJson = nlohmann::ordered_json;

void add_rope(const std::string& scaling, const Sizes& sizes, OrderedJson& json) {
  json["rope_theta"] = sizes.rotary_base;
  if (sizes.rotary_factor == 1 && scaling != "llama3") return;
  json["rope_scaling"] = {{"rope_type", scaling}, {"factor", sizes.rotary_factor}};
  if (scaling == "llama3") json["rope_scaling"].update({{"low_freq_factor", 1.0}, {"high_freq_factor", 4.0}});
  if (scaling == "yarn") json["rope_scaling"].update({{"beta_fast", 32.0}, {"beta_slow", 1.0}, {"truncate", false}});
  if (scaling != "linear") json["rope_scaling"]["original_max_position_embeddings"] = sizes.rotary_context;
}

}  // namespace

void write_window(const OpenConfig& config, OrderedJson& json) {
  json["sliding_window"] = config.sizes.window > 0 ? OrderedJson(config.sizes.window) : OrderedJson();
}

void write_layer_types(const OpenConfig& config, OrderedJson& json) {
  const Sizes& sizes = config.sizes;
  if (!json.contains("sliding_window")) json["sliding_window"] = sizes.window > 0 ? sizes.window : sizes.context;
  for (std::int64_t layer = 0; layer < sizes.layers; ++layer)
    json["layer_types"].push_back(sizes.is_global(layer) ? "full_attention" : "sliding_attention");
}

Sizes sizes_of_family(const std::string& name, const Sizes& given) {
  const Family& family = family_of_ablation(name);
  Sizes sizes = resolve_defaults(given);
  if (!family.rotary)
    sizes.rotary_base = sizes.rotary_part = sizes.rotary_factor = sizes.rotary_local_base = 0, sizes.no_rope_every = 0;
  const bool has_first_context = family.scaling == "llama3" || (family.scaling == "yarn" && sizes.rotary_factor != 1);
  sizes.rotary_context = has_first_context ? sizes.first_context() : 0;
  if (!family.experts) sizes.experts = sizes.chosen_experts = 0;
  if (!family.shared_expert) sizes.shared_feed_forward = 0;
  if (!family.delta_rules)
    sizes.attention_every = sizes.delta_heads = sizes.delta_key_heads = sizes.delta_key_width =
        sizes.delta_value_width = sizes.convolution = 0;
  return sizes;
}

const Family& written_family(const OpenConfig& config) {
  const Family* found = nullptr;
  for (const Family& family : families())
    if (!family.type.empty() && (config.family == family.ablation || config.family == family.with_llama3_rope) &&
        (family.writes ? family.writes(config) : family.name == family.ablation))
      found = &family;
  SINK_CHECK(found, "export", "no config.json is written for " + config.family);
  return *found;
}

std::string hf_config_json(const OpenConfig& config, bool tied, std::int64_t begin_token,
                           const std::vector<std::int32_t>& end_tokens) {
  const Sizes& sizes = config.sizes;
  const Family& family = *config.origin;
  const ConfigTable& table = table_of(family.type);
  OrderedJson json{{"architectures", {family.keys.classes.at(0)}}, {"model_type", family.type}};
  for (const ConfigKey& key : table.keys)
    if (key.use == ConfigKey::Use::fixed && !key.missing->is_null()) json[key.name] = *key.missing;
  for (const Setting<Sizes>& size : size_settings()) {
    const auto key = std::ranges::find(table.keys, key_in_file(config, size.flag), &ConfigKey::name);
    const bool is_read =
        key != table.keys.end() && key->use != ConfigKey::Use::fixed && key->use != ConfigKey::Use::ignored;
    const bool is_value = size.flag != "window" && size.flag != "global-every" && size.flag != "rotary-context";
    if (is_read && is_value) json[key->name] = OrderedJson::parse(plain_text(size.value(sizes)));
  }
  if (family.rotary) add_rope(family_of_ablation(config.family).scaling, sizes, json);
  if (family.write) family.write(config, json);
  json["tie_word_embeddings"] = tied;
  json["torch_dtype"] = "float32";
  json["bos_token_id"] = begin_token >= 0 ? OrderedJson(begin_token) : OrderedJson();
  json["eos_token_id"] = end_tokens.empty()       ? OrderedJson()
                         : end_tokens.size() == 1 ? OrderedJson(end_tokens[0])
                                                  : OrderedJson(end_tokens);
  json["pad_token_id"] = nullptr;
  return json.dump(2) + "\n";
}

}  // namespace sink
