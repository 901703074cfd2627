// Bounds of the sizes in the files of other programs.
#include "engine/check.h"
#include "engine/io/str_format.h"
#include "model/open/open_config.h"
#include "model/size_settings.h"

namespace sink {

void check_open_sizes(const std::string& path, const OpenConfig& config) {
  const Sizes& sizes = config.sizes;
  auto refuse = [&](const std::string& why) { throw Error(path + ": " + why, Exit::corrupt_checkpoint); };
  auto require = [&](SettingRule rule, const SettingValue& value) {
    try {
      rule.read(plain_text(value), "`" + rule.key() + "`");
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
  if (config.family != "gpt2" && config.family != "opt") require_within("rotary-base", 1, 1e12);
  const bool some_rotates =
      config.family == "gpt_neox" || config.names == TensorNames::hf_phi3 || config.names == TensorNames::gguf_phi3;
  if (some_rotates) require_within("rotary-part", 1e-4, 1);  // 0 would be all of a head
  if (config.family == "gemma3" && sizes.window > 0) require_within("rotary-local-base", 1, 1e12);
  if (sizes.rotary_factor != 0) require_within("rotary-factor", 1, 1e6);
  if (config.family == "gpt_oss" && sizes.rotary_factor > 0 && sizes.rotary_base == 1)
    refuse("YaRN divides by the logarithm of the base of rotary positions, which must be above 1, got 1");
  if (sizes.attention_scale != 0) require_within("attention-scale", 1e-4, 1e4);
  const auto pairs =
      static_cast<std::size_t>(std::llround((sizes.rotary_part > 0 ? sizes.rotary_part : 1) *
                                            static_cast<double>(sizes.heads > 0 ? sizes.width_of_head() : 0) / 2));
  for (const auto* divisors : {&sizes.long_rope.short_E, &sizes.long_rope.long_E}) {
    if (sizes.long_rope.short_E.empty() && sizes.long_rope.long_E.empty()) continue;
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
  const std::string error = validate(sizes, [](const std::string& flag) { return "`" + flag + "`"; });
  if (!error.empty()) refuse(error);
}

}  // namespace sink
