// Qwen 3.5 and 3.6, the text model: attention in every n-th layer, with a gate and heads that rotate in part, and a
// gated delta rule in the others.
#include <algorithm>

#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

// Sets n, where the layers n, 2 n, ... from 1 and no others have attention.
void take_attention_layers(const ConfigJson& json, Sizes& sizes) {
  json.expect_positive({"full_attention_interval"});
  sizes.attention_every = json.integer("full_attention_interval");
  if (json.has("layer_types")) {
    const std::vector<std::string> types = json.texts("layer_types");
    require_type_of_each(json, types, sizes.layers);
    sizes.attention_every = std::ranges::find(types, "full_attention") - types.begin() + 1;
    for (std::int64_t layer = 0; layer < std::ssize(types); ++layer) {
      const std::string wanted = sizes.has_attention(layer) ? "full_attention" : "linear_attention";
      if (types[static_cast<std::size_t>(layer)] != wanted)
        json.refuse(
            "`layer_types` must be linear_attention but for every n-th layer, which is full_attention; expected " +
            wanted + " of layer " + std::to_string(layer) + ", got " + types[static_cast<std::size_t>(layer)]);
    }
  }
  if (sizes.attention_every > sizes.layers)
    json.refuse(
        "no layer has attention by `layer_types` or `full_attention_interval`; expected full_attention in some");
}

void read_qwen3_5(const ConfigJson& json, OpenConfig& config) {
  Sizes& sizes = config.sizes;
  take_attention_layers(json, sizes);
  json.expect_positive({"linear_num_value_heads", "linear_num_key_heads", "linear_key_head_dim",
                        "linear_value_head_dim", "linear_conv_kernel_dim"});
  sizes.delta_heads = json.integer("linear_num_value_heads");
  sizes.delta_key_heads = json.integer("linear_num_key_heads");
  sizes.delta_key_width = json.integer("linear_key_head_dim");
  sizes.delta_value_width = json.integer("linear_value_head_dim");
  sizes.convolution = json.integer("linear_conv_kernel_dim");
  read_rope_of_part(json, config);
}

// llama.cpp's keys are those of Mamba; its converter puts heads of values in another order.
void read_qwen3_5_gguf(const GgufKeys& keys, const WeightFile&, OpenConfig& config) {
  Sizes& sizes = config.sizes;
  keys.expect_positive({"full_attention_interval", "ssm.time_step_rank", "ssm.group_count", "ssm.state_size",
                        "ssm.inner_size", "ssm.conv_kernel"});
  sizes.attention_every = keys.integer("full_attention_interval", 4);
  sizes.delta_heads = keys.integer("ssm.time_step_rank");
  sizes.delta_key_heads = keys.integer("ssm.group_count");
  sizes.delta_key_width = keys.integer("ssm.state_size");
  sizes.delta_value_width = keys.integer("ssm.inner_size") / sizes.delta_heads;
  sizes.convolution = keys.integer("ssm.conv_kernel");
  sizes.delta_alternating = true;
  if (keys.integer("nextn_predict_layers", 0) != 0)
    keys.refuse(
        "`qwen35.nextn_predict_layers` must be 0: heads that predict later tokens are blocks of the file, which "
        "are not read; convert the model without them");
}

}  // namespace

Family qwen3_5() {
  return {
      .rotates_part = true,
      .delta_rules = true,
      .type = "qwen3_5_text",
      .keys =
          {.classes = {"Qwen3_5ForCausalLM", "Qwen3_5TextModel", "Qwen3_5ForConditionalGeneration"},
           .defaults = R"({"num_attention_heads": 16, "intermediate_size": 12288, "max_position_embeddings": 32768,
                           "vocab_size": 248320})",
           .read = {{"num_key_value_heads", "4", "heads of keys and values"},
                    {"head_dim", "256", "elements of a head"},
                    {"partial_rotary_factor", "0.25", "part of a head that rotates, rounded down to whole elements"},
                    {"layer_types", "null",
                     "full_attention in every n-th layer and linear_attention in the others; null: by the key below"},
                    {"full_attention_interval", "4", "n, where `layer_types` is missing", "attention-every"},
                    {"linear_num_value_heads", "32", "heads of the gated delta rule", "delta-heads"},
                    {"linear_num_key_heads", "16", "its heads of queries and keys", "delta-key-heads"},
                    {"linear_key_head_dim", "128", "elements of its queries and keys", "delta-key-width"},
                    {"linear_value_head_dim", "128", "elements of its values", "delta-value-width"},
                    {"linear_conv_kernel_dim", "4", "tokens of the convolution before it", "convolution"}},
           .fixed = {{"attn_output_gate", "true, null", "of attention, by the sigmoid of rows of q_proj"},
                     {"output_gate_type", R"(null, "swish", "silu")",
                      "of the gated delta rule; the class does not read it"},
                     {"mlp_only_layers", "[], null", "no layer has experts"}},
           .ignored = {{"heads that predict later tokens, which are not computed here; their tensors are not read, "
                        "with a note",
                        {"mtp_num_hidden_layers", "mtp_use_dedicated_embeddings"}},
                       {"the state of the gated delta rule has the type of sums here", {"mamba_ssm_dtype"}}}},
      .outer_type = "qwen3_5",
      .outer_keys = {.like_llama = false,
                     .classes = {"Qwen3_5ForConditionalGeneration", "Qwen3_5ForCausalLM", "Qwen3_5Model"},
                     .read = {{"text_config", "null", "an object with the keys of qwen3_5_text"},
                              {"tie_word_embeddings", "false", "must be as in text_config"}},
                     .ignored = {{"images, which are not computed here; their tensors are not read, with a note",
                                  {"vision_config", "image_token_id", "video_token_id", "vision_start_token_id",
                                   "vision_end_token_id"}}}},
      .names = {.own = {{"blocks.#.attention.gate", {"layers.#.self_attn.q_proj"}},
                        {"blocks.#.attention.delta.qkv", {"layers.#.linear_attn.in_proj_qkv"}},
                        {"blocks.#.attention.delta.convolution", {"layers.#.linear_attn.conv1d"}},
                        {"blocks.#.attention.delta.a", {"layers.#.linear_attn.in_proj_a"}},
                        {"blocks.#.attention.delta.b", {"layers.#.linear_attn.in_proj_b"}},
                        {"blocks.#.attention.delta.log_rate", {"layers.#.linear_attn.A_log"}},
                        {"blocks.#.attention.delta.bias", {"layers.#.linear_attn.dt_bias"}},
                        {"blocks.#.attention.delta.norm", {"layers.#.linear_attn.norm"}},
                        {"blocks.#.attention.delta.z", {"layers.#.linear_attn.in_proj_z"}},
                        {"blocks.#.attention.delta.out", {"layers.#.linear_attn.out_proj"}}},
                .queries_with_gates = true},
      .gains_less_one = true,
      .read = read_qwen3_5,
      .gguf = {.architecture = "qwen35",
               .keys = {"full_attention_interval", "ssm.time_step_rank", "ssm.group_count", "ssm.state_size",
                        "ssm.inner_size", "ssm.conv_kernel", "nextn_predict_layers", "rope.dimension_sections"},
               .names = {.own = {{"blocks.#.feed_forward.norm", {"blk.#.post_attention_norm"}},
                                 {"blocks.#.attention.gate", {"blk.#.attn_q"}},
                                 {"blocks.#.attention.delta.qkv", {"blk.#.attn_qkv"}},
                                 {"blocks.#.attention.delta.convolution", {"blk.#.ssm_conv1d"}},
                                 {"blocks.#.attention.delta.a", {"blk.#.ssm_alpha"}},
                                 {"blocks.#.attention.delta.b", {"blk.#.ssm_beta"}},
                                 {"blocks.#.attention.delta.log_rate", {"blk.#.ssm_a"}},
                                 {"blocks.#.attention.delta.bias", {"blk.#.ssm_dt.bias"}},
                                 {"blocks.#.attention.delta.norm", {"blk.#.ssm_norm"}},
                                 {"blocks.#.attention.delta.z", {"blk.#.attn_gate"}},
                                 {"blocks.#.attention.delta.out", {"blk.#.ssm_out"}}},
                         .tables = {"GGUF"},
                         .rates = true,
                         .queries_with_gates = true},
               .read = read_qwen3_5_gguf}};
}

}  // namespace sink::open_families
