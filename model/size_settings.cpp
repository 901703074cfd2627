#include "model/size_settings.h"

#include "engine/ops/rotary/rotary.h"

namespace sink {

const Settings<Sizes>& size_settings() {
  using S = Sizes;
  static const char* model = "Model";
  static const Settings<Sizes> settings{
      {"layers", model, &S::layers, "transformer blocks", 1, 1024},
      {"heads", model, &S::heads, "attention heads per layer; must divide d-model, unless --head-width is given", 1,
       1024},
      with_flag<S>("d-model", {"width", model, &S::width, "C, width of the residual stream", 1, 65536}),
      {"feed-forward", model, &S::feed_forward, "F, width inside the feed-forward block", 1, 262144},
      {"context", model, &S::context, "T, tokens per sequence", 1, 65536},
      {"vocabulary", model, &S::vocabulary, "V, kinds of tokens", 1, 1 << 24},
      {"kv-heads", model, &S::kv_heads,
       "heads of keys and values; shared by query heads; must divide heads, 0: as many", 0, 1024},
      {"window", model, &S::window, "keys a token sees, its own included; 0: no window (Gu et al., Figure 6)", 0,
       65536},
      {"prefix", model, &S::prefix,
       "first tokens that all tokens see; the loss ignores the first prefix-1 (Gu et al., section 6); 0: none", 0,
       65535},
      {"head-width", model, &S::head_width, "D, width of a head's query, key and value; 0: d-model / heads", 0, 65536},
      {"global-every", model, &S::global_every,
       "every so many blocks, one without a window; the last of them (Gemma 3: 6); 0: none", 0, 1024},
      {"norm-epsilon", model, &S::norm_epsilon, "added to the mean square in norms; 0: 1e-5", 0, 1},
      {"attention-scale", model, &S::attention_scale, "factor of q . k; 0: 1 / sqrt(D)", 0, 1e6},
      {"rotary-base", model, &S::rotary_base, "base of rotary positions; 0: 10000", 0, 1e12},
      with_flag<S>("partial-rotary-factor",
                   {"rotary-part", model, &S::rotary_part,
                    "rotated fraction of a head; the first elements (GPT-NeoX: 0.25); 0: all", 0, 1}),
      {"rotary-factor", model, &S::rotary_factor,
       "slows rotations down for a longer context; as the position policy says; 0: not", 0, 1e6},
      {"rotary-local-base", model, &S::rotary_local_base,
       "base of blocks with a window; with --global-every; 0: as the others", 0, 1e12},
      {"rotary-context", model, &S::rotary_context, "context before rotations were slowed down; 0: context", 0,
       1 << 24},
      {"no-rope-every", model, &S::no_rope_every,
       "every so many blocks, one without rotary positions; the last of them (SmolLM3: 4); 0: none", 0, 1024},
      {"experts", model, &S::experts, "E experts, each F wide (gpt_oss, mixtral); 0: 8", 0, 1024},
      {"chosen-experts", model, &S::chosen_experts, "of them, by the router for every token; 0: 2", 0, 1024},
      {"shared-feed-forward", model, &S::shared_feed_forward,
       "width inside the shared expert (qwen2_moe); 0: feed-forward", 0, 262144},
      {"attention-every", model, &S::attention_every,
       "every so many blocks, one with attention; the others have a gated delta rule (qwen3_5: 4); 0: all", 0, 1024},
      {"delta-heads", model, &S::delta_heads, "heads of gated delta rules; 0: heads", 0, 1024},
      {"delta-key-heads", model, &S::delta_key_heads, "of them with own queries and keys; 0: all", 0, 1024},
      {"delta-key-width", model, &S::delta_key_width, "width of a query or key of a delta rule; 0: head-width", 0,
       4096},
      {"delta-value-width", model, &S::delta_value_width, "width of a value of a delta rule; 0: head-width", 0, 4096},
      {"convolution", model, &S::convolution, "tokens of the convolution before a delta rule; 0: 4", 0, 64},
  };
  return settings;
}

std::string option_of_size(const std::string& flag) { return setting_named(size_settings(), flag)->option(); }

Sizes resolve_defaults(Sizes sizes) {
  sizes.kv_heads = sizes.key_heads();
  sizes.attention_scale = sizes.scale();
  sizes.head_width = sizes.width_of_head();
  sizes.norm_epsilon = sizes.epsilon();
  if (sizes.rotary_base == 0) sizes.rotary_base = kRotaryBase;
  if (sizes.rotary_part == 0) sizes.rotary_part = 1;
  if (sizes.rotary_factor == 0) sizes.rotary_factor = 1;
  sizes.experts = sizes.expert_count();
  sizes.chosen_experts = sizes.top_k();
  sizes.shared_feed_forward = sizes.shared_width();
  if (sizes.attention_every == 0) sizes.attention_every = 1;
  if (sizes.delta_heads == 0) sizes.delta_heads = sizes.heads;
  if (sizes.delta_key_heads == 0) sizes.delta_key_heads = sizes.delta_heads;
  if (sizes.delta_key_width == 0) sizes.delta_key_width = sizes.head_width;
  if (sizes.delta_value_width == 0) sizes.delta_value_width = sizes.head_width;
  sizes.convolution = sizes.convolution_tokens();
  if (sizes.global_every == 1) sizes.window = 0;
  if (sizes.window == 0 || sizes.global_every > sizes.layers) sizes.global_every = 0;
  if (sizes.window == 0) sizes.global_layers.clear();
  if (sizes.window == 0) sizes.rotary_local_base = 0;
  if (sizes.no_rope_every > sizes.layers) sizes.no_rope_every = 0;
  // A local base is never scaled, so it is only equal to a base that is not scaled either.
  if (sizes.window > 0 && sizes.rotary_local_base == 0 && sizes.rotary_factor == 1)
    sizes.rotary_local_base = sizes.rotary_base;
  return sizes;
}

std::string layers_with_attention(const Sizes& sizes) {
  std::string text;
  for (std::int64_t row = 0; row < sizes.attention_layers(); ++row)
    text += (row > 0 ? ", " : "") + std::to_string(sizes.attention_layer(row));
  return text;
}

std::string validate(const Sizes& s, const std::function<std::string(const std::string& flag)>& spelled) {
  auto number = [](std::int64_t value) { return std::to_string(value); };
  if (s.head_width == 0 && s.width % s.heads != 0)
    return spelled("heads") + " must divide " + spelled("width") + ", got " + number(s.heads) + " heads and width " +
           number(s.width);
  if (s.heads % s.key_heads() != 0)
    return spelled("kv-heads") + " must divide " + spelled("heads") + ", got " + number(s.kv_heads) +
           " heads of keys and values and " + number(s.heads) + " heads";
  if (s.attention_every > s.layers)
    return spelled("attention-every") + " must be at most " + spelled("layers") + ", got " + number(s.attention_every) +
           " and " + number(s.layers);
  if (const std::int64_t of_values = s.delta_heads > 0 ? s.delta_heads : s.heads,
      of_keys = s.delta_key_heads > 0 ? s.delta_key_heads : of_values;
      of_values % of_keys != 0)
    return spelled("delta-key-heads") + " must divide " + spelled("delta-heads") + ", got " + number(of_keys) +
           " and " + number(of_values);
  if (s.prefix >= s.context)
    return spelled("prefix") + " must be less than " + spelled("context") + ", got a prefix of " + number(s.prefix) +
           " and a context of " + number(s.context);
  return "";
}

}  // namespace sink
