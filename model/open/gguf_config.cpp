// The metadata of a GGUF file: the meaning of its keys, family by family (the architectures of llama.cpp).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <numbers>
#include <optional>
#include <string_view>

#include "engine/check.h"
#include "engine/io/printable.h"
#include "engine/io/str_format.h"
#include "engine/ops/rotary/rotary.h"
#include "model/open/gguf_keys.h"
#include "model/open/open_config.h"
#include "model/position/scaled_inv_freq.h"

namespace sink {
namespace {

constexpr const char *kShortFactors = "rope_factors_short.weight", *kLongFactors = "rope_factors_long.weight";
constexpr std::int64_t kGemmaGlobalEvery = 6;    // if the file has no value
constexpr std::int64_t kGemma2Window = 4096;     // if the file has no value
constexpr std::int64_t kSmollm3NoRopeEvery = 4;  // for which GGUF has no key

// The architectures of llama.cpp and the family of each. Files of `llama` with divisors are of the family llama3, those
// with experts of mixtral.
constexpr std::pair<const char*, const char*> kArchitectures[] = {
    {"gpt2", "gpt2"},     {"gptneox", "gpt_neox"}, {"llama", "llama"},   {"qwen2", "qwen2"}, {"qwen3", "qwen3"},
    {"gemma3", "gemma3"}, {"gpt-oss", "gpt_oss"},  {"granite", "llama"}, {"phi3", "llama"},  {"smollm3", "llama"},
    {"olmo2", "olmo2"},   {"falcon", "falcon"},    {"gemma2", "gemma2"}};

std::string family_of(const GgufKeys& keys) {
  std::vector<std::string> known;
  for (const auto& [architecture, family] : kArchitectures) {
    if (keys.architecture() == architecture) return family;
    known.emplace_back(architecture);
  }
  keys.refuse(not_computed(keys.architecture(), known));
}

std::vector<std::string_view> own_keys(const std::string& architecture) {
  if (architecture == "granite") return {"attention.scale", "embedding_scale", "residual_scale", "logit_scale"};
  if (architecture == "phi3") return {"rope.scaling.attn_factor"};
  if (architecture == "gemma2") return {"attn_logit_softcapping", "final_logit_softcapping"};
  return {};
}

void require_known(const GgufKeys& keys, const WeightFile& file) {
  if (file.find(kLongFactors) && keys.architecture() != "phi3")
    keys.refuse("rotary positions of type `longrope` (`" + std::string(kLongFactors) + "`) are only computed for phi3");
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
                   own_keys(keys.architecture()));
  keys.expect_positive({"attention.head_count_kv", "attention.key_length", "attention.value_length",
                        "rope.dimension_count", "rope.freq_base", "rope.freq_base_swa", "rope.scaling.factor",
                        "rope.scale_linear", "attention.scale", "embedding_scale", "residual_scale", "logit_scale",
                        "attention.layer_norm_epsilon", "attention.layer_norm_rms_epsilon",
                        "rope.scaling.original_context_length"});
  const std::string& name = keys.architecture();
  const double base = keys.real("rope.freq_base", kRotaryBase), swa_base = keys.real("rope.freq_base_swa", base);
  if (swa_base != base && name != "gemma2" && name != "gemma3")
    keys.refuse("`" + name +
                ".rope.freq_base_swa` other than `rope.freq_base` is only computed for gemma2 and gemma3; " +
                "expected " + str_format("%g", base) + ", got " + str_format("%g", swa_base));
  if (!keys.flag("attention.causal", true)) keys.refuse("attention to later tokens is not computed here");
  if (name != "gpt-oss" && name != "llama" && keys.integer("expert_count", 0) != 0)
    keys.refuse("a mixture of experts is only computed here for gpt-oss and llama (Mixtral)");
}

// llama.cpp ignores the windows of other architectures. It also ignores that of `llama`, which is Mistral's.
void take_gguf_window(const GgufKeys& keys, Sizes& sizes) {
  const std::string& name = keys.architecture();
  const bool gemma = name.starts_with("gemma");
  if (!gemma && name != "llama" && name != "phi3" && name != "gpt-oss" &&
      keys.integer("attention.sliding_window", 0) != 0)
    keys.refuse("a window is only computed for llama, phi3, gpt-oss, gemma2 and gemma3; `" + name +
                ".attention.sliding_window` is " + std::to_string(keys.integer("attention.sliding_window")));
  if (!gemma && name != "gpt-oss" && keys.has("attention.sliding_window_pattern"))
    keys.refuse("`" + name + ".attention.sliding_window_pattern` is only computed for gpt-oss, gemma2 and gemma3");
  sizes.window = std::min(keys.integer("attention.sliding_window", 0), kLongestContext);
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

void take_rotations(const GgufKeys& keys, Sizes& sizes) {
  sizes.rotary_base = keys.real("rope.freq_base", 10000);
  // llama.cpp's default is linear, which is none without a factor. `rope.scale_linear` is the older key of the factor.
  const bool has_factor = keys.has("rope.scaling.factor") || keys.has("rope.scale_linear");
  const std::string scaling = keys.text("rope.scaling.type", has_factor ? "linear" : "none");
  const std::string computed = keys.architecture() == "gpt-oss" ? "yarn" : "linear";
  if (scaling == "none") return;
  if (scaling == "longrope" && keys.architecture() == "phi3") {
    if (const double factor = keys.real("rope.scaling.factor", 1); factor != 1)
      keys.refuse("`phi3.rope.scaling.factor` must be 1 with longrope, got " + str_format("%g", factor));
    return;
  }
  if (scaling != computed)
    keys.refuse("rotary positions of scaling " + in_quotes(scaling) + " are not computed here; " + computed + " is");
  sizes.rotary_factor = keys.real("rope.scaling.factor", keys.real("rope.scale_linear", 1));
  if (scaling != "yarn") return;
  expect_plain_yarn(keys);
  sizes.rotary_context = keys.integer("rope.scaling.original_context_length");
}

void take_experts(const GgufKeys& keys, Sizes& sizes) {
  sizes.experts = keys.integer("expert_count");
  sizes.chosen_experts = keys.integer("expert_used_count");
  const std::string architecture = keys.architecture();
  if (sizes.experts < 1 || sizes.chosen_experts < 1)
    keys.refuse("`" + architecture + ".expert_count` and `" + architecture + ".expert_used_count` must be at least 1");
  if (keys.integer("expert_feed_forward_length", sizes.feed_forward) != sizes.feed_forward)
    keys.refuse("all layers have experts here: `" + architecture +
                ".expert_feed_forward_length` must be `feed_forward_length`, " + std::to_string(sizes.feed_forward) +
                ", got " + std::to_string(keys.integer("expert_feed_forward_length")));
}

// Its window alternates with all keys, and its YaRN does not round the range of pairs, as in the published config.json;
// GGUF has no keys for either. llama.cpp requires the window, too.
void take_gpt_oss(const GgufKeys& keys, Sizes& sizes) {
  take_experts(keys, sizes);
  if (keys.integer("attention.sliding_window") < 1)
    keys.refuse("`gpt-oss.attention.sliding_window` must be at least 1, got " +
                std::to_string(keys.integer("attention.sliding_window")));
  take_pattern(keys, 2, sizes);
}

// 1 / sqrt(C / H), of the largest Gemma models, whose heads are wider or narrower.
double scale_of_whole_width(const Sizes& sizes) {
  return 1 / std::sqrt(static_cast<double>(sizes.width) / static_cast<double>(sizes.heads));
}

// For llama.cpp, `rope.scaling.finetuned` false says that Granite has no rotary positions.
void take_granite(const GgufKeys& keys, OpenConfig& config) {
  if (!keys.flag("rope.scaling.finetuned", true)) keys.refuse("Granite without rotary positions is not computed here");
  config.sizes.attention_scale = keys.real("attention.scale", 0);
  config.embedding_scale = keys.real("embedding_scale", 1);
  config.residual_scale = keys.real("residual_scale", 1);
  config.logit_scale = 1 / keys.real("logit_scale");
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

void take_gemma2(const GgufKeys& keys, OpenConfig& config) {
  for (auto [key, cap] : {std::pair{"attn_logit_softcapping", 50.0}, {"final_logit_softcapping", 30.0}})
    if (keys.real(key, cap) != cap)
      keys.refuse("`gemma2." + std::string(key) + "` must be " + str_format("%g", cap) + ", got " +
                  str_format("%g", keys.real(key)));
  Sizes& sizes = config.sizes;
  sizes.window = std::min(keys.integer("attention.sliding_window", kGemma2Window), kLongestContext);
  if (sizes.window > 0) {
    take_pattern(keys, 2, sizes);
    const double local_base = keys.real("rope.freq_base_swa", sizes.rotary_base);
    if (local_base != sizes.rotary_base) {
      if (sizes.rotary_factor > 1)
        keys.refuse(
            "`gemma2.rope.freq_base_swa` other than `rope.freq_base` is not computed with a factor of rotary "
            "positions; expected `gemma2.rope.scaling.factor` 1, got " +
            str_format("%g", sizes.rotary_factor));
      sizes.rotary_local_base = local_base;
    }
  }
  config.embedding_scale = std::sqrt(static_cast<double>(sizes.width));
  // The largest Gemma 2 (46 blocks) has another attention scale than 1 / sqrt(D), for which GGUF has no key.
  if (sizes.layers == 46) sizes.attention_scale = scale_of_whole_width(sizes);
}

// Of the frequencies of `width` elements of a head.
std::vector<double> divisors_in(const GgufKeys& keys, const StoredTensor& divisors_E, std::int64_t width) {
  if (divisors_E.type != StoredType::F32 || divisors_E.shape.rank() != 1 || 2 * divisors_E.shape[0] != width)
    keys.refuse("`" + divisors_E.name + "` must be F32, a number for every two of a head's " + std::to_string(width) +
                ", got " + layout_of(divisors_E.type).name + " " + divisors_E.shape.str());
  std::vector<float> numbers(static_cast<std::size_t>(divisors_E.shape[0]));
  std::memcpy(numbers.data(), divisors_E.data, divisors_E.bytes);
  return {numbers.begin(), numbers.end()};
}

// Finds the scaling of LLaMA 3.1 and later from the divisors of frequencies, which the file stores instead.
void take_divisors(const GgufKeys& keys, const StoredTensor& divisors_E, OpenConfig& config) {
  Sizes& sizes = config.sizes;
  const std::optional<Llama3RopeScaling> scaling =
      llama3_rope_scaling(divisors_in(keys, divisors_E, sizes.width_of_head()), sizes);
  if (!scaling || sizes.rotary_factor > 0)
    keys.refuse("`rope_freqs.weight` has other divisors of rotations than LLaMA 3's, which are not computed here");
  config.family = "llama3";
  sizes.rotary_factor = scaling->factor;
  sizes.rotary_context = scaling->first_context;
}

// As in transformers, a text is long if it has more tokens than the original context. (llama.cpp takes the factors of
// long texts for all texts if the context that it is given is longer.)
void take_long_rope(const GgufKeys& keys, const WeightFile& file, std::int64_t turning, Sizes& sizes) {
  if (!file.find(kShortFactors) && !file.find(kLongFactors)) {
    if (keys.real("rope.scaling.attn_factor", 1) != 1)
      keys.refuse("`phi3.rope.scaling.attn_factor` is only computed with the factors of longrope");
    return;
  }
  if (sizes.rotary_factor > 0) keys.refuse("`phi3.rope.scaling.type` must be none or longrope with longrope's factors");
  sizes.long_rope = {divisors_in(keys, file.tensor(kShortFactors), turning),
                     divisors_in(keys, file.tensor(kLongFactors), turning), keys.real("rope.scaling.attn_factor", 1)};
  sizes.rotary_context = keys.integer("rope.scaling.original_context_length", keys.integer("context_length"));
}

}  // namespace

OpenConfig read_gguf_config(const WeightFile& file) {
  const GgufKeys keys(file);
  OpenConfig config{.family = family_of(keys), .sizes = {}, .names = TensorNames::gguf};
  require_known(keys, file);
  const bool layer_norm = config.family == "gpt2" || config.family == "gpt_neox" || config.family == "falcon";
  config.sizes = {
      .layers = keys.integer("block_count"),
      .heads = keys.integer("attention.head_count"),
      .width = keys.integer("embedding_length"),
      .feed_forward = keys.integer("feed_forward_length"),
      .context = std::min(keys.integer("context_length"), kLongestContext),
      .vocabulary = file.tensor("token_embd.weight").shape[0],
      .kv_heads = keys.integer("attention.head_count_kv", keys.integer("attention.head_count")),
      .head_width = keys.integer("attention.key_length", 0),
      .norm_epsilon = keys.real(layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon")};
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
  const bool some_turn = config.family == "gpt_neox" || keys.architecture() == "phi3";
  if (!some_turn && turning != sizes.width_of_head())
    keys.refuse("rotations of some of a head's " + std::to_string(sizes.width_of_head()) +
                " elements is only supported for gptneox and phi3, got " + std::to_string(turning));
  if (config.family == "gpt2") return config;
  take_rotations(keys, sizes);
  if (config.family == "gpt_neox" && !keys.flag("use_parallel_residual", true))
    keys.refuse("GPT-NeoX without a parallel residual is not known here");
  if (some_turn) sizes.rotary_part = static_cast<double>(turning) / static_cast<double>(sizes.width_of_head());
  if (keys.architecture() == "phi3") {
    config.names = TensorNames::gguf_phi3;
    take_long_rope(keys, file, turning, sizes);
  }
  if (config.family == "llama" && keys.integer("expert_count", 0) != 0) {
    config.family = "mixtral";
    take_experts(keys, sizes);
    // Files before April 2024.
    if (file.find("blk.0.ffn_gate.0.weight")) config.names = TensorNames::gguf_expert_tensors;
  }
  config.pairs_interleaved =
      (config.family == "llama" && config.names == TensorNames::gguf) || config.family == "mixtral";
  if (const StoredTensor* divisors_E = file.find("rope_freqs.weight"); divisors_E && config.family == "llama")
    take_divisors(keys, *divisors_E, config);
  if (config.family == "olmo2" && keys.has("attention.sliding_window"))
    keys.refuse("OLMo 3 is not computed here: `olmo2.attention.sliding_window` says that the file is one");
  take_gguf_window(keys, sizes);
  if (config.family == "gpt_oss") take_gpt_oss(keys, sizes);
  if (config.family == "falcon") {
    if (keys.text("tensor_data_layout", "") != "jploski")
      keys.refuse("`falcon.tensor_data_layout` must be jploski, with all queries before all keys and all values");
    config.names = file.find("blk.0.attn_norm_2.weight") ? TensorNames::gguf_falcon_2_norms : TensorNames::gguf_falcon;
  }
  if (keys.architecture() == "granite") take_granite(keys, config);
  if (keys.architecture() == "smollm3") sizes.no_rope_every = kSmollm3NoRopeEvery;
  if (config.family == "gemma2") take_gemma2(keys, config);
  if (config.family == "gemma3") {
    if (sizes.window > 0) {
      take_pattern(keys, kGemmaGlobalEvery, sizes);
      sizes.rotary_local_base = keys.real("rope.freq_base_swa", kRotaryBase);
    }
    config.embedding_scale = std::sqrt(static_cast<double>(sizes.width));
    // Only the largest Gemma 3 (62 blocks) has an attention scale other than 1 / sqrt(D).
    if (sizes.layers == 62) sizes.attention_scale = scale_of_whole_width(sizes);
  }
  return config;
}

OpenConfig read_llama2c_config(const WeightFile& file) {
  auto number = [&](const char* key) { return file.metadata(key).integer(); };
  OpenConfig config{.family = "llama", .sizes = {}, .names = TensorNames::llama2c, .pairs_interleaved = true};
  config.sizes = {.layers = number("n_layers"),
                  .heads = number("n_heads"),
                  .width = number("dim"),
                  .feed_forward = number("hidden_dim"),
                  .context = number("seq_len"),
                  .vocabulary = std::abs(number("vocab_size")),
                  .kv_heads = number("n_kv_heads"),
                  .norm_epsilon = 1e-5,
                  .rotary_base = kRotaryBase};
  return config;
}

}  // namespace sink
