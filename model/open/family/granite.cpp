// Granite: LLaMA, or Mixtral, with four factors. Only that of scores is a size: the others become factors of weights.
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

// Granite with experts.
Family granitemoe() {
  Family family = granite();
  family.experts = true;
  family.with_llama3_rope = "";
  family.rope_types = {"default", "linear"};
  family.type = family.gguf.architecture = "granitemoe";
  family.keys.classes = {"GraniteMoeForCausalLM", "GraniteMoeModel"};
  family.keys.read.erase(family.keys.read.begin());  // head_dim, which the class does not read
  for (const ReadKey& key : {ReadKey{"intermediate_size", "11008", "elements inside an expert"},
                             ReadKey{"num_local_experts", "8", "experts of a feed-forward block"},
                             ReadKey{"num_experts_per_tok", "2", "experts that a token goes through"}})
    family.keys.read.push_back(key);
  family.keys.without = {"head_dim"};
  family.keys.fixed = {};
  family.keys.ignored = {{"how transformers runs a model or returns its results", {"output_router_logits"}},
                         {"training only", {"router_aux_loss_coef"}}};
  family.names = {.own = {{"blocks.#.feed_forward.router", {"layers.#.block_sparse_moe.router.layer"}},
                          {"blocks.#.feed_forward.gate_up", {"layers.#.block_sparse_moe.input_linear"}},
                          {"blocks.#.feed_forward.down", {"layers.#.block_sparse_moe.output_linear"}}},
                  .experts = ExpertTensors::joined};
  family.gguf.names = {
      .tables = {"GGUF of experts", "GGUF"}, .pairs_interleaved = true, .experts = ExpertTensors::stacked};
  return family;
}

}  // namespace sink::open_families
