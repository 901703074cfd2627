// Mixtral: Mistral with a mixture of experts. For llama.cpp it is a `llama` with experts.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

// Files made before April 2024.
const TensorNames kApartGguf{.own = {{"blocks.#.feed_forward.router", {"blk.#.ffn_gate_inp"}},
                                     {"blocks.#.feed_forward.gate_up", {"blk.#.ffn_gate.*", "blk.#.ffn_up.*"}},
                                     {"blocks.#.feed_forward.down", {"blk.#.ffn_down.*"}}},
                             .tables = {"GGUF"},
                             .pairs_interleaved = true,
                             .experts = ExpertTensors::apart};

}  // namespace

Family mixtral() {
  return {.experts = true,
          .type = "mixtral",
          .keys = {.without = {"attention_bias"},
                   .classes = {"MixtralForCausalLM", "MixtralModel"},
                   .defaults = R"({"max_position_embeddings": 131072, "rms_norm_eps": 1e-05, "rope_theta": 1000000})",
                   .read = {{"num_key_value_heads", "8", "heads of keys and values"},
                            {"intermediate_size", "14336", "elements inside an expert"},
                            {"num_local_experts", "8", "experts of a feed-forward block"},
                            {"num_experts_per_tok", "2", "experts that a token goes through"},
                            {"sliding_window", "null", "keys that a token sees in every layer; null: all before it"}},
                   .fixed = {{"hidden_act", R"("silu", "swish")", "of experts"}},
                   .ignored = {{"how transformers runs a model or returns its results", {"output_router_logits"}},
                               {"training only", {"router_aux_loss_coef", "router_jitter_noise"}}}},
          .rope_types = {"default", "linear"},
          .names = {.own = {{"blocks.#.feed_forward.router", {"layers.#.block_sparse_moe.gate"}},
                            {"blocks.#.feed_forward.gate_up",
                             {"layers.#.block_sparse_moe.experts.*.w1", "layers.#.block_sparse_moe.experts.*.w3"}},
                            {"blocks.#.feed_forward.down", {"layers.#.block_sparse_moe.experts.*.w2"}}},
                    .experts = ExpertTensors::apart},
          .read = take_window,
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
