// Models of other programs, read in place, against the logits of Hugging Face's transformers in float64
// (tests/golden/open/make_golden.py).
#include "model/open/open_model.h"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>

#include "engine/io/weights/open_weights.h"
#include "tests/model/model_support.h"
#include "tests/support/check_refused.h"

using namespace sink;
using namespace sink::test;

namespace {

const std::string kModels = std::string(SINK_SOURCE_DIR) + "/tests/golden/open/models/";

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

const char* kFamilies[][2] = {{"gpt2", "gpt2"},     {"gpt_neox", "gpt_neox"}, {"opt", "opt"},       {"llama", "llama"},
                              {"llama3", "llama3"}, {"linear", "llama"},      {"mistral", "llama"}, {"qwen2", "qwen2"},
                              {"qwen3", "qwen3"},   {"gemma3", "gemma3"}};

}  // namespace

TEST_CASE("open models: the logits of each family are those of transformers, as numbers and in place") {
  for (auto [name, family] : kFamilies)
    for (const std::string& path : {kModels + name, kModels + name + ".gguf"}) {
      if (!std::filesystem::exists(path)) continue;
      CAPTURE(path);
      const Golden golden(name);
      const OpenModel open = open_model(path);
      CHECK(open.config.family == family);
      for (auto [type, tolerance] : {std::pair{DType::F64, 1e-5}, {DType::F32, 1e-5}, {DType::BF16, 0.1}}) {
        CAPTURE(name_of(type));
        auto model = open.load(ablation_named(family), type);
        CHECK(relative_difference(model->logits(golden.tokens_BT).to(DType::F64), golden.logits_BTV) < tolerance);
        int stored = 0;
        for (const auto& parameter : model->parameters()) stored += parameter->stored() != nullptr;
        CHECK((stored > 0) == (type != DType::F64));
      }
    }
}

TEST_CASE("open models: another family's program refuses one, naming the program that takes it") {
  check_refused([] { open_model(kModels + "gpt2").load(ablation_named("llama"), DType::F32); }, {"eval_gpt2"},
                Exit::usage);
  CHECK_NOTHROW(open_model(kModels + "llama").load(ablation_named("baseline"), DType::F32));  // of the same policies
}
