// GPT-2.
#include "engine/data/tokenizer/bpe_model.h"
#include "model/open/family/family_parts.h"

namespace sink::open_families {

Family gpt2() {
  return {.layer_norm = true,
          .rotary = false,
          .type = "gpt2",
          .size_keys = {{"layers", "n_layer"},
                        {"heads", "n_head"},
                        {"width", "n_embd"},
                        {"feed-forward", "n_inner"},
                        {"context", "n_positions"},
                        {"norm-epsilon", "layer_norm_epsilon"}},
          .names = {.tables = {"GPT-2"}, .prefix = "transformer.", .transposed = true},
          .written = R"({"activation_function": "gelu_new"})",
          .write = [](const OpenConfig& config, nlohmann::ordered_json& json) { json["n_ctx"] = config.sizes.context; },
          .vocabulary = {.special = kEndOfText},
          .gguf = {.architecture = "gpt2", .names = {.tables = {"GGUF of GPT-2 and GPT-NeoX", "GGUF"}}}};
}

}  // namespace sink::open_families
