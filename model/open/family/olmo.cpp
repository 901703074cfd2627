// OLMo of 2024: LLaMA with LayerNorm that has neither gains nor biases.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

TensorNames olmo_names(TensorNames names) {
  leave_out_of_norms(".gain", names);
  leave_out_of_norms(".bias", names);
  return names;
}

}  // namespace

Family olmo() {
  return {.layer_norm = true,
          .type = "olmo",
          .keys = {.without = {"rms_norm_eps", "head_dim"},
                   .classes = {"OlmoForCausalLM", "OlmoModel"},
                   .defaults = R"({"vocab_size": 50304})",
                   .fixed = {{"clip_qkv", "null", "queries, keys and values are not clipped"}}},
          .rope_types = {"default", "linear"},
          .names = olmo_names({}),
          .gains_less_one = true,
          .read = [](const ConfigJson&, OpenConfig& config) { config.sizes.norm_epsilon = 1e-5; },
          .tokenizer_class = "GPTNeoXTokenizer",
          .gguf = {.architecture = "olmo",
                   .names = olmo_names({.tables = {"GGUF"}, .pairs_interleaved = true}),
                   .read = [](const GgufKeys& keys, const WeightFile&, OpenConfig& config) {
                     if (keys.has("attention.clamp_kqv"))
                       keys.refuse("`olmo.attention.clamp_kqv`: queries, keys and values are not clipped here");
                     config.gain_less = 1;
                     double& epsilon = config.sizes.norm_epsilon;
                     if (static_cast<float>(epsilon) == 1e-5F) epsilon = 1e-5;  // the class has no key for another
                   }}};
}

}  // namespace sink::open_families
