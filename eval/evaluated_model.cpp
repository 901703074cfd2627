#include "eval/evaluated_model.h"

#include <filesystem>

#include "model/model_checkpoint.h"
#include "model/open/open_tokenizer.h"

namespace sink {

namespace {

// Rotations that were made for the model's own context stay as they are.
Sizes lengthened(Sizes sizes, std::int64_t context, const Ablation& ablation) {
  SINK_CHECK(context <= sizes.context || ablation.policies.find("position=Learned") == std::string::npos, "context",
             "the model has a vector for each of " + std::to_string(sizes.context) +
                 " positions, and none for those up to " + std::to_string(context),
             Exit::usage);
  sizes.rotary_context = sizes.first_context();
  sizes.context = context;
  return sizes;
}

}  // namespace

EvaluatedModel load_evaluated(const std::string& path, const Ablation& ablation, DType compute, Device device,
                              const HowToLoad& how) {
  EvaluatedModel evaluated;
  if (!is_open_model(path)) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
      throw Error(path +
                      " is a folder without config.json: expected a checkpoint (runs/NAME/checkpoint.h5), a GGUF "
                      "file, a .bin of llama2.c, or a folder of Hugging Face with config.json and safetensors",
                  Exit::bad_input);
    if (path.ends_with(".safetensors") && std::filesystem::is_regular_file(path, ignored))
      throw Error(path + " is weights alone: expected the folder that holds them, config.json beside them",
                  Exit::bad_input);
    evaluated.checkpoint = load_checkpoint(path);
    if (how.context > 0) {
      const Sizes sizes = lengthened(sizes_of(evaluated.checkpoint), how.context, ablation);
      evaluated.checkpoint.attributes["context"] = std::to_string(sizes.context);
      evaluated.checkpoint.attributes["rotary_context"] = std::to_string(sizes.rotary_context);
    }
    evaluated.model = load_model(evaluated.checkpoint, ablation, compute, "eval_" + ablation.name, device);
    return evaluated;
  }
  OpenModel open = open_model(path);
  if (how.context > 0) open.config.sizes = lengthened(open.config.sizes, how.context, ablation);
  evaluated.model = open.load(ablation, compute, device, how.in_place);
  evaluated.checkpoint.path = path;
  if (const std::optional<Tokenizer> tokenizer = tokenizer_of(open)) {
    evaluated.checkpoint.attributes["tokenizer_json"] = tokenizer->json();
    if (const std::optional<std::int32_t> prefix = prefix_token(open, *tokenizer))
      evaluated.checkpoint.attributes["prefix_token"] = std::to_string(*prefix);
    if (tokenizer->begin_tokens().size() == 1)
      evaluated.checkpoint.attributes["begin_token"] = std::to_string(tokenizer->begin_tokens()[0]);
  }
  return evaluated;
}

}  // namespace sink
