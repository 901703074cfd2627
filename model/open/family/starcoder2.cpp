// StarCoder 2: GPT-2 with rotary positions, groups of heads and a window in all layers.
#include "model/open/family/family_parts.h"

namespace sink::open_families {

Family starcoder2() {
  return {.layer_norm = true,
          .type = "starcoder2",
          .keys = {.without = {"rms_norm_eps", "head_dim", "attention_bias"},
                   .classes = {"Starcoder2ForCausalLM", "Starcoder2Model"},
                   .defaults = R"({"num_hidden_layers": 30, "num_attention_heads": 24, "hidden_size": 3072,
                                   "intermediate_size": 12288, "max_position_embeddings": 4096, "vocab_size": 49152,
                                   "tie_word_embeddings": true})",
                   .read = {{"num_key_value_heads", "2", "heads of keys and values"},
                            {"norm_epsilon", "1e-05", "of norms", "norm-epsilon"},
                            {"sliding_window", "null", "keys that a token sees in every layer; null: all before it"}},
                   .fixed = {{"hidden_act", R"("gelu_pytorch_tanh", "gelu_new")"},
                             {"use_bias", "true", "biases of linear layers"}},
                   .ignored = {{"the class does not read it",
                                {"activation_function", "layer_norm_epsilon", "mlp_type", "norm_type"}},
                               {"training only", {"residual_dropout", "embedding_dropout"}}}},
          .rope_types = {"default", "linear"},
          .names = {.own = {{"blocks.#.feed_forward.up", {"layers.#.mlp.c_fc"}},
                            {"blocks.#.feed_forward.down", {"layers.#.mlp.c_proj"}}}},
          .read = take_window,
          .write = write_window,
          .gguf = {.architecture = "starcoder2"}};  // llama.cpp does not compute its window
}

}  // namespace sink::open_families
