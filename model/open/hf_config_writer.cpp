// Writes config.json of Hugging Face, which hf_config.cpp reads.
#include <cmath>
#include <nlohmann/json.hpp>

#include "model/open/open_config.h"
#include "model/size_settings.h"

namespace sink {
namespace {

using Json = nlohmann::ordered_json;

bool turns(const std::string& family) { return family != "gpt2" && family != "opt"; }

Json whole_if_it_is(double x) {
  return x == std::floor(x) && std::abs(x) < 1e15 ? Json(static_cast<std::int64_t>(x)) : Json(x);
}

// `query_pre_attn_scalar` of Gemma.
Json scalar_of(const Sizes& sizes) { return whole_if_it_is(std::round(1e6 / (sizes.scale() * sizes.scale())) / 1e6); }

void add_window(const Sizes& sizes, Json& json) {
  Json types = Json::array();
  for (std::int64_t layer = 0; layer < sizes.layers; ++layer)
    types.push_back(sizes.is_global(layer) ? "full_attention" : "sliding_attention");
  json["layer_types"] = types;
}

void add_no_rope_layers(const Sizes& sizes, Json& json) {
  Json layers = Json::array();
  for (std::int64_t layer = 0; layer < sizes.layers; ++layer) layers.push_back(sizes.rotates(layer) ? 1 : 0);
  json["no_rope_layers"] = layers;
  if (sizes.no_rope_every > 0) json["no_rope_layer_interval"] = sizes.no_rope_every;
}

void add_rope(const std::string& family, const Sizes& sizes, Json& json) {
  json["rope_theta"] = sizes.rotary_base;
  if (family == "llama3")
    json["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", sizes.rotary_factor},
                            {"low_freq_factor", 1.0},
                            {"high_freq_factor", 4.0},
                            {"original_max_position_embeddings", sizes.rotary_context}};
  else if (family == "gpt_oss" && sizes.rotary_factor != 1)
    json["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", sizes.rotary_factor},
                            {"beta_fast", 32.0},   {"beta_slow", 1.0},
                            {"truncate", false},   {"original_max_position_embeddings", sizes.rotary_context}};
  else if (family == "gpt_oss")
    json["rope_scaling"] = {{"rope_type", "default"}};
  else if (sizes.rotary_factor != 1)
    json["rope_scaling"] = {{"rope_type", "linear"}, {"factor", sizes.rotary_factor}};
}

Json gpt2_json(const Sizes& sizes) {
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"n_layer", sizes.layers},
          {"n_head", sizes.heads},
          {"n_embd", sizes.width},
          {"n_inner", sizes.feed_forward},
          {"n_positions", sizes.context},
          {"n_ctx", sizes.context},
          {"activation_function", "gelu_new"},
          {"layer_norm_epsilon", sizes.epsilon()}};
}

Json opt_json(const Sizes& sizes) {
  return {{"architectures", {"OPTForCausalLM"}},  {"model_type", "opt"},
          {"num_hidden_layers", sizes.layers},    {"num_attention_heads", sizes.heads},
          {"hidden_size", sizes.width},           {"word_embed_proj_dim", sizes.width},
          {"ffn_dim", sizes.feed_forward},        {"max_position_embeddings", sizes.context},
          {"activation_function", "relu"},        {"do_layer_norm_before", true},
          {"_remove_final_layer_norm", false},    {"enable_bias", true},
          {"layer_norm_elementwise_affine", true}};
}

Json neox_json(const Sizes& sizes) {
  return {{"architectures", {"GPTNeoXForCausalLM"}},
          {"model_type", "gpt_neox"},
          {"num_hidden_layers", sizes.layers},
          {"num_attention_heads", sizes.heads},
          {"hidden_size", sizes.width},
          {"intermediate_size", sizes.feed_forward},
          {"max_position_embeddings", sizes.context},
          {"hidden_act", "gelu"},
          {"use_parallel_residual", true},
          {"attention_bias", true},
          {"layer_norm_eps", sizes.epsilon()},
          {"rotary_pct", sizes.rotary_part},
          {"rotary_emb_base", sizes.rotary_base}};
}

Json falcon_json(const Sizes& sizes) {
  return {{"architectures", {"FalconForCausalLM"}},
          {"model_type", "falcon"},
          {"num_hidden_layers", sizes.layers},
          {"num_attention_heads", sizes.heads},
          {"num_kv_heads", sizes.kv_heads},
          {"hidden_size", sizes.width},
          {"ffn_hidden_size", sizes.feed_forward},
          {"max_position_embeddings", sizes.context},
          {"new_decoder_architecture", true},
          {"num_ln_in_parallel_attn", 2},
          {"parallel_attn", true},
          {"alibi", false},
          {"bias", false},
          {"activation", "gelu"},
          {"layer_norm_epsilon", sizes.epsilon()}};
}

Json llama_json(const OpenConfig& config) {
  const std::string& family = config.family;
  const Sizes& sizes = config.sizes;
  Json json = {{"architectures", Json::array()},
               {"model_type", family},
               {"num_hidden_layers", sizes.layers},
               {"num_attention_heads", sizes.heads},
               {"num_key_value_heads", sizes.kv_heads},
               {"hidden_size", sizes.width},
               {"head_dim", sizes.head_width},
               {"intermediate_size", sizes.feed_forward},
               {"max_position_embeddings", sizes.context},
               {"hidden_act", "silu"},
               {"attention_bias", false},
               {"rms_norm_eps", sizes.epsilon()}};
  auto named = [&](const char* type, const char* architecture) {
    json["model_type"] = type;
    json["architectures"] = {architecture};
  };
  if (family == "gemma2") {
    named("gemma2", "Gemma2ForCausalLM");
    json.erase("hidden_act");
    json["hidden_activation"] = "gelu_pytorch_tanh";
    json["query_pre_attn_scalar"] = scalar_of(sizes);
    json["attn_logit_softcapping"] = 50.0;
    json["final_logit_softcapping"] = 30.0;
    json["sliding_window"] = sizes.window > 0 ? sizes.window : sizes.context;
    add_window(sizes, json);
  } else if (family == "gemma3") {
    named("gemma3_text", "Gemma3ForCausalLM");
    json.erase("hidden_act");
    json["hidden_activation"] = "gelu_pytorch_tanh";
    json["query_pre_attn_scalar"] = scalar_of(sizes);
    json["rope_local_base_freq"] = sizes.rotary_local_base > 0 ? sizes.rotary_local_base : sizes.rotary_base;
    json["sliding_window"] = sizes.window > 0 ? sizes.window : sizes.context;
    add_window(sizes, json);
  } else if (family == "qwen2" || family == "qwen3") {
    named(family.c_str(), family == "qwen2" ? "Qwen2ForCausalLM" : "Qwen3ForCausalLM");
    json["use_sliding_window"] = sizes.window > 0;
    json["sliding_window"] = sizes.window > 0 ? Json(sizes.window) : Json();
    json["max_window_layers"] = 0;
    add_window(sizes, json);
  } else if (family == "olmo2") {
    named("olmo2", "Olmo2ForCausalLM");
  } else if (family == "gpt_oss") {
    named("gpt_oss", "GptOssForCausalLM");
    json["attention_bias"] = true;
    json["num_local_experts"] = sizes.experts;
    json["num_experts_per_tok"] = sizes.chosen_experts;
    json["swiglu_limit"] = 7.0;
    json["swiglu_alpha"] = 1.702;
    json["sliding_window"] = sizes.window > 0 ? sizes.window : sizes.context;
    add_window(sizes, json);
  } else if (family == "mixtral") {
    named("mixtral", "MixtralForCausalLM");
    json.erase("attention_bias");
    json["num_local_experts"] = sizes.experts;
    json["num_experts_per_tok"] = sizes.chosen_experts;
    json["sliding_window"] = sizes.window > 0 ? Json(sizes.window) : Json();
  } else if (config.names == TensorNames::hf_phi3) {
    named("phi3", "Phi3ForCausalLM");
    json["partial_rotary_factor"] = sizes.rotary_part;
    json["sliding_window"] = sizes.window > 0 ? Json(sizes.window) : Json();
  } else if (family == "llama" && sizes.attention_scale != 1 / std::sqrt(static_cast<double>(sizes.head_width))) {
    named("granite", "GraniteForCausalLM");
    json["attention_multiplier"] = sizes.attention_scale;
    for (const char* other : {"embedding_multiplier", "residual_multiplier", "logits_scaling"}) json[other] = 1.0;
    json["mlp_bias"] = false;
  } else if (sizes.no_rope_every > 0 || !sizes.rotary_layers.empty()) {
    named("smollm3", "SmolLM3ForCausalLM");
    json["mlp_bias"] = false;
    add_no_rope_layers(sizes, json);
    json["use_sliding_window"] = sizes.window > 0;
    json["sliding_window"] = sizes.window > 0 ? Json(sizes.window) : Json();
    add_window(sizes, json);
  } else if (family == "llama" && sizes.window > 0) {
    named("mistral", "MistralForCausalLM");
    json["sliding_window"] = sizes.window;
  } else {
    named("llama", "LlamaForCausalLM");
    json["mlp_bias"] = false;
  }
  return json;
}

}  // namespace

Sizes sizes_of_family(const std::string& family, const Sizes& given) {
  Sizes sizes = resolve_defaults(given);
  if (!turns(family))
    sizes.rotary_base = sizes.rotary_part = sizes.rotary_factor = sizes.rotary_local_base = 0, sizes.no_rope_every = 0;
  const bool slowed_by_wave = family == "llama3" || (family == "gpt_oss" && sizes.rotary_factor != 1);
  sizes.rotary_context = slowed_by_wave ? sizes.first_context() : 0;
  if (!has_experts(family)) sizes.experts = sizes.chosen_experts = 0;
  return sizes;
}

std::string hf_config_json(const OpenConfig& config, bool tied, std::int64_t begin_token,
                           const std::vector<std::int32_t>& end_tokens) {
  const Sizes& sizes = config.sizes;
  Json json = config.family == "gpt2"       ? gpt2_json(sizes)
              : config.family == "opt"      ? opt_json(sizes)
              : config.family == "gpt_neox" ? neox_json(sizes)
              : config.family == "falcon"   ? falcon_json(sizes)
                                            : llama_json(config);
  if (turns(config.family)) add_rope(config.family, sizes, json);
  json["vocab_size"] = sizes.vocabulary;
  json["tie_word_embeddings"] = tied;
  json["torch_dtype"] = "float32";
  json["bos_token_id"] = begin_token >= 0 ? Json(begin_token) : Json();
  json["eos_token_id"] = end_tokens.empty() ? Json() : end_tokens.size() == 1 ? Json(end_tokens[0]) : Json(end_tokens);
  json["pad_token_id"] = nullptr;
  return json.dump(2) + "\n";
}

}  // namespace sink
