// OLMo 2: LLaMA with norms after sublayers instead of before them, and norms of queries and keys over all heads.
// OLMo 3 follows it.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

constexpr double kBase = 500000;

// The class takes the base of layers with a window from `rope_parameters` alone.
void read_olmo3(const ConfigJson& json, OpenConfig& config) {
  take_layer_types(json, config, [](std::int64_t layer) { return (layer + 1) % 4 == 0; });
  take_ropes_by_layer(json, json.real("rope_theta"), kBase, {"default", "linear", "yarn"}, config);
}

// llama.cpp does not scale the rotations of layers with a window.
void read_olmo3_gguf(const GgufKeys& keys, const WeightFile&, OpenConfig& config) {
  keys.expect_positive({"attention.sliding_window"});
  config.sizes.rotary_local_base = config.sizes.rotary_base;
}

void write_olmo3(const OpenConfig& config, nlohmann::ordered_json& json) {
  write_layer_types(config, json);
  const Sizes& sizes = config.sizes;
  nlohmann::ordered_json full = json.value("rope_scaling", nlohmann::ordered_json{{"rope_type", "default"}});
  full["rope_theta"] = sizes.rotary_base;
  json["rope_parameters"] = {
      {"full_attention", full},
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", sizes.rotary_local_base}}}};
  json.erase("rope_scaling");
}

}  // namespace

Family olmo2() {
  return {.type = "olmo2",
          .keys = {.classes = {"Olmo2ForCausalLM", "Olmo2Model"},
                   .defaults = R"({"vocab_size": 50304, "rms_norm_eps": 1e-05})",
                   .read = {{"head_dim", "", "elements of a head; missing: hidden_size / num_attention_heads"}}},
          .rope_types = {"default", "linear"},
          .names = {.tables = {"LLaMA with norms after sublayers", "LLaMA"}},
          .tokenizer_class = "GPTNeoXTokenizer",
          .gguf = {.architecture = "olmo2"}};
}

// OLMo 3: a window in most layers, whose rotary positions are never scaled.
Family olmo3() {
  Family family = olmo2();
  family.scaling = kLinearOrYarn;
  family.type = "olmo3";
  family.keys.classes = {"Olmo3ForCausalLM", "Olmo3Model"};
  for (const ReadKey& key :
       {ReadKey{"sliding_window", "4096", "keys that a token sees in layers with a window"},
        ReadKey{"layer_types", "null",
                "full_attention or sliding_attention, one for each layer; null: every fourth is full"},
        ReadKey{"rope_parameters", "null", "rotary positions of the two types of layers, see below"},
        ReadKey{"rope_scaling", "null", "rotary positions of layers that see all keys; only without `rope_parameters`"},
        ReadKey{"rope_theta", "500000", "base of rotary positions of layers that see all keys, where they have none"}})
    family.keys.read.push_back(key);
  family.rope_types = {};
  family.read = read_olmo3;
  family.writes = [](const OpenConfig& config) { return config.sizes.rotary_local_base > 0; };
  family.write = write_olmo3;
  family.gguf.window = true;
  family.gguf.global_every = 4;
  family.gguf.is_one = [](const GgufKeys& keys) { return keys.has("attention.sliding_window"); };
  family.gguf.read = read_olmo3_gguf;
  return family;
}

}  // namespace sink::open_families
