// GPT-2, and its successors GPT-Neo, with windows, and GPT-BigCode, with one head of keys and values.
#include <algorithm>

#include "engine/data/tokenizer/bpe_model.h"
#include "model/open/family/family_parts.h"

namespace sink::open_families {

Family gpt_bigcode();

namespace {

// The types of layers as `attention_types` has them, [[["global", "local"], 12]].
void read_gpt_neo(const ConfigJson& json, OpenConfig& config) {
  std::vector<std::string> types;
  Sizes& sizes = config.sizes;
  auto refuse = [&] {
    json.refuse("`attention_types` must be a list of lists of global or local and how often they come, of " +
                std::to_string(sizes.layers) + " layers in all");
  };
  const nlohmann::json& groups = json.json().at("attention_types");
  if (!groups.is_array()) refuse();
  for (const nlohmann::json& group : groups) {
    if (!group.is_array() || group.size() != 2 || !group[0].is_array() || !group[1].is_number_integer()) refuse();
    for (std::int64_t n = 0; n < group[1] && std::ssize(types) <= sizes.layers; ++n)
      for (const nlohmann::json& type : group[0]) types.push_back(type == "global" ? "global" : "local");
    for (const nlohmann::json& type : group[0])
      if (type != "global" && type != "local") refuse();
  }
  if (std::ssize(types) != sizes.layers) refuse();
  // Without array() two types in braces are an object.
  if (json.has("attention_layers")) json.expect("attention_layers", nlohmann::json::array({types}));
  sizes.attention_scale = 1;
  if (std::ranges::find(types, "local") == types.end()) return;
  json.expect_positive({"window_size"});
  sizes.window = json.integer("window_size");
  std::vector<bool> global;
  for (const std::string& type : types) global.push_back(type == "global");
  set_global_layers(sizes, global);
}

void write_gpt_neo(const OpenConfig& config, nlohmann::ordered_json& json) {
  const Sizes& sizes = config.sizes;
  json["window_size"] = sizes.window > 0 ? sizes.window : sizes.context;
  for (std::int64_t layer = 0; layer < sizes.layers; ++layer)
    json["attention_types"].push_back({{sizes.is_global(layer) ? "global" : "local"}, 1});
}

void read_gpt_bigcode(const ConfigJson& json, OpenConfig& config) {
  static const TensorNames one_key = [] {
    TensorNames names = gpt_bigcode().names;
    names.heads_by_group = false;
    return names;
  }();
  if (json.flag("multi_query")) config.names = &one_key;
  config.sizes.kv_heads = json.flag("multi_query") ? 1 : config.sizes.heads;
  json.expect("num_key_value_heads", {config.sizes.kv_heads});
}

}  // namespace

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

Family gpt_neo() {
  Family family = gpt2();
  family.type = "gpt_neo";
  family.keys = {
      .like_llama = false,
      .classes = {"GPTNeoForCausalLM", "GPTNeoModel"},
      .defaults = R"({"hidden_size": 2048, "max_position_embeddings": 2048, "vocab_size": 50257})",
      .read = {{"num_layers", "24", "transformer blocks", "layers"},
               {"num_heads", "16", "attention heads", "heads"},
               {"intermediate_size", "null", "elements inside the feed-forward block; null: 4 hidden_size"},
               {"layer_norm_epsilon", "1e-05", "of norms", "norm-epsilon"},
               {"window_size", "256", "keys that a token sees in layers of type local"},
               {"attention_types", R"([[["global", "local"], 12]])", "types of layers, and how often they come"},
               {"attention_layers", "", "transformers writes it once more; must be what `attention_types` says"}},
      .fixed = {{"activation_function", R"("gelu_new", "gelu_pytorch_tanh")", "of the feed-forward block"},
                {"tie_word_embeddings", "true"}},
      .ignored = {{"training only", {"attention_dropout", "embed_dropout", "resid_dropout", "classifier_dropout"}},
                  {"a head for other tasks, whose tensors would be refused",
                   {"summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels",
                    "summary_first_dropout"}}}};
  family.names.transposed = false;
  for (auto& [ours, theirs] : family.names.own) {
    if (ours == "blocks.#.attention.qkv")
      theirs = {"h.#.attn.attention.q_proj", "h.#.attn.attention.k_proj", "h.#.attn.attention.v_proj"};
    if (ours == "blocks.#.attention.out") theirs = {"h.#.attn.attention.out_proj"};
  }
  family.names.own.insert(family.names.own.begin(), {"blocks.#.attention.qkv.bias", {}});
  family.read = read_gpt_neo;
  family.writes = [](const OpenConfig& config) { return config.sizes.attention_scale == 1; };
  family.write = write_gpt_neo;
  family.gguf = {};
  return family;
}

Family gpt_bigcode() {
  Family family = gpt2();
  family.type = "gpt_bigcode";
  family.keys.classes = {"GPTBigCodeForCausalLM", "GPTBigCodeModel"};
  family.keys.read.push_back({"multi_query", "true", "one head of keys and values; false: as many as attention heads"});
  family.keys.read.push_back(
      {"num_key_value_heads", "", "the class does not read it; must be what `multi_query` says"});
  family.keys.fixed = {{"activation_function", R"("gelu_pytorch_tanh", "gelu_new")", "of the feed-forward block"},
                       {"scale_attn_weights", "true", "scores are divided by the root of a head's elements"},
                       {"tie_word_embeddings", "true"}};
  family.keys.ignored.front() = {"rounding only", {"attention_softmax_in_fp32", "scale_attention_softmax_in_fp32"}};
  family.keys.ignored.push_back({"of the server of the model; the class does not read it",
                                 {"inference_runner", "max_batch_size", "max_sequence_length", "pad_key_length",
                                  "pre_allocate_kv_cache", "validate_runner_input"}});
  family.names.transposed = false;
  family.names.heads_by_group = true;
  family.read = read_gpt_bigcode;
  family.writes = [](const OpenConfig& config) { return config.sizes.heads > 1 && config.sizes.key_heads() == 1; };
  family.write = nullptr;
  family.gguf.architecture = "starcoder";
  return family;
}

}  // namespace sink::open_families
