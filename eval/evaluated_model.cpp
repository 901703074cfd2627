#include "eval/evaluated_model.h"

#include "model/model_checkpoint.h"
#include "model/open/open_tokenizer.h"

namespace sink {

EvaluatedModel load_evaluated(const std::string& path, const Ablation& ablation, DType compute, Device device,
                              bool in_place) {
  EvaluatedModel evaluated;
  if (!is_open_model(path)) {
    evaluated.checkpoint = load_checkpoint(path);
    evaluated.model = load_model(evaluated.checkpoint, ablation, compute, "eval_" + ablation.name, device);
    return evaluated;
  }
  const OpenModel open = open_model(path);
  evaluated.model = open.load(ablation, compute, device, in_place);
  evaluated.checkpoint.path = path;
  if (const std::optional<Tokenizer> tokenizer = tokenizer_of(open)) {
    evaluated.checkpoint.attributes["tokenizer_json"] = tokenizer->json();
    if (tokenizer->begin_tokens().size() == 1)
      evaluated.checkpoint.attributes["begin_token"] = std::to_string(tokenizer->begin_tokens()[0]);
  }
  return evaluated;
}

}  // namespace sink
