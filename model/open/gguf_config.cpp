// The metadata of a GGUF file: what its keys mean here, family by family (the architectures of llama.cpp).
#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/check.h"
#include "engine/io/printable.h"
#include "engine/ops/rotary/rotary.h"
#include "model/open/llama3_slowing.h"
#include "model/open/open_config.h"

namespace sink {
namespace {

constexpr std::int64_t kGemmaGlobalEvery = 6;  // where the file does not say

// The keys of one architecture: "llama.block_count".
class GgufKeys {
 public:
  explicit GgufKeys(const WeightFile& file)
      : file_(file), architecture_(file.metadata("general.architecture").text()) {}

  const std::string& architecture() const { return architecture_; }
  bool has(const char* key) const { return file_.find_metadata(spelled(key)) != nullptr; }
  std::int64_t integer(const char* key) const { return file_.metadata(spelled(key)).integer(); }
  std::int64_t integer(const char* key, std::int64_t otherwise) const { return has(key) ? integer(key) : otherwise; }
  double real(const char* key, double otherwise) const {
    return has(key) ? file_.metadata(spelled(key)).real() : otherwise;
  }
  std::string text(const char* key, const char* otherwise) const {
    return has(key) ? std::string(file_.metadata(spelled(key)).text()) : otherwise;
  }
  bool flag(const char* key, bool otherwise) const {
    return has(key) ? file_.metadata(spelled(key)).boolean() : otherwise;
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(file_.path() + ": " + why, Exit::corrupt_checkpoint);
  }

 private:
  std::string spelled(const char* key) const { return architecture_ + "." + key; }

  const WeightFile& file_;
  std::string architecture_;
};

std::string family_of(const GgufKeys& keys) {
  const std::string& name = keys.architecture();
  if (name == "gptneox") return "gpt_neox";
  if (name == "gpt2" || name == "llama" || name == "qwen2" || name == "qwen3" || name == "gemma3") return name;
  keys.refuse("the architecture `" + printable(name) +
              "` is not known here; gpt2, gptneox, llama, qwen2, qwen3 and gemma3 are");
}

void take_rotations(const GgufKeys& keys, Sizes& sizes) {
  sizes.rotary_base = keys.real("rope.freq_base", 10000);
  const std::string scaling = keys.text("rope.scaling.type", "none");
  if (scaling == "linear")
    sizes.rotary_factor = keys.real("rope.scaling.factor", 1);
  else if (scaling != "none")
    keys.refuse("rotary positions of scaling `" + printable(scaling) + "` are not computed here; linear is");
}

// By what the file divides the turns of LLaMA 3.1 and later, in place of the numbers that make the divisors.
void take_divisors(const GgufKeys& keys, const StoredTensor& divisors_E, OpenConfig& config) {
  Sizes& sizes = config.sizes;
  if (divisors_E.type != StoredType::F32 || divisors_E.shape.rank() != 1 ||
      2 * divisors_E.shape[0] != sizes.width_of_head())
    keys.refuse("`rope_freqs.weight` must be F32, a number for every two of a head's " +
                std::to_string(sizes.width_of_head()) + ", got " + layout_of(divisors_E.type).name + " " +
                divisors_E.shape.str());
  std::vector<float> numbers(static_cast<std::size_t>(divisors_E.shape[0]));
  std::memcpy(numbers.data(), divisors_E.data, divisors_E.bytes);
  const std::optional<Llama3Slowing> slowing = llama3_slowing({numbers.begin(), numbers.end()}, sizes);
  if (!slowing || sizes.rotary_factor > 0)
    keys.refuse("`rope_freqs.weight` has other divisors of rotations than LLaMA 3's, which are not computed here");
  config.family = "llama3";
  sizes.rotary_factor = slowing->factor;
  sizes.rotary_context = slowing->first_context;
}

}  // namespace

OpenConfig read_gguf_config(const WeightFile& file) {
  const GgufKeys keys(file);
  OpenConfig config{.family = family_of(keys), .sizes = {}, .names = TensorNames::gguf};
  const bool layer_norm = config.family == "gpt2" || config.family == "gpt_neox";
  config.sizes = {.layers = keys.integer("block_count"),
                  .heads = keys.integer("attention.head_count"),
                  .width = keys.integer("embedding_length"),
                  .feed_forward = keys.integer("feed_forward_length"),
                  .context = std::min(keys.integer("context_length"), kLongestContext),
                  .vocabulary = file.tensor("token_embd.weight").shape[0],
                  .kv_heads = keys.integer("attention.head_count_kv", keys.integer("attention.head_count")),
                  .head_width = keys.integer("attention.key_length", 0),
                  .norm_epsilon = layer_norm ? keys.real("attention.layer_norm_epsilon", 1e-5)
                                             : keys.real("attention.layer_norm_rms_epsilon", 1e-6)};
  Sizes& sizes = config.sizes;
  if (sizes.heads <= 0 || sizes.width <= 0)
    keys.refuse("a model of " + std::to_string(sizes.heads) + " heads and width " + std::to_string(sizes.width));
  if (keys.integer("attention.value_length", sizes.width_of_head()) != sizes.width_of_head())
    keys.refuse("values are as wide as keys here (" + std::to_string(sizes.width_of_head()) + "), got " +
                std::to_string(keys.integer("attention.value_length")));
  if (config.family == "gpt2") return config;
  take_rotations(keys, sizes);
  if (config.family == "gpt_neox") {
    if (!keys.flag("use_parallel_residual", true))
      keys.refuse("GPT-NeoX without a parallel residual is not known here");
    sizes.rotary_part = static_cast<double>(keys.integer("rope.dimension_count", sizes.width_of_head())) /
                        static_cast<double>(sizes.width_of_head());
  }
  config.pairs_interleaved = config.family == "llama";
  if (const StoredTensor* divisors_E = file.find("rope_freqs.weight"); divisors_E && config.family == "llama")
    take_divisors(keys, *divisors_E, config);
  sizes.window = keys.integer("attention.sliding_window", 0);
  if (config.family == "gemma3") {
    if (sizes.window > 0) {
      sizes.global_every = keys.integer("attention.sliding_window_pattern", kGemmaGlobalEvery);
      sizes.rotary_local_base = keys.real("rope.freq_base_swa", kRotaryBase);
    }
    config.embedding_scale = std::sqrt(static_cast<double>(sizes.width));
    // The largest Gemma 3 alone (62 blocks) has another scale than its heads' width.
    if (sizes.layers == 62)
      sizes.attention_scale = 1 / std::sqrt(static_cast<double>(sizes.width) / static_cast<double>(sizes.heads));
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
                  .norm_epsilon = 1e-5};
  return config;
}

}  // namespace sink
