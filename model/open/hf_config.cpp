// config.json of Hugging Face: the meaning of its keys, family by family. The keys and their defaults are in
// model/open/CONFIG_KEYS.md.
#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/io/printable.h"
#include "model/open/config_json.h"
#include "model/open/hf_config_keys.h"
#include "model/open/hf_rope.h"
#include "model/open/open_config.h"

namespace sink {
namespace {

OpenConfig gpt2_config(const ConfigJson& json) {
  OpenConfig config{.family = "gpt2", .sizes = {}, .names = TensorNames::hf_gpt2};
  config.sizes = {.layers = json.integer("n_layer"),
                  .heads = json.integer("n_head"),
                  .width = json.integer("n_embd"),
                  .feed_forward = json.integer("n_inner", 4 * json.integer("n_embd")),
                  .context = json.integer("n_positions"),
                  .vocabulary = json.integer("vocab_size"),
                  .norm_epsilon = json.real("layer_norm_epsilon")};
  return config;
}

// The sizes whose keys are the same in all families but GPT-2.
Sizes common_sizes(const ConfigJson& json, const char* feed_forward) {
  return {.layers = json.integer("num_hidden_layers"),
          .heads = json.integer("num_attention_heads"),
          .width = json.integer("hidden_size"),
          .feed_forward = json.integer(feed_forward),
          .context = std::min(json.integer("max_position_embeddings"), kLongestContext),
          .vocabulary = json.integer("vocab_size")};
}

OpenConfig opt_config(const ConfigJson& json) {
  if (json.has("word_embed_proj_dim")) json.expect("word_embed_proj_dim", {json.integer("hidden_size")});
  OpenConfig config{.family = "opt", .sizes = common_sizes(json, "ffn_dim"), .names = TensorNames::hf_opt};
  config.sizes.context = json.integer("max_position_embeddings");
  config.sizes.norm_epsilon = 1e-5;
  return config;
}

OpenConfig neox_config(const ConfigJson& json) {
  OpenConfig config{
      .family = "gpt_neox", .sizes = common_sizes(json, "intermediate_size"), .names = TensorNames::hf_neox};
  config.sizes.norm_epsilon = json.real("layer_norm_eps");
  const Rope rope = rope_of(rope_object(json), {"", json.real("rotary_emb_base"), 0, 0, json.real("rotary_pct")},
                            {"default", "linear"});
  json.expect("rope_theta", {rope.base});
  json.expect("partial_rotary_factor", {rope.part});
  take_rope(rope, config);
  take_rotary_part(json, rope, config.sizes);
  return config;
}

// The newer architecture has groups of heads, and two norms in a block unless one is asked for; the older has one norm,
// and one key and value head for all queries (`multi_query`) or one for each.
OpenConfig falcon_config(const ConfigJson& json) {
  OpenConfig config{.family = "falcon", .sizes = {}, .names = TensorNames::hf_falcon};
  const std::int64_t heads = json.integer("num_attention_heads"), width = json.integer("hidden_size");
  config.sizes = {.layers = json.integer("num_hidden_layers"),
                  .heads = heads,
                  .width = width,
                  .feed_forward = json.integer("ffn_hidden_size", 4 * std::clamp<std::int64_t>(width, 0, 1 << 20)),
                  .context = std::min(json.integer("max_position_embeddings"), kLongestContext),
                  .vocabulary = json.integer("vocab_size"),
                  .norm_epsilon = json.real("layer_norm_epsilon")};
  const bool newer = json.flag("new_decoder_architecture");
  if (!newer && !json.flag("multi_query") && json.integer("num_kv_heads", heads) != heads)
    json.refuse("`num_kv_heads` must be `num_attention_heads`, " + std::to_string(heads) +
                ", where `multi_query` and `new_decoder_architecture` are false, got " +
                std::to_string(json.integer("num_kv_heads")) + "; transformers does not compute that");
  const std::int64_t norms = json.integer("num_ln_in_parallel_attn", newer ? 2 : 1);
  if (norms < 1 || norms > (newer ? 2 : 1))
    json.refuse("`num_ln_in_parallel_attn` must be 1, or 2 with `new_decoder_architecture`, got " +
                std::to_string(norms));
  if (norms == 2) config.names = TensorNames::hf_falcon_2_norms;
  config.sizes.kv_heads = newer ? json.integer("num_kv_heads", heads) : json.flag("multi_query") ? 1 : heads;
  const Rope rope = rope_of(rope_object(json), {"", json.real("rope_theta"), 0, 0, 1}, {"default", "linear"});
  require_whole_heads(json, rope);
  take_rope(rope, config);
  return config;
}

// LLaMA 2 and 3, Mistral, Qwen 2 and 3, and the common keys of Gemma 3 and gpt-oss.
OpenConfig llama_config(const ConfigJson& json, const std::string& family) {
  OpenConfig config{.family = family, .sizes = common_sizes(json, "intermediate_size"), .names = TensorNames::hf_llama};
  config.sizes.kv_heads = json.integer("num_key_value_heads", config.sizes.heads);
  config.sizes.head_width = json.integer("head_dim", 0);
  config.sizes.norm_epsilon = json.real("rms_norm_eps");
  return config;
}

Rope llama_rope(const ConfigJson& json, std::initializer_list<std::string> types) {
  const Rope rope =
      rope_of(rope_object(json), {"", json.real("rope_theta"), 0, json.integer("max_position_embeddings"), 1}, types);
  require_whole_heads(json, rope);
  return rope;
}

void require_type_of_each(const ConfigJson& json, const std::vector<std::string>& types, std::int64_t layers) {
  if (std::ssize(types) != layers)
    json.refuse("`layer_types` must have one type for each of " + std::to_string(layers) + " layers, got " +
                std::to_string(types.size()));
}

// A window that some layer has. 0 is no window in Sizes, but an error in a file.
std::int64_t window_of(const ConfigJson& json) {
  json.expect_positive({"sliding_window"});
  return std::min(json.integer("sliding_window"), kLongestContext);
}

// Sets window and the layers without it from `layer_types`, or if it is missing from is_full(layer).
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

// All layers have the window, if there is one.
void take_window(const ConfigJson& json, Sizes& sizes) {
  if (json.has("sliding_window")) sizes.window = window_of(json);
}

// The class of Mistral ignores layer types.
void take_mistral_window(const ConfigJson& json, OpenConfig& config) {
  const bool has_window = json.has("sliding_window");
  if (json.has("layer_types")) {
    const std::vector<std::string> types = json.texts("layer_types");
    require_type_of_each(json, types, config.sizes.layers);
    for (const std::string& type : types)
      if (type != (has_window ? "sliding_attention" : "full_attention"))
        json.refuse("`layer_types` has " + in_quotes(type) + ", which Mistral's class does not read: all layers have " +
                    (has_window ? "the window" : "no window"));
  }
  take_window(json, config.sizes);
}

void take_qwen_window(const ConfigJson& given, OpenConfig& config) {
  const bool used = given.flag("use_sliding_window");
  const ConfigJson json = used ? given : given.with_null("sliding_window");
  const std::int64_t first = json.integer("max_window_layers");
  const bool has_window = json.has("sliding_window");
  take_layer_types(json, config, [&](std::int64_t layer) { return !has_window || layer < first; });
}

// From `no_rope_layers`, 0 for layers without rotary positions, or from `no_rope_layer_interval`.
void take_no_rope_layers(const ConfigJson& json, Sizes& sizes) {
  if (!json.has("no_rope_layers")) {
    json.expect_positive({"no_rope_layer_interval"});
    sizes.no_rope_every = json.integer("no_rope_layer_interval");
    return;
  }
  const std::vector<std::int64_t> rotates = json.integers("no_rope_layers");
  if (std::ssize(rotates) != sizes.layers)
    json.refuse("`no_rope_layers` must have 0 or 1 for each of " + std::to_string(sizes.layers) + " layers, got " +
                std::to_string(rotates.size()));
  for (std::int64_t one : rotates)
    if (one != 0 && one != 1) json.refuse("`no_rope_layers` must be 0 or 1, got " + std::to_string(one));
  set_rotary_layers(sizes, {rotates.begin(), rotates.end()});
}

// Without `layer_types`, layers without rotary positions have the window.
void take_smollm3_layers(const ConfigJson& json, OpenConfig& config) {
  take_no_rope_layers(json, config.sizes);
  const bool has_window = json.flag("use_sliding_window") && json.has("sliding_window");
  take_layer_types(json, config, [&](std::int64_t layer) { return !has_window || config.sizes.rotates(layer); });
}

// Only the multiplier of scores is a size: the others become factors of weights.
void take_granite_multipliers(const ConfigJson& json, OpenConfig& config) {
  config.sizes.attention_scale = json.real("attention_multiplier");
  config.embedding_scale = json.real("embedding_multiplier");
  config.residual_scale = json.real("residual_multiplier");
  config.logit_scale = 1 / json.real("logits_scaling");
}

OpenConfig phi3_config(const ConfigJson& json) {
  OpenConfig config = llama_config(json, "llama");
  config.names = TensorNames::hf_phi3;
  take_window(json, config.sizes);
  const std::int64_t first_context = json.integer("original_max_position_embeddings");
  const double factor =
      static_cast<double>(json.integer("max_position_embeddings")) / static_cast<double>(first_context);
  const Rope rope = rope_of(rope_object(json),
                            {"", json.real("rope_theta"), factor, first_context, json.real("partial_rotary_factor")},
                            {"default", "longrope"});
  take_rope(rope, config);
  take_rotary_part(json, rope, config.sizes);
  return config;
}

void take_gemma(const ConfigJson& json, OpenConfig& config) {
  config.sizes.attention_scale = 1 / std::sqrt(json.real("query_pre_attn_scalar"));
  config.embedding_scale = std::sqrt(static_cast<double>(config.sizes.width));
  config.gain_less = 1;
}

OpenConfig gemma2_config(const ConfigJson& json) {
  OpenConfig config = llama_config(json, "gemma2");
  config.names = TensorNames::hf_post_norms;
  if (json.has("sliding_window")) json.expect("sliding_window_size", {json.integer("sliding_window")});
  take_layer_types(json, config, [](std::int64_t layer) { return layer % 2 == 1; });
  take_rope(llama_rope(json, {"default", "linear"}), config);
  take_gemma(json, config);
  return config;
}

OpenConfig gemma3_config(const ConfigJson& json) {
  OpenConfig config = llama_config(json, "gemma3");
  config.names = TensorNames::hf_post_norms;
  const std::int64_t every = json.integer("sliding_window_pattern");
  if (!json.has("layer_types")) {
    json.expect_positive({"sliding_window_pattern"});
    json.expect("_sliding_window_pattern", {every});
  }
  take_layer_types(json, config, [&](std::int64_t layer) { return (layer + 1) % every == 0; });

  const ConfigJson ropes = known_keys(json.object("rope_parameters"), "`rope_parameters` of gemma3_text");
  const bool older = has_object(json, "rope_scaling");
  if (older && has_object(json, "rope_parameters"))
    json.refuse("`rope_parameters` and `rope_scaling` are both there; expected one of them");
  if (older && !json.object("rope_scaling").has("rope_type"))
    json.refuse(
        "`rope_scaling` without `rope_type` is of one type in transformers 4 (`type`) and of another in 5 (default); "
        "expected `rope_type`");
  const ConfigJson of_full = older ? json.object("rope_scaling") : ropes.object("full_attention");
  const ConfigJson of_window = ropes.object("sliding_attention");
  const Rope full = rope_of(of_full, {"", json.real("rope_theta"), 0, 0, 1}, {"default", "linear"});
  const Rope window = rope_of(of_window, {"", json.real("rope_local_base_freq"), 0, 0, 1}, {"default", "linear"});
  require_whole_heads(of_full, full);
  require_whole_heads(of_window, window);
  if (window.factor > 1)
    of_window.refuse("rotary positions of layers with a window are not slowed down here; expected type default, got " +
                     window.type + " by " + std::to_string(window.factor));
  take_rope(full, config);
  config.sizes.rotary_local_base = config.sizes.window > 0 ? window.base : 0;

  take_gemma(json, config);
  return config;
}

void take_experts(const ConfigJson& json, Sizes& sizes) {
  sizes.experts = json.integer("num_local_experts");
  sizes.chosen_experts = json.integer("num_experts_per_tok");
  if (sizes.experts < 1 || sizes.chosen_experts < 1)
    json.refuse("`num_local_experts` and `num_experts_per_tok` must be at least 1");
}

OpenConfig gpt_oss_config(const ConfigJson& json) {
  OpenConfig config = llama_config(json, "gpt_oss");
  config.names = TensorNames::hf_gpt_oss;
  take_experts(json, config.sizes);
  json.expect("experts_per_token", {config.sizes.chosen_experts});
  take_layer_types(json, config, [](std::int64_t layer) { return layer % 2 == 1; });
  const bool by_default = !json.has("rope_parameters") && !has_object(json, "rope_scaling");
  take_rope(by_default ? Rope{"yarn", json.real("rope_theta"), 32, 4096, 1} : llama_rope(json, {"default", "yarn"}),
            config);
  return config;
}

OpenConfig mixtral_config(const ConfigJson& json) {
  OpenConfig config = llama_config(json, "mixtral");
  config.names = TensorNames::hf_mixtral;
  take_experts(json, config.sizes);
  take_window(json, config.sizes);
  take_rope(llama_rope(json, {"default", "linear"}), config);
  return config;
}

OpenConfig config_of(const ConfigJson& json, const std::string& type) {
  if (type == "gpt2") return gpt2_config(json);
  if (type == "opt") return opt_config(json);
  if (type == "gpt_neox") return neox_config(json);
  if (type == "falcon") return falcon_config(json);
  if (type == "gemma2") return gemma2_config(json);
  if (type == "gemma3_text") return gemma3_config(json);
  if (type == "gpt_oss") return gpt_oss_config(json);
  if (type == "mixtral") return mixtral_config(json);
  if (type == "phi3") return phi3_config(json);
  const bool qwen = type == "qwen2" || type == "qwen3", olmo = type == "olmo2";
  OpenConfig config = llama_config(json, qwen || olmo ? type : "llama");
  if (olmo) config.names = TensorNames::hf_post_norms;
  if (type == "mistral") take_mistral_window(json, config);
  if (qwen) take_qwen_window(json, config);
  if (type == "smollm3") take_smollm3_layers(json, config);
  if (type == "granite") take_granite_multipliers(json, config);
  const Rope rope = qwen || olmo || type == "mistral" ? llama_rope(json, {"default", "linear"})
                                                      : llama_rope(json, {"default", "linear", "llama3"});
  take_rope(rope, config);
  if (rope.type == "llama3") config.family = "llama3";
  return config;
}

// The keys of the text model in a config with images.
ConfigJson keys_of_text(const ConfigJson& given) {
  const ConfigJson json = known_keys(given, "gemma3");
  const ConfigJson text =
      known_keys(json.object("text_config").completed({{"model_type", "gemma3_text"}}), "gemma3_text");
  text.expect("model_type", {"gemma3_text"});
  json.expect("tie_word_embeddings", {text.flag("tie_word_embeddings")});
  return text;
}

// Published folders of Phi-3 and Falcon bring copies of the classes that transformers has, too: `auto_map` names them,
// such as "modeling_phi3.Phi3ForCausalLM". Its "AutoTokenizer" is no code of the model: tokens are those of the
// folder's tokenizer.json, as in transformers.
ConfigJson without_own_class(const ConfigJson& json, const std::string& type) {
  if (!json.is_object("auto_map")) return json;
  const std::string name = type == "phi3" ? "Phi3" : type == "falcon" ? "Falcon" : "";
  const ConfigJson classes = json.object("auto_map");
  for (const std::string& key : classes.keys()) {
    if (key == "AutoTokenizer") continue;
    if (name.empty()) return json;
    const std::string value = classes.text(key.c_str());
    if (!value.starts_with("configuration_" + type + "." + name) && !value.starts_with("modeling_" + type + "." + name))
      json.refuse("`auto_map` must name classes of " + name + " in its folder, got " + in_quotes(value));
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

}  // namespace

OpenConfig read_hf_config(const std::string& path) {
  const ConfigJson json = ConfigJson::read(path);
  const std::string type = json.text("model_type");
  std::vector<std::string> types;
  for (const ConfigTable& table : config_tables())
    if (table.and_common) types.push_back(table.title);
  if (std::ranges::find(types, type) == types.end()) json.refuse(not_computed(type, types));
  refuse_quantized(json);
  if (type == "gemma3") refuse_quantized(json.object("text_config"));
  expect_positive_sizes(json);
  const ConfigJson plain = without_own_class(json, type);
  const ConfigJson keys = type == "gemma3" ? keys_of_text(plain) : known_keys(plain, type);
  OpenConfig config = config_of(keys, type == "gemma3" ? "gemma3_text" : type);
  config.tied = keys.flag("tie_word_embeddings");
  config.with_vision = type == "gemma3";
  const ConfigJson& with_begin = json.has("bos_token_id") ? json : keys;
  if (with_begin.has("bos_token_id")) config.begin_token = with_begin.integer("bos_token_id");
  return config;
}

}  // namespace sink
