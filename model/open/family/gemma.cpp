// Gemma; Gemma 2, which caps scores and logits, and Gemma 3, which norms queries and keys and has a base of rotary
// positions for the layers with a window.
#include <algorithm>
#include <cmath>

#include "engine/io/str_format.h"
#include "engine/ops/rotary/rotary.h"
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

void take_scalar(const ConfigJson& json, OpenConfig& config) {
  config.sizes.attention_scale = 1 / std::sqrt(json.real("query_pre_attn_scalar"));
}

void read_gemma2(const ConfigJson& json, OpenConfig& config) {
  if (json.has("sliding_window")) json.expect("sliding_window_size", {json.integer("sliding_window")});
  take_layer_types(json, config, [](std::int64_t layer) { return layer % 2 == 1; });
  take_scalar(json, config);
}

void read_gemma3(const ConfigJson& json, OpenConfig& config) {
  const std::int64_t every = json.integer("sliding_window_pattern");
  if (!json.has("layer_types")) {
    json.expect_positive({"sliding_window_pattern"});
    json.expect("_sliding_window_pattern", {every});
  }
  take_layer_types(json, config, [&](std::int64_t layer) { return (layer + 1) % every == 0; });

  take_ropes_by_layer(json, json.real("rope_theta"), json.real("rope_local_base_freq"), {"default", "linear"}, config);
  take_scalar(json, config);
}

// 1 / sqrt(C / H), of the largest models, whose heads are wider or narrower. GGUF has no key for it.
void take_largest(std::int64_t layers, Sizes& sizes) {
  if (sizes.layers == layers)
    sizes.attention_scale = 1 / std::sqrt(static_cast<double>(sizes.width) / static_cast<double>(sizes.heads));
}

void read_gemma2_gguf(const GgufKeys& keys, const WeightFile&, OpenConfig& config) {
  for (auto [key, cap] : {std::pair{"attn_logit_softcapping", 50.0}, {"final_logit_softcapping", 30.0}})
    if (keys.real(key, cap) != cap)
      keys.refuse("`gemma2." + std::string(key) + "` must be " + str_format("%g", cap) + ", got " +
                  str_format("%g", keys.real(key)));
  Sizes& sizes = config.sizes;
  sizes.window = std::min(keys.integer("attention.sliding_window", 4096), kLongestContext);
  if (const double base = keys.real("rope.freq_base_swa", sizes.rotary_base);
      sizes.window > 0 && base != sizes.rotary_base) {
    if (sizes.rotary_factor > 1)
      keys.refuse(
          "`gemma2.rope.freq_base_swa` other than `rope.freq_base` is not computed with a factor of rotary positions; "
          "expected `gemma2.rope.scaling.factor` 1, got " +
          str_format("%g", sizes.rotary_factor));
    sizes.rotary_local_base = base;
  }
  take_largest(46, sizes);
}

void read_gemma3_gguf(const GgufKeys& keys, const WeightFile&, OpenConfig& config) {
  if (config.sizes.window > 0) config.sizes.rotary_local_base = keys.real("rope.freq_base_swa", kRotaryBase);
  take_largest(62, config.sizes);
}

void write_gemma(const OpenConfig& config, nlohmann::ordered_json& json) {
  const double scale = config.sizes.scale(), scalar = std::round(1e6 / (scale * scale)) / 1e6;
  json["query_pre_attn_scalar"] = scalar;
  if (scalar == std::floor(scalar) && scalar < 1e15) json["query_pre_attn_scalar"] = static_cast<std::int64_t>(scalar);
  write_layer_types(config, json);
}

}  // namespace

Family gemma() {
  return {
      .type = "gemma",
      .keys = {.classes = {"GemmaForCausalLM", "GemmaModel"},
               .defaults = R"({"num_hidden_layers": 28, "num_attention_heads": 16, "hidden_size": 3072,
                                   "intermediate_size": 24576, "max_position_embeddings": 8192, "vocab_size": 256000,
                                   "tie_word_embeddings": true})",
               .read = {{"num_key_value_heads", "16", "heads of keys and values"},
                        {"head_dim", "256", "elements of a head"}},
               .fixed = {{"hidden_act", R"("gelu_pytorch_tanh", "gelu")", "GELU by tanh, which older files call gelu"},
                         {"hidden_activation", R"(null, "gelu_pytorch_tanh")", "the class reads `hidden_act`"},
                         {"use_bidirectional_attention", "null, false", "attention is causal"}}},
      .rope_types = {"default", "linear"},
      .scaled_embedding = true,
      .gains_less_one = true,
      .tokenizer_class = "GemmaTokenizer",
      .gguf = {.architecture = "gemma"}};
}

Family gemma2() {
  return {.type = "gemma2",
          .keys = {.classes = {"Gemma2ForCausalLM", "Gemma2Model"},
                   .defaults = R"({"num_hidden_layers": 26, "num_attention_heads": 8, "hidden_size": 2304,
                                   "intermediate_size": 9216, "max_position_embeddings": 8192, "vocab_size": 256000,
                                   "tie_word_embeddings": true})",
                   .read = {{"num_key_value_heads", "4", "heads of keys and values"},
                            {"head_dim", "256", "elements of a head"},
                            {"query_pre_attn_scalar", "256", "scores are divided by its root", "attention-scale"},
                            {"sliding_window", "4096", "keys that a token sees in layers with a window"},
                            {"sliding_window_size", "", "the class does not read it; must be `sliding_window`"},
                            {"layer_types", "null",
                             "full_attention or sliding_attention, one for each layer; null: every second is full"}},
                   .fixed = {{"hidden_activation", R"("gelu_pytorch_tanh")", "of the feed-forward block"},
                             {"hidden_act", R"(null, "gelu_pytorch_tanh")", "the class reads `hidden_activation`"},
                             {"use_bidirectional_attention", "null, false", "attention is causal"},
                             {"final_logit_softcapping", "30.0", "logits are capped: 30 tanh(logit / 30)"},
                             {"attn_logit_softcapping", "50.0", "scores are capped: 50 tanh(score / 50)"}}},
          .rope_types = {"default", "linear"},
          .names = {.tables = {"LLaMA with norms after sublayers", "LLaMA"}},
          .scaled_embedding = true,
          .gains_less_one = true,
          .read = read_gemma2,
          .write = write_gemma,
          .tokenizer_class = "GemmaTokenizer",
          .gguf = {.architecture = "gemma2",
                   .keys = {"attn_logit_softcapping", "final_logit_softcapping"},
                   .window = true,
                   .global_every = 2,
                   .local_base = true,
                   .read = read_gemma2_gguf}};
}

Family gemma3() {
  Family family = gemma2();
  family.type = "gemma3_text";
  family.keys = {
      .classes = {"Gemma3ForCausalLM", "Gemma3TextModel", "Gemma3ForConditionalGeneration"},
      .defaults = R"({"num_hidden_layers": 26, "num_attention_heads": 8, "hidden_size": 2304,
                      "intermediate_size": 9216, "max_position_embeddings": 131072, "vocab_size": 262208,
                      "tie_word_embeddings": true})",
      .read = {{"num_key_value_heads", "4", "heads of keys and values"},
               {"head_dim", "256", "elements of a head"},
               {"query_pre_attn_scalar", "256", "scores are divided by its root", "attention-scale"},
               {"sliding_window", "4096", "keys that a token sees in layers with a window"},
               {"sliding_window_pattern", "6", "every n-th layer sees all keys, where `layer_types` is missing"},
               {"_sliding_window_pattern", "",
                "the class does not read it; where `layer_types` is missing it must be `sliding_window_pattern`"},
               {"layer_types", "null",
                "full_attention or sliding_attention, one for each layer; null: made from the keys above"},
               {"rope_parameters", "null", "rotary positions of the two types of layers, see below"},
               {"rope_scaling", "null", "rotary positions of layers that see all keys; only without `rope_parameters`"},
               {"rope_theta", "1000000", "base of rotary positions of layers that see all keys, where they have none"},
               {"rope_local_base_freq", "10000",
                "base of rotary positions of layers with a window, where they have none"}},
      .fixed = {{"hidden_activation", R"("gelu_pytorch_tanh")", "of the feed-forward block"},
                {"hidden_act", R"(null, "gelu_pytorch_tanh")", "the class reads `hidden_activation`"},
                {"use_bidirectional_attention", "false, null", "attention is causal"},
                {"final_logit_softcapping", "null", "logits are not capped"},
                {"attn_logit_softcapping", "null", "scores are not capped"}},
  };
  family.outer_type = "gemma3";
  family.outer_keys = {.like_llama = false,
                       .classes = {"Gemma3ForConditionalGeneration", "Gemma3ForCausalLM", "Gemma3Model"},
                       .read = {{"text_config", "null", "an object with the keys of gemma3_text"},
                                {"tie_word_embeddings", "true", "must be as in text_config"}},
                       .ignored = {{"images, which are not computed here; their tensors are not read, with a note",
                                    {"vision_config", "mm_tokens_per_image", "boi_token_index", "eoi_token_index",
                                     "image_token_index"}}}};
  family.rope_types = {};
  family.read = read_gemma3;
  family.write = [](const OpenConfig& config, nlohmann::ordered_json& json) {
    const Sizes& sizes = config.sizes;
    json["rope_local_base_freq"] = sizes.rotary_local_base > 0 ? sizes.rotary_local_base : sizes.rotary_base;
    write_gemma(config, json);
  };
  family.gguf.architecture = "gemma3";
  family.gguf.keys = {};
  family.gguf.global_every = 6;
  family.gguf.read = read_gemma3_gguf;
  return family;
}

}  // namespace sink::open_families
