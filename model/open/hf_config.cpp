// config.json of Hugging Face: what its keys mean here, family by family, in the order of its releases.
#include <algorithm>
#include <cmath>

#include "model/open/config_json.h"
#include "model/open/open_config.h"

namespace sink {
namespace {

std::int64_t context_of(std::int64_t positions) { return std::min(positions, kLongestContext); }

OpenConfig gpt2_config(const ConfigJson& json) {
  json.expect("activation_function", {"gelu_new", "gelu_pytorch_tanh"});
  json.expect("scale_attn_weights", {true});
  json.expect("scale_attn_by_inverse_layer_idx", {false});
  json.expect("add_cross_attention", {false});
  json.expect("tie_word_embeddings", {true});
  OpenConfig config{.family = "gpt2", .sizes = {}, .names = TensorNames::hf_gpt2};
  config.sizes = {.layers = json.integer("n_layer"),
                  .heads = json.integer("n_head"),
                  .width = json.integer("n_embd"),
                  .feed_forward = json.integer("n_inner", 4 * json.integer("n_embd")),
                  .context = json.integer("n_positions"),
                  .vocabulary = json.integer("vocab_size"),
                  .norm_epsilon = json.real("layer_norm_epsilon", 1e-5)};
  return config;
}

OpenConfig opt_config(const ConfigJson& json) {
  json.expect("activation_function", {"relu"});
  json.expect("do_layer_norm_before", {true});
  json.expect("_remove_final_layer_norm", {false});
  json.expect("enable_bias", {true});
  json.expect("layer_norm_elementwise_affine", {true});
  json.expect("tie_word_embeddings", {true});
  json.expect("word_embed_proj_dim", {json.integer("hidden_size")});
  OpenConfig config{.family = "opt", .sizes = {}, .names = TensorNames::hf_opt};
  config.sizes = {.layers = json.integer("num_hidden_layers"),
                  .heads = json.integer("num_attention_heads"),
                  .width = json.integer("hidden_size"),
                  .feed_forward = json.integer("ffn_dim"),
                  .context = json.integer("max_position_embeddings"),
                  .vocabulary = json.integer("vocab_size"),
                  .norm_epsilon = 1e-5};
  return config;
}

// Of `rope_parameters`, or where older files have it: `rope_theta` and `rope_scaling`.
struct Rope {
  std::string type;
  double base, factor;
  std::int64_t first_context;
};
Rope rope_of(const ConfigJson& json, const ConfigJson& scaling, double base,
             std::initializer_list<std::string> types = {"default", "linear", "llama3"}) {
  Rope rope{scaling.text("rope_type", scaling.text("type", "default")), scaling.real("rope_theta", base),
            scaling.real("factor", 0), scaling.integer("original_max_position_embeddings", 0)};
  if (rope.type == "default") rope.factor = 0;
  if (std::ranges::find(types, rope.type) == types.end()) {
    std::string known;
    for (const std::string& type : types)
      known += (known.empty() ? "" : &type == types.end() - 1 ? " and " : ", ") + type;
    json.refuse("rotary positions of type `" + rope.type + "` are not computed here; " + known + " are");
  }
  if (rope.type == "yarn") {
    scaling.expect("beta_slow", {1, 1.0});
    scaling.expect("beta_fast", {32, 32.0});
    scaling.expect("truncate", {false});
    if (!scaling.has("truncate")) json.refuse("`truncate` of rotary positions must be false, and is missing");
    for (const char* key : {"attention_factor", "mscale", "mscale_all_dim"})
      if (scaling.has(key)) json.refuse(std::string("`") + key + "` of rotary positions is not computed here");
  }
  if (rope.type == "llama3") {
    scaling.expect("low_freq_factor", {1, 1.0});
    scaling.expect("high_freq_factor", {4, 4.0});
  }
  if (rope.type != "default" && !(rope.factor >= 1))
    json.refuse("the `factor` of rotary positions must be at least 1, got " + std::to_string(rope.factor));
  return rope;
}
Rope rope_of(const ConfigJson& json) {
  const ConfigJson scaling = json.object(json.has("rope_parameters") ? "rope_parameters" : "rope_scaling");
  return rope_of(json, scaling, json.real("rope_theta", json.real("rotary_emb_base", 10000)));
}

void take_rope(const Rope& rope, OpenConfig& config) {
  config.sizes.rotary_base = rope.base;
  config.sizes.rotary_factor = rope.factor;
  config.sizes.rotary_context = rope.type == "llama3" || rope.type == "yarn" ? rope.first_context : 0;
}

OpenConfig neox_config(const ConfigJson& json) {
  json.expect("hidden_act", {"gelu"});
  json.expect("use_parallel_residual", {true});
  json.expect("attention_bias", {true});
  OpenConfig config{.family = "gpt_neox", .sizes = {}, .names = TensorNames::hf_neox};
  config.sizes = {.layers = json.integer("num_hidden_layers"),
                  .heads = json.integer("num_attention_heads"),
                  .width = json.integer("hidden_size"),
                  .feed_forward = json.integer("intermediate_size"),
                  .context = context_of(json.integer("max_position_embeddings")),
                  .vocabulary = json.integer("vocab_size"),
                  .norm_epsilon = json.real("layer_norm_eps", 1e-5)};
  const Rope rope = rope_of(json);
  if (rope.type == "llama3") json.refuse("GPT-NeoX has no rotary positions of type `llama3`");
  take_rope(rope, config);
  const double part = json.object("rope_parameters").real("partial_rotary_factor", json.real("rotary_pct", 0.25));
  const double width = std::floor(part * static_cast<double>(config.sizes.width_of_head()));  // as GPT-NeoX rounds it
  config.sizes.rotary_part = width / static_cast<double>(config.sizes.width_of_head());
  return config;
}

// LLaMA 2 and 3, Mistral, Qwen 2 and 3, and what of Gemma 3 is the same.
OpenConfig llama_config(const ConfigJson& json, const std::string& family, bool biases = false) {
  json.expect("hidden_act", {"silu"});
  json.expect("mlp_bias", {false});
  json.expect("attention_bias", {biases});
  json.expect("pretraining_tp", {1});
  OpenConfig config{.family = family, .sizes = {}, .names = TensorNames::hf_llama};
  config.sizes = {.layers = json.integer("num_hidden_layers"),
                  .heads = json.integer("num_attention_heads"),
                  .width = json.integer("hidden_size"),
                  .feed_forward = json.integer("intermediate_size"),
                  .context = context_of(json.integer("max_position_embeddings")),
                  .vocabulary = json.integer("vocab_size"),
                  .kv_heads = json.integer("num_key_value_heads", json.integer("num_attention_heads")),
                  .head_width = json.integer("head_dim", 0),
                  .norm_epsilon = json.real("rms_norm_eps", 1e-6)};
  return config;
}

// Which blocks have the window: all (Mistral), none, or all but every n-th (Gemma 3).
void take_window(const ConfigJson& json, OpenConfig& config, std::int64_t otherwise_every) {
  Sizes& sizes = config.sizes;
  sizes.window = json.flag("use_sliding_window", true) ? json.integer("sliding_window", 0) : 0;
  if (sizes.window == 0) return;
  sizes.global_every = json.integer("_sliding_window_pattern", json.integer("sliding_window_pattern", otherwise_every));
  if (!json.has("layer_types")) return;
  const std::vector<std::string> types = json.texts("layer_types");
  const auto full = std::find(types.begin(), types.end(), "full_attention");
  sizes.global_every = full == types.end() ? 0 : full - types.begin() + 1;
  for (std::size_t layer = 0; layer < types.size(); ++layer) {
    const char* expected = sizes.is_global(static_cast<std::int64_t>(layer)) ? "full_attention" : "sliding_attention";
    if (types[layer] != expected)
      json.refuse("`layer_types` must be full_attention every n-th time and sliding_attention else, got `" +
                  types[layer] + "` for layer " + std::to_string(layer));
  }
  if (sizes.global_every == 1) sizes.window = sizes.global_every = 0;
}

OpenConfig gemma3_config(const ConfigJson& json) {
  json.expect("hidden_activation", {"gelu_pytorch_tanh"});
  json.expect("use_bidirectional_attention", {false});
  for (const char* capping : {"attn_logit_softcapping", "final_logit_softcapping"})
    if (json.has(capping)) json.refuse(std::string("`") + capping + "` is not computed here");
  OpenConfig config = llama_config(json, "gemma3");
  config.names = TensorNames::hf_gemma3;
  take_window(json, config, 6);
  if (json.has("head_dim") == false) config.sizes.head_width = 256;
  const ConfigJson rope = json.object("rope_parameters");
  const bool each = rope.has("full_attention");
  take_rope(each ? rope_of(json, rope.object("full_attention"), 1e6)
                 : rope_of(json, json.object("rope_scaling"), json.real("rope_theta", 1e6)),
            config);
  const double local =
      each ? rope.object("sliding_attention").real("rope_theta", 10000) : json.real("rope_local_base_freq", 10000);
  config.sizes.rotary_local_base = config.sizes.window > 0 ? local : 0;
  config.sizes.attention_scale = 1 / std::sqrt(json.real("query_pre_attn_scalar", 256));
  config.embedding_scale = std::sqrt(static_cast<double>(config.sizes.width));
  config.gain_less = 1;
  return config;
}

OpenConfig gpt_oss_config(const ConfigJson& json) {
  if (json.has("quantization_config"))
    json.refuse(
        "weights of type MXFP4 (`quantization_config`) are not read here; expected F32 or BF16, which transformers "
        "writes: from_pretrained(MODEL, quantization_config=Mxfp4Config(dequantize=True)).save_pretrained(FOLDER, "
        "save_original_format=False)");
  json.expect("swiglu_limit", {7, 7.0});
  json.expect("swiglu_alpha", {1.702});
  OpenConfig config = llama_config(json, "gpt_oss", /*biases=*/true);
  config.names = TensorNames::hf_gpt_oss;
  config.sizes.experts = json.integer("num_local_experts");
  config.sizes.chosen_experts = json.integer("num_experts_per_tok");
  if (config.sizes.experts < 1 || config.sizes.chosen_experts < 1)
    json.refuse("`num_local_experts` and `num_experts_per_tok` must be at least 1");
  take_window(json, config, 2);
  take_rope(rope_of(json, json.object(json.has("rope_parameters") ? "rope_parameters" : "rope_scaling"),
                    json.real("rope_theta", 150000), {"default", "yarn"}),
            config);
  return config;
}

OpenConfig config_of(const ConfigJson& json) {
  const std::string type = json.text("model_type");
  if (type == "gpt2") return gpt2_config(json);
  if (type == "opt") return opt_config(json);
  if (type == "gpt_neox") return neox_config(json);
  if (type == "gemma3_text") return gemma3_config(json);
  if (type == "gpt_oss") return gpt_oss_config(json);
  if (type == "gemma3") return gemma3_config(json.object("text_config"));
  if (type == "llama" || type == "mistral" || type == "qwen2" || type == "qwen3") {
    OpenConfig config = llama_config(json, type == "mistral" ? "llama" : type);
    const Rope rope = rope_of(json);
    take_rope(rope, config);
    if (rope.type == "llama3" && type != "llama")
      json.refuse("`" + type + "` has no rotary positions of type `llama3`");
    if (rope.type == "llama3") config.family = "llama3";
    if (type != "llama") take_window(json, config, 0);
    return config;
  }
  json.refuse("the architecture `" + type +
              "` is not known here; gpt2, opt, gpt_neox, llama, mistral, qwen2, qwen3, gemma3 and gpt_oss are");
}

}  // namespace

OpenConfig read_hf_config(const std::string& path) {
  const ConfigJson json = ConfigJson::read(path);
  // Where Sizes has 0 for a default, a file that says 0 does not mean it.
  json.expect_positive({"head_dim", "num_key_value_heads", "n_inner", "sliding_window", "sliding_window_pattern",
                        "_sliding_window_pattern", "rotary_pct", "partial_rotary_factor", "rope_theta",
                        "rotary_emb_base", "rope_local_base_freq", "original_max_position_embeddings",
                        "query_pre_attn_scalar", "rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon"});
  OpenConfig config = config_of(json);
  config.tied = json.flag("tie_word_embeddings", config.family == "gpt2" || config.family == "opt" ||
                                                     config.family == "gemma3");  // the defaults of their classes
  if (json.is_integer("bos_token_id")) config.begin_token = json.integer("bos_token_id");
  return config;
}

}  // namespace sink
