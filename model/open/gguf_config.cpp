// The metadata of a GGUF file: the meaning of its keys that several families (architectures of llama.cpp) have.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <optional>

#include "engine/io/printable.h"
#include "engine/io/str_format.h"
#include "engine/ops/rotary/rotary.h"
#include "model/open/family/family_parts.h"
#include "model/position/scaled_inv_freq.h"

namespace sink {
namespace {

const Family& family_of(const GgufKeys& keys) {
  const Family* found = nullptr;
  std::vector<std::string> known;
  for (const Family& family : families()) {
    const GgufFamily& gguf = family.gguf;
    if (gguf.architecture == keys.architecture() && (!gguf.is_one || gguf.is_one(keys))) found = &family;
    if (!gguf.architecture.empty() && !gguf.is_one) known.push_back(gguf.architecture);
  }
  if (!found) keys.refuse(not_computed(keys.architecture(), known));
  return *found;
}

// The architectures of the families for which this is true, for messages.
template <bool GgufFamily::*member>
std::string architectures_with() {
  return families_with([](const Family& family) { return family.gguf.*member ? family.gguf.architecture : ""; });
}

void require_known(const GgufKeys& keys, const WeightFile& file, const Family& family) {
  if (file.find(kLongRopeFactors) && !family.gguf.long_rope)
    keys.refuse("rotary positions of type `longrope` (`" + std::string(kLongRopeFactors) + "`) are only computed for " +
                architectures_with<&GgufFamily::long_rope>());
  keys.expect_only({"block_count", "context_length", "embedding_length", "feed_forward_length", "vocab_size",
                    "attention.head_count", "attention.head_count_kv", "attention.key_length", "attention.value_length",
                    "attention.layer_norm_epsilon", "attention.layer_norm_rms_epsilon", "attention.sliding_window",
                    "attention.sliding_window_pattern", "attention.causal", "rope.dimension_count", "rope.freq_base",
                    "rope.freq_base_swa", "rope.scaling.type", "rope.scaling.factor", "rope.scale_linear",
                    "use_parallel_residual", "expert_count", "expert_used_count", "expert_feed_forward_length",
                    // Of YaRN: read where it is computed, and of no effect in files of other types.
                    "rope.scaling.original_context_length", "rope.scaling.yarn_ext_factor",
                    "rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow",
                    // These cannot change results: a note of the converter, a key of scalings that are refused, and how
                    // programs for embeddings of whole texts join the vectors of tokens.
                    "tensor_data_layout", "rope.scaling.finetuned", "pooling_type"},
                   family.gguf.keys);
  keys.expect_positive({"attention.head_count_kv", "attention.key_length", "attention.value_length",
                        "rope.dimension_count", "rope.freq_base", "rope.freq_base_swa", "rope.scaling.factor",
                        "rope.scale_linear", "attention.scale", "expert_shared_feed_forward_length", "embedding_scale",
                        "residual_scale", "logit_scale", "attention.layer_norm_epsilon",
                        "attention.layer_norm_rms_epsilon", "rope.scaling.original_context_length"});
  const std::string& name = keys.architecture();
  const double base = keys.real("rope.freq_base", kRotaryBase), swa_base = keys.real("rope.freq_base_swa", base);
  if (swa_base != base && !family.gguf.local_base)
    keys.refuse("`" + name + ".rope.freq_base_swa` other than `rope.freq_base` is only computed for " +
                architectures_with<&GgufFamily::local_base>() + "; expected " + str_format("%g", base) + ", got " +
                str_format("%g", swa_base));
  if (!keys.flag("attention.causal", true)) keys.refuse("attention to later tokens is not computed here");
  if (!family.experts && keys.integer("expert_count", 0) != 0)
    keys.refuse("a mixture of experts is only computed here for " + families_with([](const Family& one) {
                  const GgufFamily& gguf = one.gguf;
                  return one.experts ? gguf.architecture + (gguf.is_one ? " (" + one.name + ")" : "") : "";
                }));
}

// llama.cpp ignores the windows of other architectures. It also ignores that of `llama`, which is Mistral's.
void refuse_unread_window(const GgufKeys& keys, const GgufFamily& gguf) {
  const std::string& name = keys.architecture();
  if (!gguf.window && keys.integer("attention.sliding_window", 0) != 0)
    keys.refuse("a window is only computed for " + architectures_with<&GgufFamily::window>() + "; `" + name +
                ".attention.sliding_window` is " + std::to_string(keys.integer("attention.sliding_window")));
  if (gguf.global_every == 0 && keys.has("attention.sliding_window_pattern"))
    keys.refuse("`" + name + ".attention.sliding_window_pattern` is only computed for " +
                families_with(
                    [](const Family& family) { return family.gguf.global_every > 0 ? family.gguf.architecture : ""; }));
}

// As `attention.sliding_window_pattern` says, a list or the n of every n-th layer without the window; without it every
// `otherwise`-th.
void take_pattern(const GgufKeys& keys, std::int64_t otherwise, Sizes& sizes) {
  if (sizes.window == 0) return;
  const char* key = "attention.sliding_window_pattern";
  const MetadataValue* windowed = keys.find(key);
  if (!windowed || windowed->type != MetadataType::array) {
    keys.expect_positive({key});
    sizes.global_every = keys.integer(key, otherwise);
    return;
  }
  if (static_cast<std::int64_t>(windowed->size()) != sizes.layers)
    keys.refuse("`" + keys.architecture() + "." + key + "` must have a value for each of " +
                std::to_string(sizes.layers) + " layers, got " + std::to_string(windowed->size()));
  std::vector<bool> global;
  windowed->for_each([&](const MetadataValue& one) {
    global.push_back(one.type == MetadataType::boolean ? !one.boolean() : one.integer() == 0);
  });
  if (std::ranges::find(global, false) == global.end()) sizes.window = 0;
  set_global_layers(sizes, global);
}

// The values of YaRN that are computed: llama.cpp's defaults, for which the file may have keys.
void expect_plain_yarn(const GgufKeys& keys) {
  for (auto [key, value] : {std::pair{"rope.scaling.yarn_beta_fast", 32.0},
                            {"rope.scaling.yarn_beta_slow", 1.0},
                            {"rope.scaling.yarn_ext_factor", 1.0}})
    if (keys.real(key, value) != value)
      keys.refuse("`" + keys.architecture() + "." + key + "` must be " + str_format("%g", value) + ", got " +
                  str_format("%g", keys.real(key)) + ": other values of YaRN are not computed here");
}

void take_rotations(const GgufKeys& keys, const Family& family, Sizes& sizes) {
  sizes.rotary_base = keys.real("rope.freq_base", 10000);
  // llama.cpp's default is linear, which is none without a factor. `rope.scale_linear` is the older key of the factor.
  const bool has_factor = keys.has("rope.scaling.factor") || keys.has("rope.scale_linear");
  const std::string scaling = keys.text("rope.scaling.type", has_factor ? "linear" : "none");
  if (scaling == "none") return;
  if (scaling == "longrope" && family.gguf.long_rope) {
    if (const double factor = keys.real("rope.scaling.factor", 1); factor != 1)
      keys.refuse("`" + keys.architecture() + ".rope.scaling.factor` must be 1 with longrope, got " +
                  str_format("%g", factor));
    return;
  }
  const bool or_yarn = family.scaling == kLinearOrYarn;
  if (scaling == "yarn" && or_yarn) {
    expect_plain_yarn(keys);
    sizes.long_rope = yarn_divisors(sizes.rotary_base, keys.real("rope.scaling.factor"),
                                    keys.integer("rope.scaling.original_context_length"), sizes.width_of_head());
    return;
  }
  if (scaling != (or_yarn ? "linear" : family.scaling))
    keys.refuse("rotary positions of scaling " + in_quotes(scaling) + " are not computed here; " + family.scaling +
                " is");
  sizes.rotary_factor = keys.real("rope.scaling.factor", keys.real("rope.scale_linear", 1));
  if (scaling != "yarn") return;
  expect_plain_yarn(keys);
  sizes.rotary_context = keys.integer("rope.scaling.original_context_length");
}

void take_experts(const GgufKeys& keys, const GgufFamily& gguf, Sizes& sizes) {
  sizes.experts = keys.integer("expert_count");
  sizes.chosen_experts = keys.integer("expert_used_count");
  const std::string architecture = keys.architecture();
  if (sizes.experts < 1 || sizes.chosen_experts < 1)
    keys.refuse("`" + architecture + ".expert_count` and `" + architecture + ".expert_used_count` must be at least 1");
  if (gguf.experts_have_width)  // llama.cpp's default is the width of as many experts as a token goes through
    sizes.feed_forward = keys.integer("expert_feed_forward_length", sizes.feed_forward / sizes.chosen_experts);
  else if (keys.integer("expert_feed_forward_length", sizes.feed_forward) != sizes.feed_forward)
    keys.refuse("all layers have experts here: `" + architecture +
                ".expert_feed_forward_length` must be `feed_forward_length`, " + std::to_string(sizes.feed_forward) +
                ", got " + std::to_string(keys.integer("expert_feed_forward_length")));
}

constexpr double kClose = 1e-5;                   // relative error of a divisor in f32
constexpr double kLongestFirstContext = 1 << 24;  // model/size_settings.cpp

// The context in which a pair makes this many turns.
double context_of_turns(double turns, double turn) { return turns * 2 * std::numbers::pi / turn; }

// The first context. A pair between slow and fast determines it; otherwise fast pairs give a lower bound, slow pairs an
// upper bound.
double first_context(const std::vector<double>& divisors_E, const std::vector<double>& inv_freq_E, double factor) {
  double least = 0, most = kLongestFirstContext;
  for (std::size_t e = 0; e < inv_freq_E.size(); ++e) {
    const double d = divisors_E[e];
    if (d > 1 + kClose && d < factor * (1 - kClose)) {
      const double kept = (1 / d - 1 / factor) / (1 - 1 / factor);
      return std::round(context_of_turns(kLlama3Slow + kept * (kLlama3Fast - kLlama3Slow), inv_freq_E[e]));
    }
    if (d <= 1 + kClose)
      least = std::max(least, std::ceil(context_of_turns(kLlama3Fast, inv_freq_E[e])));
    else
      most = std::min(most, std::floor(context_of_turns(kLlama3Slow, inv_freq_E[e])));
  }
  return least > 0 ? least : most;
}

// The scaling of LLaMA 3 whose llama3_inv_freq() divides the frequency of each pair e by divisors_E[e], to 1e-5; none
// if there is no such scaling. Several contexts can match; returns one. `sizes`: the width of a head and the base.
struct Llama3RopeScaling {
  double factor;
  std::int64_t first_context;
};

std::optional<Llama3RopeScaling> llama3_rope_scaling(const std::vector<double>& divisors_E, const Sizes& sizes) {
  const std::vector<double> inv_freq_E = rotary_inv_freq(sizes.width_of_head(), sizes.rotary_base);
  if (divisors_E.empty() || divisors_E.size() != inv_freq_E.size()) return std::nullopt;
  const double factor = divisors_E.back();  // that of the lowest frequency
  if (!(factor >= 1)) return std::nullopt;
  const double context = factor > 1 ? first_context(divisors_E, inv_freq_E, factor) : 1;
  if (!(context >= 1 && context <= kLongestFirstContext)) return std::nullopt;
  const Llama3RopeScaling scaling{factor, static_cast<std::int64_t>(context)};
  const std::vector<double> slowed_E = llama3_inv_freq(inv_freq_E, scaling.factor, scaling.first_context);
  for (std::size_t e = 0; e < inv_freq_E.size(); ++e)
    if (!(std::abs(slowed_E[e] * divisors_E[e] / inv_freq_E[e] - 1) <= kClose)) return std::nullopt;
  return scaling;
}

}  // namespace

std::vector<double> divisors_in(const GgufKeys& keys, const StoredTensor& divisors_E, std::int64_t width) {
  if (divisors_E.type != StoredType::F32 || divisors_E.shape.rank() != 1 || 2 * divisors_E.shape[0] != width)
    keys.refuse("`" + divisors_E.name + "` must be F32, a number for every two of a head's " + std::to_string(width) +
                ", got " + layout_of(divisors_E.type).name + " " + divisors_E.shape.str());
  std::vector<float> numbers(static_cast<std::size_t>(divisors_E.shape[0]));
  std::memcpy(numbers.data(), divisors_E.data, divisors_E.bytes);
  return {numbers.begin(), numbers.end()};
}

namespace {

// Finds the scaling of LLaMA 3.1 and later from the divisors of frequencies, which the file stores instead.
void take_divisors(const GgufKeys& keys, const StoredTensor& divisors_E, OpenConfig& config) {
  Sizes& sizes = config.sizes;
  const std::optional<Llama3RopeScaling> scaling =
      llama3_rope_scaling(divisors_in(keys, divisors_E, sizes.width_of_head()), sizes);
  if (!scaling || sizes.rotary_factor > 0)
    keys.refuse("`rope_freqs.weight` has other divisors of rotations than LLaMA 3's, which are not computed here");
  config.family = config.origin->with_llama3_rope;
  config.other_tensors = {divisors_E.name};
  sizes.rotary_factor = scaling->factor;
  sizes.rotary_context = scaling->first_context;
}

}  // namespace

OpenConfig read_gguf_config(const WeightFile& file) {
  const GgufKeys keys(file);
  const Family& family = family_of(keys);
  OpenConfig config{
      .family = family.ablation, .origin = &family, .files = ModelFiles::gguf, .names = &family.gguf.names};
  require_known(keys, file, family);
  config.sizes = {.layers = keys.integer("block_count"),
                  .heads = keys.integer("attention.head_count"),
                  .width = keys.integer("embedding_length"),
                  .feed_forward = keys.integer("feed_forward_length"),
                  .context = std::min(keys.integer("context_length"), kLongestContext),
                  .vocabulary = file.tensor("token_embd.weight").shape[0],
                  .kv_heads = keys.integer("attention.head_count_kv", keys.integer("attention.head_count")),
                  .head_width = keys.integer("attention.key_length", 0),
                  .norm_epsilon = keys.real(key_in_file(config, "norm-epsilon").c_str())};
  Sizes& sizes = config.sizes;
  if (sizes.heads <= 0 || sizes.width <= 0)
    keys.refuse("a model of " + std::to_string(sizes.heads) + " heads and width " + std::to_string(sizes.width));
  if (keys.integer("vocab_size", sizes.vocabulary) != sizes.vocabulary)
    keys.refuse("`vocab_size` is " + std::to_string(keys.integer("vocab_size")) + ", and token_embd.weight has " +
                std::to_string(sizes.vocabulary) + " rows");
  if (keys.integer("attention.value_length", sizes.width_of_head()) != sizes.width_of_head())
    keys.refuse("values are as wide as keys here (" + std::to_string(sizes.width_of_head()) + "), got " +
                std::to_string(keys.integer("attention.value_length")));
  const std::int64_t turning = keys.integer("rope.dimension_count", sizes.width_of_head());
  if (!family.rotates_part && turning != sizes.width_of_head())
    keys.refuse("rotations of some of a head's " + std::to_string(sizes.width_of_head()) +
                " elements is only supported for " +
                families_with([](const Family& one) { return one.rotates_part ? one.gguf.architecture : ""; }) +
                ", got " + std::to_string(turning));
  if (!family.rotary) return config;
  take_rotations(keys, family, sizes);
  if (family.rotates_part)
    sizes.rotary_part = static_cast<double>(turning) / static_cast<double>(sizes.width_of_head());
  if (const StoredTensor* divisors_E = file.find("rope_freqs.weight"); divisors_E && !family.with_llama3_rope.empty())
    take_divisors(keys, *divisors_E, config);
  sizes.window = std::min(keys.integer("attention.sliding_window", 0), kLongestContext);
  if (family.experts) take_experts(keys, family.gguf, sizes);
  if (family.gguf.read) family.gguf.read(keys, file, config);
  refuse_unread_window(keys, family.gguf);
  if (family.gguf.global_every > 0) take_pattern(keys, family.gguf.global_every, sizes);
  if (family.gguf.rotates_with_window && sizes.window > 0) rotate_layers_with_window(sizes);
  if (family.scaled_embedding) config.embedding_scale = std::sqrt(static_cast<double>(sizes.width));
  return config;
}

}  // namespace sink
