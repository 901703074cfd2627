// OPT.
#include "model/open/family/family_parts.h"

namespace sink::open_families {
namespace {

void read_opt(const ConfigJson& json, OpenConfig& config) {
  if (json.has("word_embed_proj_dim")) json.expect("word_embed_proj_dim", {config.sizes.width});
  config.sizes.norm_epsilon = 1e-5;
}

}  // namespace

Family opt() {
  return {.layer_norm = true,
          .rotary = false,
          .type = "opt",
          .size_keys = {{"feed-forward", "ffn_dim"}},
          .names = {.tables = {"OPT"}, .first_position = 2},
          .read = read_opt,
          .written = R"({"activation_function": "relu", "do_layer_norm_before": true, "enable_bias": true,
                         "_remove_final_layer_norm": false, "layer_norm_elementwise_affine": true})",
          .write = [](const OpenConfig& config,
                      nlohmann::ordered_json& json) { json["word_embed_proj_dim"] = config.sizes.width; },
          .vocabulary = {.special = "</s>", .begins = true}};
}

}  // namespace sink::open_families
