#include "model/open/open_sizes.h"

#include "engine/check.h"
#include "model/size_settings.h"

namespace sink {
namespace {

struct Bounds {
  double Sizes::*size;
  const char* flag;
  double low, high;
};

constexpr Bounds kEpsilon{&Sizes::norm_epsilon, "norm-epsilon", 1e-12, 0.1};
constexpr Bounds kBase{&Sizes::rotary_base, "rotary-base", 1, 1e12};
constexpr Bounds kLocalBase{&Sizes::rotary_local_base, "rotary-local-base", 1, 1e12};
constexpr Bounds kPart{&Sizes::rotary_part, "rotary-part", 1e-4, 1};
constexpr Bounds kFactor{&Sizes::rotary_factor, "rotary-factor", 1, 1e6};
constexpr Bounds kScale{&Sizes::attention_scale, "attention-scale", 1e-4, 1e4};

}  // namespace

void check_open_sizes(const std::string& path, const OpenConfig& config) {
  const Sizes& sizes = config.sizes;
  auto refuse = [&](const std::string& why) { throw Error(path + ": " + why, Exit::corrupt_checkpoint); };
  auto require = [&](SettingRule rule, const SettingValue& value) {
    try {
      rule.read(plain_text(value), "`" + rule.key() + "`");
    } catch (const Error& error) { refuse(error.what()); }
  };
  auto require_within = [&](const Bounds& bounds) {
    SettingRule rule = *setting_named(size_settings(), bounds.flag);
    rule.low = bounds.low;
    rule.high = bounds.high;
    require(rule, sizes.*bounds.size);
  };
  require_within(kEpsilon);
  if (config.family != "gpt2" && config.family != "opt") require_within(kBase);
  if (config.family == "gpt_neox") require_within(kPart);
  if (config.family == "gemma3" && sizes.window > 0) require_within(kLocalBase);
  if (sizes.rotary_factor != 0) require_within(kFactor);
  if (sizes.attention_scale != 0) require_within(kScale);
  for (const Setting<Sizes>& size : size_settings()) require(size, size.value(sizes));
  const std::string error = validate(sizes, [](const std::string& flag) { return "`" + flag + "`"; });
  if (!error.empty()) refuse(error);
}

}  // namespace sink
