// config.json of Hugging Face: the meaning of its keys that several families have. The keys and their defaults are in
// model/open/CONFIG_KEYS.md.
#include <algorithm>
#include <cmath>

#include "engine/io/printable.h"
#include "model/open/family/family_parts.h"
#include "model/open/hf_config_keys.h"

namespace sink {

void require_type_of_each(const ConfigJson& json, const std::vector<std::string>& types, std::int64_t layers) {
  if (std::ssize(types) != layers)
    json.refuse("`layer_types` must have one type for each of " + std::to_string(layers) + " layers, got " +
                std::to_string(types.size()));
}

namespace {

// A window that some layer has. 0 is no window in Sizes, but an error in a file.
std::int64_t window_of(const ConfigJson& json) {
  json.expect_positive({"sliding_window"});
  return std::min(json.integer("sliding_window"), kLongestContext);
}

}  // namespace

void take_layer_types(const ConfigJson& json, OpenConfig& config, const std::function<bool(std::int64_t)>& is_full) {
  Sizes& sizes = config.sizes;
  const std::int64_t layers = sizes.layers;
  std::vector<bool> full;
  if (json.has("layer_types")) {
    const std::vector<std::string> types = json.texts("layer_types");
    require_type_of_each(json, types, layers);
    for (const std::string& type : types) {
      full.push_back(type == "full_attention" || type == "attention");  // "attention" is the older name
      if (!full.back() && type != "sliding_attention")
        json.refuse("`layer_types` must be full_attention or sliding_attention, got " + in_quotes(type));
    }
  } else {
    for (std::int64_t layer = 0; layer < std::min<std::int64_t>(layers, 4096); ++layer) full.push_back(is_full(layer));
  }
  if (std::ranges::find(full, false) == full.end()) return;
  if (!json.has("sliding_window"))
    json.refuse("`layer_types` has sliding_attention, and `sliding_window` is null; expected a number of keys");
  sizes.window = window_of(json);
  set_global_layers(sizes, full);
}

void take_window(const ConfigJson& json, OpenConfig& config) {
  if (json.has("sliding_window")) config.sizes.window = window_of(json);
}

namespace {

void take_experts(const ConfigJson& json, OpenConfig& config) {
  Sizes& sizes = config.sizes;
  const std::string key = key_in_file(config, "experts");
  // Where a family has both names, transformers takes either.
  const bool both = key != "num_local_experts" && json.holds("num_local_experts");
  sizes.experts = json.integer(key.c_str(), both ? json.integer("num_local_experts") : 128);
  if (both) json.expect("num_local_experts", {sizes.experts});
  sizes.chosen_experts = json.integer("num_experts_per_tok");
  if (sizes.experts < 1 || sizes.chosen_experts < 1)
    json.refuse("`" + key + "` and `num_experts_per_tok` must be at least 1");
}

// The sizes whose keys most families have.
Sizes common_sizes(const ConfigJson& json, const OpenConfig& config) {
  auto key = [&](const char* flag) { return key_in_file(config, flag); };
  auto integer = [&](const char* flag) { return json.integer(key(flag).c_str()); };
  const std::int64_t width = integer("width");
  Sizes sizes{.layers = integer("layers"), .heads = integer("heads"), .width = width};
  sizes.feed_forward = json.integer(key("feed-forward").c_str(), 4 * std::clamp<std::int64_t>(width, 0, 1 << 20));
  sizes.context = integer("context");
  if (config.origin->rotary) sizes.context = std::min(sizes.context, kLongestContext);
  sizes.vocabulary = integer("vocabulary");
  if (json.holds(key("kv-heads"))) sizes.kv_heads = json.integer(key("kv-heads").c_str(), sizes.heads);
  if (json.holds(key("head-width"))) sizes.head_width = json.integer(key("head-width").c_str(), 0);
  if (json.holds(key("norm-epsilon"))) sizes.norm_epsilon = json.real(key("norm-epsilon").c_str());
  return sizes;
}

// The keys of the text model in a config with images.
ConfigJson keys_of_text(const ConfigJson& given, const Family& family) {
  const ConfigJson json = known_keys(given, family.outer_type);
  const ConfigJson text = known_keys(json.object("text_config").completed({{"model_type", family.type}}), family.type);
  text.expect("model_type", {family.type});
  json.expect("tie_word_embeddings", {text.flag("tie_word_embeddings")});
  return text;
}

// Published folders of some families bring copies of the classes that transformers has, too: `auto_map` names them,
// such as "modeling_phi3.Phi3ForCausalLM". Its "AutoTokenizer" is no code of the model: tokens are those of the
// folder's tokenizer.json, as in transformers.
ConfigJson without_own_class(const ConfigJson& json, const Family& family) {
  if (!json.is_object("auto_map")) return json;
  const ConfigJson classes = json.object("auto_map");
  for (const std::string& key : classes.keys()) {
    if (key == "AutoTokenizer") continue;
    if (family.own_code.empty()) return json;
    const std::string value = classes.text(key.c_str()), class_in = "_" + family.type + "." + family.own_code;
    if (!value.starts_with("configuration" + class_in) && !value.starts_with("modeling" + class_in))
      json.refuse("`auto_map` must name classes of " + family.own_code + " in its folder, got " + in_quotes(value));
  }
  return json.with_null("auto_map");
}

// 0 is a default in Sizes, but an error in a file.
void expect_positive_sizes(const ConfigJson& json) {
  json.expect_positive({"head_dim", "num_key_value_heads", "n_inner", "num_kv_heads", "ffn_hidden_size", "rotary_pct",
                        "partial_rotary_factor", "rope_theta", "rotary_emb_base", "rope_local_base_freq",
                        "original_max_position_embeddings", "query_pre_attn_scalar", "attention_multiplier",
                        "embedding_multiplier", "residual_multiplier", "logits_scaling", "rms_norm_eps",
                        "layer_norm_eps", "layer_norm_epsilon"});
}

const Family& family_of_type(const ConfigJson& json) {
  const std::string type = json.text("model_type");
  std::vector<std::string> types;
  for (const Family& family : families())
    for (const std::string& one : {family.type, family.outer_type}) {
      if (one.empty()) continue;
      if (one == type) return family;
      if (std::ranges::find(types, one) == types.end()) types.push_back(one);
    }
  json.refuse(not_computed(type, types));
}

}  // namespace

OpenConfig read_hf_config(const std::string& path) {
  const ConfigJson json = ConfigJson::read(path);
  const Family& family = family_of_type(json);
  const bool with_images = json.text("model_type") == family.outer_type;
  std::optional<Quantization> quantization = quantization_of(json);
  if (with_images && !quantization) quantization = quantization_of(json.object("text_config"));
  expect_positive_sizes(json);
  const ConfigJson plain = without_own_class(json, family);
  const ConfigJson keys = with_images ? keys_of_text(plain, family) : known_keys(plain, family.type);
  OpenConfig config{.family = family.ablation, .origin = &family, .names = &family.names};
  config.sizes = common_sizes(keys, config);
  if (family.experts) take_experts(keys, config);
  if (family.read) family.read(keys, config);
  if (!family.rope_types.empty()) {
    const Rope rope = whole_rope(keys, family.rope_types, yarn_width(config.sizes));
    take_rope(rope, config);
    if (rope.type == "llama3") config.family = family.with_llama3_rope;
  }
  if (family.scaled_embedding) config.embedding_scale = std::sqrt(static_cast<double>(config.sizes.width));
  config.gain_less = family.gains_less_one;
  config.tied = keys.flag("tie_word_embeddings");
  config.quantization = quantization;
  config.with_vision = with_images;
  const ConfigJson& with_begin = json.has("bos_token_id") ? json : keys;
  if (with_begin.has("bos_token_id")) config.begin_token = with_begin.integer("bos_token_id");
  return config;
}

}  // namespace sink
