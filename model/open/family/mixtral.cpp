// Mixtral: Mistral with a mixture of experts. For llama.cpp it is a `llama` with experts.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

// Files made before April 2024.
const TensorNames kApartGguf{.tables = {"GGUF of Mixtral, a tensor for each expert", "GGUF"},
                             .pairs_interleaved = true,
                             .experts = ExpertTensors::apart};

}  // namespace

Family mixtral() {
  return {.experts = true,
          .type = "mixtral",
          .rope_types = {"default", "linear"},
          .names = {.tables = {"Mixtral", "LLaMA"}, .experts = ExpertTensors::apart},
          .read = take_window,
          .written = R"({"hidden_act": "silu"})",
          .write = write_window,
          .tokenizer_class = "LlamaTokenizer",
          .gguf = {.architecture = "llama",
                   .names = {.tables = {"GGUF of experts", "GGUF"},
                             .pairs_interleaved = true,
                             .experts = ExpertTensors::stacked},
                   .window = true,
                   .is_one = [](const GgufKeys& keys) { return keys.integer("expert_count", 0) != 0; },
                   .read =
                       [](const GgufKeys&, const WeightFile& file, OpenConfig& config) {
                         if (file.find("blk.0.ffn_gate.0.weight")) config.names = &kApartGguf;
                       }}};
}

}  // namespace sink::open_families
