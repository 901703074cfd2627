// LLaMA 2 and 3, and the files of llama2.c.
#include <algorithm>

#include "engine/ops/rotary/rotary.h"
#include "model/open/family/family_parts.h"

namespace sink {

namespace open_families {

Family llama() {
  return {.with_llama3_rope = "llama3",
          .type = "llama",
          .keys = {.classes = {"LlamaForCausalLM", "LLaMAForCausalLM", "LLaMaForCausalLM", "LlamaModel"},
                   .fixed = {{"mlp_bias", "false", "biases of the feed-forward block"},
                             {"pretraining_tp", "1, null", "projections are computed whole"},
                             {"sliding_window", "null", "there is no window"}},
                   .ignored = {{"where the file comes from", {"is_llama_config"}},
                               {"the longest text in training; the class does not read it", {"max_sequence_length"}}}},
          .rope_types = {"default", "linear", "llama3"},
          .tokenizer_class = "LlamaTokenizer",
          .gguf = {.architecture = "llama", .names = {.tables = {"GGUF"}, .pairs_interleaved = true}, .window = true}};
}

// LLaMA 3.1 and later, whose files differ from those of LLaMA 2 in rotary positions.
Family llama3() {
  Family family = llama();
  family.scaling = "llama3";
  family.gguf.architecture = "";
  return family;
}

Family llama2c() {
  return {.names = {.own = {{"embedding.token", {"tok_embeddings"}},
                            {"unembedding", {"output"}},
                            {"final_norm", {"norm"}},
                            {"blocks.#.attention.norm", {"layers.#.attention_norm"}},
                            {"blocks.#.attention.qkv",
                             {"layers.#.attention.wq", "layers.#.attention.wk", "layers.#.attention.wv"}},
                            {"blocks.#.attention.out", {"layers.#.attention.wo"}},
                            {"blocks.#.feed_forward.norm", {"layers.#.ffn_norm"}},
                            {"blocks.#.feed_forward.gate_up", {"layers.#.feed_forward.w1", "layers.#.feed_forward.w3"}},
                            {"blocks.#.feed_forward.down", {"layers.#.feed_forward.w2"}}},
                    .tables = {},
                    .pairs_interleaved = true}};
}

}  // namespace open_families

OpenConfig read_llama2c_config(const WeightFile& file) {
  static const Family& family = *std::ranges::find(families(), "llama2c", &Family::name);
  auto number = [&](const char* key) { return file.metadata(key).integer(); };
  OpenConfig config{.family = family.ablation, .origin = &family, .files = ModelFiles::llama2c, .names = &family.names};
  config.sizes = {.layers = number("n_layers"),
                  .heads = number("n_heads"),
                  .width = number("dim"),
                  .feed_forward = number("hidden_dim"),
                  .context = number("seq_len"),
                  .vocabulary = std::abs(number("vocab_size")),
                  .kv_heads = number("n_kv_heads"),
                  .norm_epsilon = 1e-5,
                  .rotary_base = kRotaryBase};
  return config;
}

}  // namespace sink
