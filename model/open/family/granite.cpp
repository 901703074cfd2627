// Granite: LLaMA with four factors. Only that of scores is a size: the others become factors of weights.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

void read_granite(const ConfigJson& json, OpenConfig& config) {
  config.sizes.attention_scale = json.real("attention_multiplier");
  config.embedding_scale = json.real("embedding_multiplier");
  config.residual_scale = json.real("residual_multiplier");
  config.logit_scale = 1 / json.real("logits_scaling");
}

// For llama.cpp, `rope.scaling.finetuned` false says that there are no rotary positions.
void read_granite_gguf(const GgufKeys& keys, const WeightFile&, OpenConfig& config) {
  if (!keys.flag("rope.scaling.finetuned", true)) keys.refuse("Granite without rotary positions is not computed here");
  config.sizes.attention_scale = keys.real("attention.scale", 0);
  config.embedding_scale = keys.real("embedding_scale", 1);
  config.residual_scale = keys.real("residual_scale", 1);
  config.logit_scale = 1 / keys.real("logit_scale");
}

// Not of LLaMA 3.1, whose frequencies have a first context.
bool writes_granite(const OpenConfig& config) {
  const Sizes& sizes = config.sizes;
  return sizes.attention_scale != 1 / std::sqrt(static_cast<double>(sizes.head_width)) && sizes.rotary_context == 0;
}

}  // namespace

Family granite() {
  return {.with_llama3_rope = "llama3",
          .type = "granite",
          .keys = {.classes = {"GraniteForCausalLM", "GraniteModel"},
                   .read = {{"head_dim", "", "elements of a head; missing: hidden_size / num_attention_heads"},
                            {"attention_multiplier", "1.0",
                             "factor of scores; no division by the root of a head's elements"},
                            {"embedding_multiplier", "1.0", "factor of token embeddings"},
                            {"residual_multiplier", "1.0", "factor of what attention and the feed-forward block add"},
                            {"logits_scaling", "1.0", "logits are divided by it"}},
                   .fixed = {{"mlp_bias", "false", "biases of the feed-forward block"}}},
          .rope_types = {"default", "linear", "llama3"},
          .read = read_granite,
          .writes = writes_granite,
          .gguf = {.architecture = "granite",
                   .keys = {"attention.scale", "embedding_scale", "residual_scale", "logit_scale"},
                   .names = {.tables = {"GGUF"}, .pairs_interleaved = true},
                   .read = read_granite_gguf}};
}

}  // namespace sink::open_families
