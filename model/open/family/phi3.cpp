// Phi-3: LLaMA with a window, with rotations of a part of a head, and with LongRoPE.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

void read_phi3(const ConfigJson& json, OpenConfig& config) {
  take_window(json, config);
  const std::int64_t first_context = json.integer("original_max_position_embeddings");
  const double factor =
      static_cast<double>(json.integer("max_position_embeddings")) / static_cast<double>(first_context);
  const Rope rope = rope_of(rope_object(json),
                            {"", json.real("rope_theta"), factor, first_context, json.real("partial_rotary_factor")},
                            {"default", "longrope"});
  take_rope(rope, config);
  take_rotary_part(json, rope, config.sizes);
}

// As in transformers, a text is long if it has more tokens than the original context. (llama.cpp takes the factors of
// long texts for all texts if the context that it is given is longer.)
void read_phi3_gguf(const GgufKeys& keys, const WeightFile& file, OpenConfig& config) {
  constexpr const char* kShortRopeFactors = "rope_factors_short.weight";
  Sizes& sizes = config.sizes;
  if (!file.find(kShortRopeFactors) && !file.find(kLongRopeFactors)) {
    if (keys.real("rope.scaling.attn_factor", 1) != 1)
      keys.refuse("`phi3.rope.scaling.attn_factor` is only computed with the factors of longrope");
    return;
  }
  if (sizes.rotary_factor > 0) keys.refuse("`phi3.rope.scaling.type` must be none or longrope with longrope's factors");
  const std::int64_t turning = keys.integer("rope.dimension_count", sizes.width_of_head());
  sizes.long_rope = {divisors_in(keys, file.tensor(kShortRopeFactors), turning),
                     divisors_in(keys, file.tensor(kLongRopeFactors), turning),
                     keys.real("rope.scaling.attn_factor", 1)};
  sizes.rotary_context = keys.integer("rope.scaling.original_context_length", keys.integer("context_length"));
  config.other_tensors = {kShortRopeFactors, kLongRopeFactors};
}

}  // namespace

Family phi3() {
  return {
      .rotates_part = true,
      .type = "phi3",
      .keys =
          {.classes = {"Phi3ForCausalLM", "Phi3Model"},
           .defaults = R"({"hidden_size": 3072, "intermediate_size": 8192, "max_position_embeddings": 4096,
                           "vocab_size": 32064, "rms_norm_eps": 1e-05})",
           .read = {{"head_dim", "", "elements of a head; missing: hidden_size / num_attention_heads"},
                    {"sliding_window", "null", "keys that a token sees in every layer; null: all before it"},
                    {"partial_rotary_factor", "1.0", "part of a head that rotates, rounded down to whole elements"},
                    {"original_max_position_embeddings", "4096",
                     "tokens of a short text, for rotary positions of type longrope"}},
           .ignored = {{"training only", {"resid_pdrop", "embd_pdrop"}},
                       {"of the code in Phi-4-mini's folder; the class does not read it",
                        {"full_attn_mod", "interpolate_factor"}},
                       {"of the code in Phi-4-mini's folder; the class does not read it, and a bias would be refused",
                        {"lm_head_bias"}},
                       {"of the code in Phi-4-mini's folder; the class does not read it, and biases would be refused",
                        {"mlp_bias"}}}},
      .own_code = "Phi3",
      .names = {.own = {{"blocks.#.attention.qkv", {"layers.#.self_attn.qkv_proj"}},
                        {"blocks.#.feed_forward.gate_up", {"layers.#.mlp.gate_up_proj"}}}},
      .read = read_phi3,
      .writes =
          [](const OpenConfig& config) { return config.sizes.rotary_part != 1 && config.sizes.rotary_factor == 1; },
      .write = write_window,
      .tokenizer_class = "LlamaTokenizer",
      .gguf = {.architecture = "phi3",
               .keys = {"rope.scaling.attn_factor"},
               .names = {.own = {{"blocks.#.attention.qkv", {"blk.#.attn_qkv"}},
                                 {"blocks.#.feed_forward.gate_up", {"blk.#.ffn_up"}}},
                         .tables = {"GGUF"}},
               .window = true,
               .long_rope = true,
               .read = read_phi3_gguf}};
}

}  // namespace sink::open_families
