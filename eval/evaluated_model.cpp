#include "eval/evaluated_model.h"

#include <filesystem>

#include "engine/io/file.h"
#include "model/model_checkpoint.h"
#include "model/open/open_model.h"

namespace sink {

EvaluatedModel load_evaluated(const std::string& path, const Ablation& ablation, DType compute, Device device) {
  EvaluatedModel evaluated;
  if (!is_open_model(path)) {
    evaluated.checkpoint = load_checkpoint(path);
    evaluated.model = load_model(evaluated.checkpoint, ablation, compute, "eval_" + ablation.name, device);
    return evaluated;
  }
  evaluated.model = open_model(path).load(ablation, compute, device);
  evaluated.checkpoint.path = path;
  const std::filesystem::path tokenizer = std::filesystem::path(path) / "tokenizer.json";
  std::error_code ignored;
  if (std::filesystem::exists(tokenizer, ignored))
    evaluated.checkpoint.attributes["tokenizer_json"] = read_file("tokenizer", tokenizer.string());
  return evaluated;
}

}  // namespace sink
