// Granite: LLaMA, or Mixtral, or a LLaMA with learned sink logits, with four factors. Only that of scores is a size:
// the others become factors of weights.
#include <algorithm>

#include "engine/io/str_format.h"
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

void read_granite(const ConfigJson& json, OpenConfig& config) {
  config.sizes.attention_scale = json.real("attention_multiplier");
  config.embedding_scale = json.real("embedding_multiplier");
  config.residual_scale = json.real("residual_multiplier");
  config.logit_scale = 1 / json.real("logits_scaling");
}

void read_granite_swa(const ConfigJson& json, OpenConfig& config) {
  read_granite(json, config);
  take_layer_types(json, config, [](std::int64_t layer) { return layer % 4 == 0; });
  take_rope(whole_rope(json, {"default", "linear"}), config);
  if (!json.has("layer_rope_theta")) return;
  const std::vector<double> bases = json.reals("layer_rope_theta");
  Sizes& sizes = config.sizes;
  if (std::ssize(bases) != sizes.layers)
    json.refuse("`layer_rope_theta` must have a base for each of " + std::to_string(sizes.layers) + " layers, got " +
                std::to_string(bases.size()));
  std::vector<bool> rotates;
  for (const double base : bases) {
    rotates.push_back(base != 0);
    if (base == 0) continue;
    const bool is_first = std::ranges::find(rotates, true) == rotates.end() - 1;
    if (!is_first && base != sizes.rotary_base)
      json.refuse("`layer_rope_theta` must be one base, or 0, in all layers: others are not computed here; got " +
                  str_format("%g and %g", sizes.rotary_base, base));
    sizes.rotary_base = base;
  }
  set_rotary_layers(sizes, rotates);
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

// Granite with a learned sink logit, and a window and rotary positions in some layers.
Family granite_swa() {
  Family family = granite();
  family.with_llama3_rope = "";
  family.type = "granite_swa";
  family.keys.classes = {"GraniteSWAForCausalLM", "GraniteSWAModel"};
  family.keys.defaults = R"({"num_hidden_layers": 24, "num_attention_heads": 20, "hidden_size": 2560,
                             "intermediate_size": 8192, "max_position_embeddings": 8192, "vocab_size": 100352,
                             "rms_norm_eps": 1e-05, "tie_word_embeddings": true})";
  for (const ReadKey& key :
       {ReadKey{"num_key_value_heads", "4", "heads of keys and values; null: as many as attention heads"},
        ReadKey{"sliding_window", "128", "keys that a token sees in layers with a window"},
        ReadKey{"layer_types", "null",
                "full_attention or sliding_attention, one for each layer; null: every fourth, from the first, is full"},
        ReadKey{"layer_rope_theta", "null",
                "the base of rotary positions of each layer, the same in all, or 0 for layers that do not rotate; "
                "null: that of `rope_parameters`"}})
    family.keys.read.push_back(key);
  family.rope_types = {};
  family.names.own = {{"blocks.#.attention.extra.logit", {"layers.#.self_attn.sinks"}}};
  family.read = read_granite_swa;
  family.writes = [](const OpenConfig&) { return true; };
  family.write = [](const OpenConfig& config, nlohmann::ordered_json& json) {
    write_layer_types(config, json);
    for (std::int64_t layer = 0; layer < config.sizes.layers; ++layer)
      json["layer_rope_theta"].push_back(config.sizes.rotates(layer) ? config.sizes.rotary_base : 0);
  };
  family.gguf = {};
  return family;
}

}  // namespace sink::open_families
