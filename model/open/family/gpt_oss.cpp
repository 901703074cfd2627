// gpt-oss: a learned sink, a mixture of experts, YaRN, and a window in every second layer.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

void read_gpt_oss(const ConfigJson& json, OpenConfig& config) {
  json.expect("experts_per_token", {config.sizes.chosen_experts});
  take_layer_types(json, config, [](std::int64_t layer) { return layer % 2 == 1; });
  const bool by_default = !json.has("rope_parameters") && !has_object(json, "rope_scaling");
  take_rope(by_default ? Rope{"yarn", json.real("rope_theta"), 32, 4096, 1} : whole_rope(json, {"default", "yarn"}),
            config);
}

// llama.cpp requires the window, too. GGUF has no key for the layers of older files, nor for the range of pairs of
// YaRN, which is not rounded, as in the published config.json.
void read_gpt_oss_gguf(const GgufKeys& keys, const WeightFile&, OpenConfig&) {
  if (keys.integer("attention.sliding_window") < 1)
    keys.refuse("`gpt-oss.attention.sliding_window` must be at least 1, got " +
                std::to_string(keys.integer("attention.sliding_window")));
}

void write_gpt_oss(const OpenConfig& config, nlohmann::ordered_json& json) {
  write_layer_types(config, json);
  if (config.sizes.rotary_factor == 1) json["rope_scaling"] = {{"rope_type", "default"}};
}

}  // namespace

Family gpt_oss() {
  return {
      .scaling = "yarn",
      .experts = true,
      .type = "gpt_oss",
      .keys = {.classes = {"GptOssForCausalLM", "GptOssModel"},
               .defaults = R"({"num_hidden_layers": 36, "num_attention_heads": 64, "hidden_size": 2880,
                               "max_position_embeddings": 131072, "vocab_size": 201088, "rms_norm_eps": 1e-05,
                               "rope_theta": 150000})",
               .read = {{"num_key_value_heads", "8", "heads of keys and values"},
                        {"head_dim", "64", "elements of a head"},
                        {"intermediate_size", "2880", "elements inside an expert"},
                        {"num_local_experts", "128", "experts of a feed-forward block"},
                        {"num_experts_per_tok", "4", "experts that a token goes through"},
                        {"experts_per_token", "", "the class does not read it; must be `num_experts_per_tok`"},
                        {"sliding_window", "128", "keys that a token sees in layers with a window"},
                        {"layer_types", "null",
                         "full_attention or sliding_attention, one for each layer; null: every second is full"},
                        {"rope_parameters", "null",
                         "rotary positions, see below; null, and no `rope_scaling`: yarn by 32 from 4096 positions, "
                         "not truncated"}},
               .fixed = {{"hidden_act", R"("silu")", "of experts, with the clamps and the factor below"},
                         {"swiglu_limit", "7.0", "clamps of experts"},
                         {"swiglu_alpha", "1.702", "factor in the sigmoid of experts"},
                         {"attention_bias", "true"}},
               .ignored = {{"the class reads `original_max_position_embeddings` of rotary positions",
                            {"initial_context_length"}},
                           {"how transformers runs a model or returns its results", {"output_router_logits"}},
                           {"training only", {"router_aux_loss_coef"}}}},
      .names = {.own = {{"blocks.#.attention.extra.logit", {"layers.#.self_attn.sinks"}},
                        {"blocks.#.feed_forward.router", {"layers.#.mlp.router"}},
                        {"blocks.#.feed_forward.gate_up.weight", {"layers.#.mlp.experts.gate_up_proj"}},
                        {"blocks.#.feed_forward.gate_up.bias", {"layers.#.mlp.experts.gate_up_proj_bias"}},
                        {"blocks.#.feed_forward.down.weight", {"layers.#.mlp.experts.down_proj"}},
                        {"blocks.#.feed_forward.down.bias", {"layers.#.mlp.experts.down_proj_bias"}}},
                .experts = ExpertTensors::transposed},
      .read = read_gpt_oss,
      .write = write_gpt_oss,
      .gguf = {.architecture = "gpt-oss",
               .names = {.own = {{"blocks.#.attention.extra.logit", {"blk.#.attn_sinks.weight"}},
                                 {"blocks.#.feed_forward.norm", {"blk.#.post_attention_norm"}}},
                         .tables = {"GGUF of experts", "GGUF"},
                         .experts = ExpertTensors::stacked},
               .window = true,
               .global_every = 2,
               .read = read_gpt_oss_gguf}};
}

}  // namespace sink::open_families
