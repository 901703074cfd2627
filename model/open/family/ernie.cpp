// ERNIE 4.5 without experts: LLaMA in whose files elements 2 e and 2 e + 1 of a head rotate together.
#include "model/open/family/family_parts.h"

namespace sink::open_families {

Family ernie4_5() {
  return {.type = "ernie4_5",
          .keys = {.without = {"attention_bias"},
                   .classes = {"Ernie4_5ForCausalLM", "Ernie4_5Model"},
                   .defaults = R"({"num_hidden_layers": 18, "num_attention_heads": 16, "hidden_size": 1024,
                                   "intermediate_size": 3072, "max_position_embeddings": 131072, "vocab_size": 103424,
                                   "rms_norm_eps": 1e-05, "tie_word_embeddings": true, "rope_theta": 500000})",
                   .read = {{"num_key_value_heads", "2"},
                            {"head_dim", "128", "elements of a head; null: hidden_size / num_attention_heads"}},
                   .fixed = {{"use_bias", "false, null", "biases of linear layers"}}},
          .rope_types = {"default", "linear"},
          .names = {.pairs_interleaved = true},
          .gguf = {.architecture = "ernie4_5", .names = {.tables = {"GGUF"}, .pairs_interleaved = true}}};
}

}  // namespace sink::open_families
