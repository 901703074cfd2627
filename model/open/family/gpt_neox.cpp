// GPT-NeoX and Pythia.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

void read_neox(const ConfigJson& json, OpenConfig& config) {
  const Rope rope = rope_of(rope_object(json), {"", json.real("rotary_emb_base"), 0, 0, json.real("rotary_pct")},
                            {"default", "linear"});
  json.expect("rope_theta", {rope.base});
  json.expect("partial_rotary_factor", {rope.part});
  take_rope(rope, config);
  take_rotary_part(json, rope, config.sizes);
}

void read_neox_gguf(const GgufKeys& keys, const WeightFile&, OpenConfig&) {
  if (!keys.flag("use_parallel_residual", true)) keys.refuse("GPT-NeoX without a parallel residual is not known here");
}

}  // namespace

Family gpt_neox() {
  return {.layer_norm = true,
          .rotates_part = true,
          .type = "gpt_neox",
          .size_keys = {{"norm-epsilon", "layer_norm_eps"},
                        {"rotary-base", "rotary_emb_base"},
                        {"rotary-part", "rotary_pct"}},
          .names = {.tables = {"GPT-NeoX"}, .prefix = "gpt_neox.", .heads_by_group = true},
          .read = read_neox,
          .written = R"({"hidden_act": "gelu", "use_parallel_residual": true, "attention_bias": true})",
          .tokenizer_class = "GPTNeoXTokenizer",
          .gguf = {.architecture = "gptneox",
                   .names = {.tables = {"GGUF of GPT-2 and GPT-NeoX", "GGUF"}},
                   .read = read_neox_gguf}};
}

}  // namespace sink::open_families
