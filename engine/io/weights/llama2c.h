// The .bin files of llama2.c, as its first export ("legacy", version 0) writes them: LLaMA in f32, without names.
#pragma once

#include <string>

#include "engine/io/weights/weight_file.h"

namespace sink {

// On disk: seven i32 (dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size, seq_len; vocab_size negative: the
// unembedding is not the embedding), which become metadata of these names, `vocab_size` as it stands; then f32, each
// kind for all layers together. C = dim, F = hidden_dim, G = n_kv_heads * C / n_heads. They get LLaMA's own names:
//   tok_embeddings.weight (V, C); of every layer layers.N. attention_norm.weight (C), attention.wq.weight (C, C),
//   attention.wk.weight (G, C), attention.wv.weight (G, C), attention.wo.weight (C, C), ffn_norm.weight (C),
//   feed_forward.w1.weight (F, C), feed_forward.w2.weight (C, F), feed_forward.w3.weight (F, C); norm.weight (C);
//   freq_cis_real, freq_cis_imag (T, C / n_heads / 2); where it is not shared output.weight (V, C).
// The file's size must be exactly that. Throws Error as read_weights.
WeightFile read_llama2c(const std::string& path);

}  // namespace sink
