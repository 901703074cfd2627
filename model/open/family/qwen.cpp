// Qwen 2; Qwen 3, which norms queries and keys; and their mixtures of experts, of which that of Qwen 2 has a shared
// one.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

void read_qwen(const ConfigJson& given, OpenConfig& config) {
  const bool used = given.flag("use_sliding_window");
  const ConfigJson json = used ? given : given.with_null("sliding_window");
  const std::int64_t first = json.integer("max_window_layers");
  const bool has_window = json.has("sliding_window");
  take_layer_types(json, config, [&](std::int64_t layer) { return !has_window || layer < first; });
}

void write_qwen(const OpenConfig& config, nlohmann::ordered_json& json) {
  json["use_sliding_window"] = config.sizes.window > 0;
  json["max_window_layers"] = 0;
  write_window(config, json);
  write_layer_types(config, json);
}

// Its class has no window by the layer.
void read_qwen3_moe(const ConfigJson& json, OpenConfig& config) {
  if (json.flag("use_sliding_window")) take_window(json, config);
  json.expect("norm_topk_prob", {true});
}

void write_qwen3_moe(const OpenConfig& config, nlohmann::ordered_json& json) {
  json["norm_topk_prob"] = true;
  json["use_sliding_window"] = config.sizes.window > 0;
  write_window(config, json);
}

// Without `layer_types`, every second of the first layers has the window.
void read_qwen2_moe(const ConfigJson& given, OpenConfig& config) {
  const bool used = given.flag("use_sliding_window");
  const ConfigJson json = used ? given : given.with_null("sliding_window");
  if (used && !json.has("sliding_window"))
    json.refuse("`sliding_window` is null with `use_sliding_window`, which transformers does not compute");
  const std::int64_t end = json.integer("max_window_layers");
  take_layer_types(json, config, [&](std::int64_t layer) { return !used || layer % 2 == 1 || layer >= end; });
  json.expect_positive({"shared_expert_intermediate_size"});
  config.sizes.shared_feed_forward = json.integer("shared_expert_intermediate_size");
}

}  // namespace

Family qwen2() {
  return {
      .type = "qwen2",
      .keys =
          {.classes = {"Qwen2ForCausalLM", "Qwen2Model"},
           .defaults = R"({"intermediate_size": 22016, "max_position_embeddings": 32768, "vocab_size": 151936})",
           .read = {{"num_key_value_heads", "32"},
                    {"use_sliding_window", "false", "false: no layer has a window"},
                    {"sliding_window", "4096", "keys that a token sees in layers with a window; null: all before it"},
                    {"max_window_layers", "28",
                     "layers before this one see all keys, the others have the window, where `layer_types` is missing"},
                    {"layer_types", "null",
                     "full_attention or sliding_attention, one for each layer; null: made from the keys above"}},
           .fixed = {{"use_mrope", "false", "positions are those of text"}},
           .ignored = {{"of vLLM, for texts of a million tokens; the class does not read it",
                        {"dual_chunk_attention_config"}},
                       {"queries, keys and values have biases whatever it says; the class does not read it",
                        {"attention_bias"}}}},
      .rope_types = {"default", "linear"},
      .read = read_qwen,
      .write = write_qwen,
      .gguf = {.architecture = "qwen2"}};
}

Family qwen3() {
  Family family = qwen2();
  family.type = family.gguf.architecture = "qwen3";
  family.keys.classes = {"Qwen3ForCausalLM", "Qwen3Model"};
  family.keys.read.push_back({"head_dim", "128", "elements of a head"});
  family.keys.fixed = {};
  family.keys.ignored = {};
  return family;
}

Family qwen2_moe() {
  return {
      .experts = true,
      .shared_expert = true,
      .type = "qwen2_moe",
      .keys = {.without = {"intermediate_size", "attention_bias"},
               .classes = {"Qwen2MoeForCausalLM", "Qwen2MoeModel"},
               .defaults = R"({"num_hidden_layers": 24, "num_attention_heads": 16, "hidden_size": 2048,
                           "max_position_embeddings": 32768, "vocab_size": 151936})",
               .read = {{"num_key_value_heads", "16", "heads of keys and values"},
                        {"moe_intermediate_size", "1408", "elements inside an expert", "feed-forward"},
                        {"shared_expert_intermediate_size", "5632", "elements inside the expert of all tokens"},
                        {"num_experts", "60", "experts of a feed-forward block", "experts"},
                        {"num_experts_per_tok", "4", "experts that a token goes through"},
                        {"use_sliding_window", "false", "false: no layer has a window"},
                        {"sliding_window", "4096",
                         "keys that a token sees in layers with a window; null: there is none"},
                        {"max_window_layers", "28",
                         "of the layers before this one, every second has the window, where `layer_types` is missing"},
                        {"layer_types", "null",
                         "full_attention or sliding_attention, one for each layer; null: made from the keys above"}},
               .fixed = {{"norm_topk_prob", "false", "weights of the chosen experts are not divided by their sum"},
                         {"qkv_bias", "true", "of queries, keys and values"},
                         {"decoder_sparse_step", "1", "every layer has experts"},
                         {"mlp_only_layers", "[], null", "every layer has experts"}},
               .ignored = {{"of layers without experts", {"intermediate_size"}},
                           {"how transformers runs a model or returns its results", {"output_router_logits"}},
                           {"training only", {"router_aux_loss_coef"}}}},
      .rope_types = {"default", "linear"},
      .names = kExpertsApart,
      .read = read_qwen2_moe,
      .write = write_qwen,
      .gguf = {.architecture = "qwen2moe",
               .keys = {"expert_shared_feed_forward_length"},
               .names = {.tables = {"GGUF of experts", "GGUF"}, .experts = ExpertTensors::stacked},
               .experts_have_width = true,
               .read = [](const GgufKeys& keys, const WeightFile&, OpenConfig& config) {
                 config.sizes.shared_feed_forward =
                     keys.integer("expert_shared_feed_forward_length", keys.integer("feed_forward_length"));
               }}};
}

Family qwen3_moe() {
  return {
      .experts = true,
      .type = "qwen3_moe",
      .keys = {.without = {"intermediate_size"},
               .classes = {"Qwen3MoeForCausalLM", "Qwen3MoeModel"},
               .defaults = R"({"num_hidden_layers": 24, "hidden_size": 2048, "max_position_embeddings": 32768,
                           "vocab_size": 151936})",
               .read = {{"num_key_value_heads", "4", "heads of keys and values"},
                        {"head_dim", "", "elements of a head; missing: hidden_size / num_attention_heads"},
                        {"moe_intermediate_size", "768", "elements inside an expert", "feed-forward"},
                        {"num_experts", "", "experts of a feed-forward block; missing: `num_local_experts`", "experts"},
                        {"num_local_experts", "", "the same, as transformers 5 calls it; missing: 128"},
                        {"num_experts_per_tok", "8", "experts that a token goes through"},
                        {"norm_topk_prob", "false", "must be true: weights of the chosen experts sum to one"},
                        {"use_sliding_window", "false", "false: there is no window"},
                        {"sliding_window", "4096", "keys that a token sees in every layer; null: all before it"}},
               .fixed = {{"decoder_sparse_step", "1", "every layer has experts"},
                         {"mlp_only_layers", "[], null", "every layer has experts"}},
               .ignored = {{"of layers without experts", {"intermediate_size"}},
                           {"the class does not read it", {"max_window_layers"}},
                           {"how transformers runs a model or returns its results", {"output_router_logits"}},
                           {"training only", {"router_aux_loss_coef"}}}},
      .rope_types = {"default", "linear"},
      .names = kExpertsApart,
      .read = read_qwen3_moe,
      .write = write_qwen3_moe,
      .gguf = {.architecture = "qwen3moe",
               .names = {.tables = {"GGUF of experts", "GGUF"}, .experts = ExpertTensors::stacked},
               .experts_have_width = true}};
}

}  // namespace sink::open_families
