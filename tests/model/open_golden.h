// Tiny models of other programs and their logits by transformers (tests/golden/open/make_golden.py).
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "engine/io/file.h"
#include "engine/io/weights/safetensors_writer.h"
#include "engine/io/weights/weight_file.h"
#include "model/open/open_config.h"
#include "tests/model/model_support.h"
#include "tests/support/expected_values.h"

namespace sink::test {

inline const std::string kModels = std::string(SINK_SOURCE_DIR) + "/tests/golden/open/models/";

struct Golden {
  Tensor tokens_BT, logits_BTV;
  explicit Golden(const std::string& name) {
    const ExpectedValues values("open/logits.safetensors");
    tokens_BT = values.tensor(name + "/tokens");
    logits_BTV = values.tensor(name + "/logits");
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

// The ablation of the family of a config.json.
inline std::string family_of_config(const nlohmann::json& config) {
  for (const Family& family : families())
    if (config.at("model_type") == family.type)
      return config.dump().find("\"llama3\"") == std::string::npos ? family.ablation : family.with_llama3_rope;
  fail("test", "no family has the config.json " + config.dump());
}

struct GoldenModel {
  std::string name, family;
};
// All folders of tiny models.
inline const std::vector<GoldenModel>& golden_models() {
  static const std::vector<GoldenModel> all = [] {
    std::vector<GoldenModel> found;
    for (const auto& folder : std::filesystem::directory_iterator(kModels))
      if (folder.is_directory())
        found.push_back({folder.path().filename().string(), family_of_config(nlohmann::json::parse(read_file(
                                                                "test", folder.path().string() + "/config.json")))});
    std::ranges::sort(found, {}, &GoldenModel::name);
    return found;
  }();
  return all;
}

// An ablation of this build that runs the family's models; null: it has none.
inline const Ablation* program_of(const std::string& family) {
  for (const Ablation& ablation : all_ablations())
    if (ablation.policies == policies_of_family(family)) return &ablation;
  return is_built(family) ? &ablation_named(family) : nullptr;
}

}  // namespace sink::test
