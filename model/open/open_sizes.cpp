// The sizes in the files of other programs: their keys, their bounds, and lists of layers.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "engine/check.h"
#include "engine/io/str_format.h"
#include "model/open/family/family_parts.h"
#include "model/size_settings.h"

namespace sink {
namespace {

using Keys = std::map<std::string, std::string>;  // by the flags of sizes

const Keys& common_keys(const OpenConfig& config) {
  static const Keys llama2c{{"layers", "n_layers"},         {"heads", "n_heads"},   {"width", "dim"},
                            {"feed-forward", "hidden_dim"}, {"context", "seq_len"}, {"vocabulary", "vocab_size"},
                            {"kv-heads", "n_kv_heads"}};
  static const Keys hugging_face{{"layers", "num_hidden_layers"},
                                 {"heads", "num_attention_heads"},
                                 {"width", "hidden_size"},
                                 {"feed-forward", "intermediate_size"},
                                 {"context", "max_position_embeddings"},
                                 {"vocabulary", "vocab_size"},
                                 {"kv-heads", "num_key_value_heads"},
                                 {"window", "sliding_window"},
                                 {"head-width", "head_dim"},
                                 {"global-every", "layer_types"},
                                 {"norm-epsilon", "rms_norm_eps"},
                                 {"attention-scale", "attention_multiplier"},
                                 {"rotary-base", "rope_theta"},
                                 {"rotary-part", "partial_rotary_factor"},
                                 {"rotary-factor", "factor"},
                                 {"rotary-local-base", "rope_local_base_freq"},
                                 {"rotary-context", "original_max_position_embeddings"},
                                 {"no-rope-every", "no_rope_layer_interval"},
                                 {"experts", "num_local_experts"},
                                 {"chosen-experts", "num_experts_per_tok"},
                                 {"shared-feed-forward", "shared_expert_intermediate_size"}};
  static const Keys gguf{{"layers", "block_count"},
                         {"heads", "attention.head_count"},
                         {"width", "embedding_length"},
                         {"feed-forward", "feed_forward_length"},
                         {"context", "context_length"},
                         {"vocabulary", "vocab_size"},
                         {"kv-heads", "attention.head_count_kv"},
                         {"window", "attention.sliding_window"},
                         {"head-width", "attention.key_length"},
                         {"global-every", "attention.sliding_window_pattern"},
                         {"norm-epsilon", "attention.layer_norm_rms_epsilon"},
                         {"attention-scale", "attention.scale"},
                         {"rotary-base", "rope.freq_base"},
                         {"rotary-part", "rope.dimension_count"},
                         {"rotary-factor", "rope.scaling.factor"},
                         {"rotary-local-base", "rope.freq_base_swa"},
                         {"rotary-context", "rope.scaling.original_context_length"},
                         {"experts", "expert_count"},
                         {"chosen-experts", "expert_used_count"},
                         {"shared-feed-forward", "expert_shared_feed_forward_length"}};
  return config.files == ModelFiles::llama2c ? llama2c : config.files == ModelFiles::gguf ? gguf : hugging_face;
}

// n where the layers n, 2 n, ... from 1, and no others, are set; 0: none is. No value for other lists.
std::optional<std::int64_t> every_nth(const std::vector<bool>& layers) {
  const auto first = std::ranges::find(layers, true);
  const std::int64_t n = first == layers.end() ? 0 : first - layers.begin() + 1;
  for (std::int64_t layer = 1; layer <= std::ssize(layers); ++layer)
    if (layers[static_cast<std::size_t>(layer - 1)] != (n > 0 && layer % n == 0)) return std::nullopt;
  return n;
}

}  // namespace

std::string key_in_file(const OpenConfig& config, const std::string& flag) {
  if (config.files == ModelFiles::hugging_face)
    for (const ReadKey& key : config.origin->keys.read)
      if (key.size == flag) return key.name;
  if (config.files == ModelFiles::gguf && config.origin->layer_norm && flag == "norm-epsilon")
    return "attention.layer_norm_epsilon";
  const Keys& keys = common_keys(config);
  if (const auto found = keys.find(flag); found != keys.end()) return found->second;
  return setting_named(size_settings(), flag)->key();
}

void set_global_layers(Sizes& sizes, const std::vector<bool>& global) {
  const std::optional<std::int64_t> every = every_nth(global);
  sizes.global_every = every.value_or(0);
  sizes.global_layers = every ? std::vector<bool>{} : global;
}

void set_rotary_layers(Sizes& sizes, const std::vector<bool>& rotates) {
  std::vector<bool> others = rotates;
  others.flip();
  const std::optional<std::int64_t> every = every_nth(others);
  sizes.no_rope_every = every.value_or(0);
  sizes.rotary_layers = every ? std::vector<bool>{} : rotates;
}

void rotate_layers_with_window(Sizes& sizes) {
  std::vector<bool> rotates;
  for (std::int64_t layer = 0; layer < std::min<std::int64_t>(sizes.layers, 4096); ++layer)
    rotates.push_back(!sizes.is_global(layer));
  set_rotary_layers(sizes, rotates);
}

void check_open_sizes(const std::string& path, const OpenConfig& config) {
  const Sizes& sizes = config.sizes;
  auto refuse = [&](const std::string& why) { throw Error(path + ": " + why, Exit::corrupt_checkpoint); };
  auto require = [&](SettingRule rule, const SettingValue& value) {
    try {
      rule.read(plain_text(value), "`" + key_in_file(config, rule.flag) + "`");
    } catch (const Error& error) { refuse(error.what()); }
  };
  auto require_within = [&](const char* flag, double low, double high) {
    const Setting<Sizes>& size = *setting_named(size_settings(), flag);
    SettingRule rule = size;
    rule.low = low;
    rule.high = high;
    require(rule, size.value(sizes));
  };
  require_within("norm-epsilon", 1e-12, 0.1);
  const Family& family = *config.origin;
  if (family.rotary) require_within("rotary-base", 1, 1e12);
  if (family.rotates_part) require_within("rotary-part", 1e-4, 1);  // 0 would be all of a head
  if (sizes.rotary_local_base != 0) require_within("rotary-local-base", 1, 1e12);
  if (sizes.rotary_factor != 0) require_within("rotary-factor", 1, 1e6);
  const bool has_yarn = family.scaling == kLinearOrYarn ? !sizes.long_rope.short_E.empty()
                                                        : family.scaling == "yarn" && sizes.rotary_factor > 0;
  if (has_yarn && sizes.rotary_base == 1)
    refuse("YaRN divides by the logarithm of the base of rotary positions, which must be above 1, got 1");
  if (sizes.attention_scale != 0) require_within("attention-scale", 1e-4, 1e4);
  const auto pairs =
      static_cast<std::size_t>(std::llround((sizes.rotary_part > 0 ? sizes.rotary_part : 1) *
                                            static_cast<double>(sizes.heads > 0 ? sizes.width_of_head() : 0) / 2));
  for (const auto* divisors : {&sizes.long_rope.short_E, &sizes.long_rope.long_E}) {
    if (divisors->empty()) continue;
    if (divisors->size() != pairs)
      refuse("LongRoPE must have a factor for each of " + std::to_string(pairs) + " pairs of a head that rotate, got " +
             std::to_string(divisors->size()));
    for (double x : *divisors)
      if (!(x >= 1e-6 && x <= 1e6))
        refuse("the factors of LongRoPE must be from 1e-6 to 1e6, got " + str_format("%g", x));
  }
  if (!(sizes.long_rope.length >= 1e-3 && sizes.long_rope.length <= 1e3))
    refuse("the attention factor of LongRoPE must be from 0.001 to 1000, got " +
           str_format("%g", sizes.long_rope.length));
  for (auto [what, scale] : {std::pair{"token embeddings", config.embedding_scale},
                             {"outputs of sublayers", config.residual_scale},
                             {"logits", config.logit_scale}})
    if (!(scale >= 1e-6 && scale <= 1e6))
      refuse("the factor of " + std::string(what) + " must be from 1e-6 to 1e6, got " + str_format("%g", scale));
  for (const Setting<Sizes>& size : size_settings()) require(size, size.value(sizes));
  auto key = [&](const std::string& flag) { return str_format("`%s`", key_in_file(config, flag).c_str()); };
  const std::string error = validate(sizes, key);
  if (!error.empty()) refuse(error);
  if (!family.rotary) return;
  const double rotated = (family.rotates_part ? sizes.rotary_part : 1) * static_cast<double>(sizes.width_of_head());
  if (std::fmod(rotated, 2) == 0) return;
  std::vector<std::string> keys{key("heads"), key(sizes.head_width > 0 ? "head-width" : "width")};
  if (family.rotates_part) keys.push_back(key("rotary-part"));
  refuse("rotary positions need an even width of a head, or of its part that rotates, got " +
         str_format("%g", rotated) + " by " + listed(keys));
}

}  // namespace sink
