#include "model/open/tensor_names.h"

#include <array>
#include <string_view>

namespace sink {
namespace {

// One of our parameters, `#` being the block, and the tensors whose rows it has.
struct Line {
  std::string_view ours;
  std::array<std::string_view, 3> theirs;
};

constexpr Line kHfGpt2[] = {
    {"embedding.token.weight", {"wte.weight"}},
    {"embedding.position.weight", {"wpe.weight"}},
    {"final_norm.gain", {"ln_f.weight"}},
    {"final_norm.bias", {"ln_f.bias"}},
    {"blocks.#.attention.norm.gain", {"h.#.ln_1.weight"}},
    {"blocks.#.attention.norm.bias", {"h.#.ln_1.bias"}},
    {"blocks.#.attention.qkv.weight", {"h.#.attn.c_attn.weight"}},
    {"blocks.#.attention.qkv.bias", {"h.#.attn.c_attn.bias"}},
    {"blocks.#.attention.out.weight", {"h.#.attn.c_proj.weight"}},
    {"blocks.#.attention.out.bias", {"h.#.attn.c_proj.bias"}},
    {"blocks.#.feed_forward.norm.gain", {"h.#.ln_2.weight"}},
    {"blocks.#.feed_forward.norm.bias", {"h.#.ln_2.bias"}},
    {"blocks.#.feed_forward.up.weight", {"h.#.mlp.c_fc.weight"}},
    {"blocks.#.feed_forward.up.bias", {"h.#.mlp.c_fc.bias"}},
    {"blocks.#.feed_forward.down.weight", {"h.#.mlp.c_proj.weight"}},
    {"blocks.#.feed_forward.down.bias", {"h.#.mlp.c_proj.bias"}},
};

constexpr Line kHfOpt[] = {
    {"embedding.token.weight", {"decoder.embed_tokens.weight"}},
    {"embedding.position.weight", {"decoder.embed_positions.weight"}},
    {"final_norm.gain", {"decoder.final_layer_norm.weight"}},
    {"final_norm.bias", {"decoder.final_layer_norm.bias"}},
    {"blocks.#.attention.norm.gain", {"decoder.layers.#.self_attn_layer_norm.weight"}},
    {"blocks.#.attention.norm.bias", {"decoder.layers.#.self_attn_layer_norm.bias"}},
    {"blocks.#.attention.qkv.weight",
     {"decoder.layers.#.self_attn.q_proj.weight", "decoder.layers.#.self_attn.k_proj.weight",
      "decoder.layers.#.self_attn.v_proj.weight"}},
    {"blocks.#.attention.qkv.bias",
     {"decoder.layers.#.self_attn.q_proj.bias", "decoder.layers.#.self_attn.k_proj.bias",
      "decoder.layers.#.self_attn.v_proj.bias"}},
    {"blocks.#.attention.out.weight", {"decoder.layers.#.self_attn.out_proj.weight"}},
    {"blocks.#.attention.out.bias", {"decoder.layers.#.self_attn.out_proj.bias"}},
    {"blocks.#.feed_forward.norm.gain", {"decoder.layers.#.final_layer_norm.weight"}},
    {"blocks.#.feed_forward.norm.bias", {"decoder.layers.#.final_layer_norm.bias"}},
    {"blocks.#.feed_forward.up.weight", {"decoder.layers.#.fc1.weight"}},
    {"blocks.#.feed_forward.up.bias", {"decoder.layers.#.fc1.bias"}},
    {"blocks.#.feed_forward.down.weight", {"decoder.layers.#.fc2.weight"}},
    {"blocks.#.feed_forward.down.bias", {"decoder.layers.#.fc2.bias"}},
};

constexpr Line kHfNeox[] = {
    {"embedding.token.weight", {"embed_in.weight"}},
    {"unembedding.weight", {"embed_out.weight"}},
    {"final_norm.gain", {"final_layer_norm.weight"}},
    {"final_norm.bias", {"final_layer_norm.bias"}},
    {"blocks.#.attention.norm.gain", {"layers.#.input_layernorm.weight"}},
    {"blocks.#.attention.norm.bias", {"layers.#.input_layernorm.bias"}},
    {"blocks.#.attention.qkv.weight", {"layers.#.attention.query_key_value.weight"}},
    {"blocks.#.attention.qkv.bias", {"layers.#.attention.query_key_value.bias"}},
    {"blocks.#.attention.out.weight", {"layers.#.attention.dense.weight"}},
    {"blocks.#.attention.out.bias", {"layers.#.attention.dense.bias"}},
    {"blocks.#.feed_forward.norm.gain", {"layers.#.post_attention_layernorm.weight"}},
    {"blocks.#.feed_forward.norm.bias", {"layers.#.post_attention_layernorm.bias"}},
    {"blocks.#.feed_forward.up.weight", {"layers.#.mlp.dense_h_to_4h.weight"}},
    {"blocks.#.feed_forward.up.bias", {"layers.#.mlp.dense_h_to_4h.bias"}},
    {"blocks.#.feed_forward.down.weight", {"layers.#.mlp.dense_4h_to_h.weight"}},
    {"blocks.#.feed_forward.down.bias", {"layers.#.mlp.dense_4h_to_h.bias"}},
};

constexpr Line kHfLlama[] = {
    {"embedding.token.weight", {"embed_tokens.weight"}},
    {"unembedding.weight", {"lm_head.weight"}},
    {"final_norm.gain", {"norm.weight"}},
    {"blocks.#.attention.norm.gain", {"layers.#.input_layernorm.weight"}},
    {"blocks.#.attention.qkv.weight",
     {"layers.#.self_attn.q_proj.weight", "layers.#.self_attn.k_proj.weight", "layers.#.self_attn.v_proj.weight"}},
    {"blocks.#.attention.qkv.bias",
     {"layers.#.self_attn.q_proj.bias", "layers.#.self_attn.k_proj.bias", "layers.#.self_attn.v_proj.bias"}},
    {"blocks.#.attention.query_norm.gain", {"layers.#.self_attn.q_norm.weight"}},
    {"blocks.#.attention.key_norm.gain", {"layers.#.self_attn.k_norm.weight"}},
    {"blocks.#.attention.out.weight", {"layers.#.self_attn.o_proj.weight"}},
    {"blocks.#.feed_forward.norm.gain", {"layers.#.post_attention_layernorm.weight"}},
    {"blocks.#.feed_forward.gate_up.weight", {"layers.#.mlp.gate_proj.weight", "layers.#.mlp.up_proj.weight"}},
    {"blocks.#.feed_forward.down.weight", {"layers.#.mlp.down_proj.weight"}},
};

// Where Gemma 3 differs from LLaMA.
constexpr Line kHfGemma3[] = {
    {"blocks.#.attention.post_norm.gain", {"layers.#.post_attention_layernorm.weight"}},
    {"blocks.#.feed_forward.norm.gain", {"layers.#.pre_feedforward_layernorm.weight"}},
    {"blocks.#.feed_forward.post_norm.gain", {"layers.#.post_feedforward_layernorm.weight"}},
};

// Where gpt-oss differs from LLaMA.
constexpr Line kHfGptOss[] = {
    {"blocks.#.attention.extra.logit", {"layers.#.self_attn.sinks"}},
    {"blocks.#.attention.out.bias", {"layers.#.self_attn.o_proj.bias"}},
    {"blocks.#.feed_forward.router.weight", {"layers.#.mlp.router.weight"}},
    {"blocks.#.feed_forward.router.bias", {"layers.#.mlp.router.bias"}},
    {"blocks.#.feed_forward.gate_up.weight", {"layers.#.mlp.experts.gate_up_proj"}},
    {"blocks.#.feed_forward.gate_up.bias", {"layers.#.mlp.experts.gate_up_proj_bias"}},
    {"blocks.#.feed_forward.down.weight", {"layers.#.mlp.experts.down_proj"}},
    {"blocks.#.feed_forward.down.bias", {"layers.#.mlp.experts.down_proj_bias"}},
};

constexpr Line kGguf[] = {
    {"embedding.token.weight", {"token_embd.weight"}},
    {"embedding.position.weight", {"position_embd.weight"}},
    {"unembedding.weight", {"output.weight"}},
    {"final_norm.gain", {"output_norm.weight"}},
    {"final_norm.bias", {"output_norm.bias"}},
    {"blocks.#.attention.norm.gain", {"blk.#.attn_norm.weight"}},
    {"blocks.#.attention.norm.bias", {"blk.#.attn_norm.bias"}},
    {"blocks.#.attention.post_norm.gain", {"blk.#.post_attention_norm.weight"}},
    {"blocks.#.attention.qkv.weight", {"blk.#.attn_q.weight", "blk.#.attn_k.weight", "blk.#.attn_v.weight"}},
    {"blocks.#.attention.qkv.bias", {"blk.#.attn_q.bias", "blk.#.attn_k.bias", "blk.#.attn_v.bias"}},
    {"blocks.#.attention.query_norm.gain", {"blk.#.attn_q_norm.weight"}},
    {"blocks.#.attention.key_norm.gain", {"blk.#.attn_k_norm.weight"}},
    {"blocks.#.attention.out.weight", {"blk.#.attn_output.weight"}},
    {"blocks.#.attention.out.bias", {"blk.#.attn_output.bias"}},
    {"blocks.#.feed_forward.norm.gain", {"blk.#.ffn_norm.weight"}},
    {"blocks.#.feed_forward.norm.bias", {"blk.#.ffn_norm.bias"}},
    {"blocks.#.feed_forward.post_norm.gain", {"blk.#.post_ffw_norm.weight"}},
    {"blocks.#.feed_forward.gate_up.weight", {"blk.#.ffn_gate.weight", "blk.#.ffn_up.weight"}},
    {"blocks.#.feed_forward.up.weight", {"blk.#.ffn_up.weight"}},
    {"blocks.#.feed_forward.up.bias", {"blk.#.ffn_up.bias"}},
    {"blocks.#.feed_forward.down.weight", {"blk.#.ffn_down.weight"}},
    {"blocks.#.feed_forward.down.bias", {"blk.#.ffn_down.bias"}},
};
// Of GPT-2 and GPT-NeoX, whose queries, keys and values are one tensor; of the latter regrouped by the converter.
constexpr Line kGgufFused[] = {
    {"blocks.#.attention.qkv.weight", {"blk.#.attn_qkv.weight"}},
    {"blocks.#.attention.qkv.bias", {"blk.#.attn_qkv.bias"}},
};

constexpr Line kLlama2c[] = {
    {"embedding.token.weight", {"tok_embeddings.weight"}},
    {"unembedding.weight", {"output.weight"}},
    {"final_norm.gain", {"norm.weight"}},
    {"blocks.#.attention.norm.gain", {"layers.#.attention_norm.weight"}},
    {"blocks.#.attention.qkv.weight",
     {"layers.#.attention.wq.weight", "layers.#.attention.wk.weight", "layers.#.attention.wv.weight"}},
    {"blocks.#.attention.out.weight", {"layers.#.attention.wo.weight"}},
    {"blocks.#.feed_forward.norm.gain", {"layers.#.ffn_norm.weight"}},
    {"blocks.#.feed_forward.gate_up.weight", {"layers.#.feed_forward.w1.weight", "layers.#.feed_forward.w3.weight"}},
    {"blocks.#.feed_forward.down.weight", {"layers.#.feed_forward.w2.weight"}},
};

// "blocks.3.attention.out.bias" as "blocks.#.attention.out.bias" and "3".
std::pair<std::string, std::string> without_block(const std::string& name) {
  const std::string start = "blocks.";
  if (!name.starts_with(start)) return {name, ""};
  const std::size_t end = name.find('.', start.size());
  return {start + "#" + name.substr(end), name.substr(start.size(), end - start.size())};
}

template <std::size_t N>
const Line* find(const Line (&lines)[N], const std::string& ours) {
  for (const Line& line : lines)
    if (line.ours == ours) return &line;
  return nullptr;
}

const Line* line_of(const OpenConfig& config, const std::string& ours) {
  switch (config.names) {
    case TensorNames::hf_gpt2:
      return find(kHfGpt2, ours);
    case TensorNames::hf_opt:
      return find(kHfOpt, ours);
    case TensorNames::hf_neox:
      return find(kHfNeox, ours);
    case TensorNames::hf_llama:
      return find(kHfLlama, ours);
    case TensorNames::hf_gemma3: {
      const Line* own = find(kHfGemma3, ours);
      return own ? own : find(kHfLlama, ours);
    }
    case TensorNames::hf_gpt_oss: {
      const Line* own = find(kHfGptOss, ours);
      return own ? own : find(kHfLlama, ours);
    }
    case TensorNames::gguf: {
      const bool fused = config.family == "gpt2" || config.family == "gpt_neox";
      const Line* own = fused ? find(kGgufFused, ours) : nullptr;
      return own ? own : find(kGguf, ours);
    }
    case TensorNames::llama2c:
      return find(kLlama2c, ours);
  }
  return nullptr;
}

}  // namespace

std::vector<TensorPlace> places_of(const OpenConfig& config, const std::string& name) {
  const auto [ours, block] = without_block(name);
  const Line* line = line_of(config, ours);
  std::vector<TensorPlace> places;
  if (!line) return places;
  const bool of_heads = ours.find(".qkv.") != std::string::npos;
  for (std::string_view theirs : line->theirs) {
    if (theirs.empty()) break;
    TensorPlace place{.name = std::string(theirs)};
    if (const std::size_t at = place.name.find('#'); at != std::string::npos) place.name.replace(at, 1, block);
    if (of_heads && config.pairs_interleaved && places.size() < 2) place.order = RowOrder::interleaved;
    if (of_heads && config.names == TensorNames::hf_neox) place.order = RowOrder::by_head;
    place.transposed = config.names == TensorNames::hf_gpt2 && block != "" && ours.ends_with(".weight");
    if (config.names == TensorNames::hf_gpt_oss && ours.find("blocks.#.feed_forward.gate_up.") == 0) {
      place.transposed = ours.ends_with(".weight");  // (E, C, 2F), and of biases (E, 2F)
      place.experts = ExpertAxis::rows;
    }
    if (config.names == TensorNames::hf_gpt_oss && ours.find("blocks.#.feed_forward.down.") == 0) {
      place.transposed = true;  // (E, F, C), and of biases (E, C)
      place.experts = ours.ends_with(".weight") ? ExpertAxis::columns : ExpertAxis::none;
    }
    if (config.names == TensorNames::hf_opt && ours == "embedding.position.weight")
      place.first_row = 2;  // of which its positions are ahead of ours
    places.push_back(std::move(place));
  }
  return places;
}

bool is_no_weight(const OpenConfig& config, const std::string& tensor) {
  if (tensor == "rope_freqs.weight") return config.names == TensorNames::gguf && config.family == "llama3";
  for (const char* end : {".attn.bias", ".attn.masked_bias", ".attention.bias", ".attention.masked_bias", "inv_freq",
                          "freq_cis_real", "freq_cis_imag"})
    if (tensor.ends_with(end)) return true;
  return false;
}

std::int64_t row_in(RowOrder order, std::int64_t r, const Sizes& sizes) {
  const std::int64_t D = sizes.width_of_head(), head = r / D, d = r % D;
  if (order == RowOrder::interleaved) return head * D + (d < D / 2 ? 2 * d : 2 * (d - D / 2) + 1);
  if (order == RowOrder::by_head) {
    const std::int64_t H = sizes.heads, part = head / H;
    return (head % H * 3 + part) * D + d;
  }
  return r;
}

std::int64_t rows_of_tensor(std::size_t n, std::size_t tensors, std::int64_t rows, const Sizes& sizes) {
  if (tensors < 3) return rows / static_cast<std::int64_t>(tensors);
  return (n == 0 ? sizes.heads : sizes.key_heads()) * sizes.width_of_head();
}

}  // namespace sink
