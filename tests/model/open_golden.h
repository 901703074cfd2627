// Tiny models of other programs and their logits by transformers (tests/golden/open/make_golden.py).
#pragma once

#include <cstring>

#include "engine/io/weights/weight_file.h"
#include "tests/model/model_support.h"

namespace sink::test {

inline const std::string kModels = std::string(SINK_SOURCE_DIR) + "/tests/golden/open/models/";

struct Golden {
  Tensor tokens_BT, logits_BTV;
  explicit Golden(const std::string& name) {
    const WeightFile file = open_weights(kModels + name + "/golden.safetensors");
    const StoredTensor &tokens = file.tensor("tokens"), &logits = file.tensor("logits");
    tokens_BT = Tensor::empty(tokens.shape, DType::I32);
    std::memcpy(tokens_BT.raw(), tokens.data, tokens.bytes);
    logits_BTV = Tensor::empty(logits.shape, DType::F64);
    std::memcpy(logits_BTV.raw(), logits.data, logits.bytes);
  }
};

// Folders, and the family of each.
inline constexpr const char* kFamilies[][2] = {
    {"gpt2", "gpt2"},       {"gpt_neox", "gpt_neox"},     {"opt", "opt"},       {"llama", "llama"},
    {"llama3", "llama3"},   {"linear", "llama"},          {"llama2c", "llama"}, {"mistral", "llama"},
    {"qwen2", "qwen2"},     {"qwen3", "qwen3"},           {"gemma3", "gemma3"}, {"gemma3_gguf", "gemma3"},
    {"gpt_oss", "gpt_oss"}, {"gpt_oss_gguf", "gpt_oss"},  {"granite", "llama"}, {"phi3", "llama"},
    {"smollm3", "llama"},   {"olmo2", "olmo2"},           {"falcon", "falcon"}, {"falcon_1_norm", "falcon"},
    {"mixtral", "mixtral"}, {"mixtral_older", "mixtral"}, {"gemma2", "gemma2"}, {"gemma2_gguf", "gemma2"},
    {"longrope", "llama"},  {"longrope_short", "llama"}};

// An ablation of this build that runs the family's models; null: it has none.
inline const Ablation* program_of(const std::string& family) {
  const std::string same = family == "llama" ? "baseline" : family == "qwen3" ? "qk_norm" : family;
  return is_built(same) ? &ablation_named(same) : nullptr;
}

}  // namespace sink::test
