// Tiny models of other programs and their logits by transformers (tests/golden/open/make_golden.py).
#pragma once

#include <cstring>
#include <filesystem>
#include <functional>

#include "engine/io/weights/safetensors_writer.h"
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

// A copy of a model's folder whose tensors have the names that `renamed` returns, without those of no name, and `more`,
// whose values are 0.
inline void copy_renamed(const std::string& model, const std::string& copy,
                         const std::function<std::string(const std::string&)>& renamed,
                         const std::vector<SafetensorsWriter::Entry>& more = {}) {
  std::filesystem::copy(kModels + model, copy);
  const WeightFile file = open_weights(kModels + model);
  std::vector<const StoredTensor*> kept;
  std::vector<SafetensorsWriter::Entry> entries;
  for (const StoredTensor& tensor : file.tensors()) {
    const std::string name = renamed(tensor.name);
    if (name.empty()) continue;
    kept.push_back(&tensor);
    entries.push_back({name, tensor.type, tensor.shape});
  }
  entries.insert(entries.end(), more.begin(), more.end());
  SafetensorsWriter writer(copy + "/model.safetensors", entries);
  for (const StoredTensor* tensor : kept) writer.write(tensor->data, tensor->bytes);
  for (const SafetensorsWriter::Entry& entry : more) {
    const std::string zeros(stored_bytes(entry.name, entry.type, entry.shape), '\0');
    writer.write(zeros.data(), zeros.size());
  }
  writer.commit();
}

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
