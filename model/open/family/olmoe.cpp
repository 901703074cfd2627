// OLMoE: LLaMA with norms of queries and keys over all heads, and a mixture of experts whose weights are a part of the
// softmax over all.
#include "model/open/family/family_parts.h"

namespace sink::open_families {

Family olmoe() {
  return {.experts = true,
          .type = "olmoe",
          .keys = {.classes = {"OlmoeForCausalLM", "OlmoeModel"},
                   .defaults = R"({"num_hidden_layers": 16, "num_attention_heads": 16, "hidden_size": 2048,
                                   "max_position_embeddings": 4096, "vocab_size": 50304, "rms_norm_eps": 1e-05})",
                   .read = {{"intermediate_size", "2048", "elements inside an expert"},
                            {"num_experts", "64", "experts of a feed-forward block", "experts"},
                            {"num_experts_per_tok", "8", "experts that a token goes through"}},
                   .fixed = {{"norm_topk_prob", "false", "weights of the chosen experts are not divided by their sum"},
                             {"clip_qkv", "null", "queries, keys and values are not clipped"}},
                   .ignored = {{"how transformers runs a model or returns its results", {"output_router_logits"}},
                               {"training only", {"router_aux_loss_coef"}}}},
          .rope_types = {"default", "linear"},
          .names = kExpertsApart,
          .tokenizer_class = "GPTNeoXTokenizer",
          .gguf = {.architecture = "olmoe",
                   .names = {.tables = {"GGUF of experts", "GGUF"}, .experts = ExpertTensors::stacked}}};
}

}  // namespace sink::open_families
