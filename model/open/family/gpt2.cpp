// GPT-2.
#include "engine/data/tokenizer/bpe_model.h"
#include "model/open/family/family_parts.h"

namespace sink::open_families {

Family gpt2() {
  return {
      .layer_norm = true,
      .rotary = false,
      .type = "gpt2",
      .keys = {.like_llama = false,
               .classes = {"GPT2LMHeadModel", "GPT2Model"},
               .defaults = R"({"vocab_size": 50257})",
               .read = {{"n_layer", "12", "transformer blocks", "layers"},
                        {"n_head", "12", "attention heads", "heads"},
                        {"n_embd", "768", "elements of a token's vector", "width"},
                        {"n_inner", "null", "elements inside the feed-forward block; null: 4 n_embd", "feed-forward"},
                        {"n_positions", "1024", "the context", "context"},
                        {"layer_norm_epsilon", "1e-05", "of norms", "norm-epsilon"}},
               .fixed = {{"activation_function", R"("gelu_new", "gelu_pytorch_tanh")", "of the feed-forward block"},
                         {"scale_attn_weights", "true", "scores are divided by the root of a head's elements"},
                         {"scale_attn_by_inverse_layer_idx", "false", "scores are scaled alike in all layers"},
                         {"tie_word_embeddings", "true"}},
               .ignored = {{"rounding only", {"reorder_and_upcast_attn"}},
                           {"an older name of n_positions, which the class does not read", {"n_ctx"}},
                           {"training only", {"attn_pdrop", "embd_pdrop", "resid_pdrop"}},
                           {"a head for other tasks, whose tensors would be refused",
                            {"summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels",
                             "summary_first_dropout", "n_special", "predict_special_tokens"}}}},
      .names = {.own = {{"embedding.token", {"wte"}},
                        {"embedding.position", {"wpe"}},
                        {"final_norm", {"ln_f"}},
                        {"blocks.#.attention.norm", {"h.#.ln_1"}},
                        {"blocks.#.attention.qkv", {"h.#.attn.c_attn"}},
                        {"blocks.#.attention.out", {"h.#.attn.c_proj"}},
                        {"blocks.#.feed_forward.norm", {"h.#.ln_2"}},
                        {"blocks.#.feed_forward.up", {"h.#.mlp.c_fc"}},
                        {"blocks.#.feed_forward.down", {"h.#.mlp.c_proj"}}},
                .tables = {},
                .prefix = "transformer.",
                .transposed = true},
      .write = [](const OpenConfig& config, nlohmann::ordered_json& json) { json["n_ctx"] = config.sizes.context; },
      .vocabulary = {.special = kEndOfText},
      .gguf = {.architecture = "gpt2", .names = {.tables = {"GGUF of joined heads", "GGUF"}}}};
}

}  // namespace sink::open_families
