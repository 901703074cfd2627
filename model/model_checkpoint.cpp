#include "model/model_checkpoint.h"

namespace sink {
namespace {

// What the axes of a parameter mean, for readers of the file.
std::string axes_of(const Parameter& parameter) {
  const std::string& name = parameter.name();
  bool vector = parameter.master().rank() == 1;
  auto ends = [&](const char* end) { return name.ends_with(end); };
  if (ends("extra.logit")) return "H";
  if (ends("extra.key") || ends("extra.value")) return vector ? "D" : "H D";
  if (ends("query_norm.gain") || ends("key_norm.gain")) return "D";
  if (vector) return "C";
  if (name == "embedding.position.weight") return "T C";
  if (name == "embedding.sink_token.weight") return "1 C";
  if (name == "embedding.token.weight" || name == "unembedding.weight") return "V C";
  if (name == "position.bias.weight") return "H bucket";
  return "out in";
}

}  // namespace

void store_model(const Ablation& ablation, const LanguageModel& model, Checkpoint& checkpoint) {
  const Sizes& s = model.sizes();
  checkpoint.attributes["ablation"] = ablation.name;
  checkpoint.attributes["policies"] = ablation.policies;
  checkpoint.attributes["layers"] = std::to_string(s.layers);
  checkpoint.attributes["heads"] = std::to_string(s.heads);
  checkpoint.attributes["width"] = std::to_string(s.width);
  checkpoint.attributes["feed_forward"] = std::to_string(s.feed_forward);
  checkpoint.attributes["context"] = std::to_string(s.context);
  checkpoint.attributes["vocabulary"] = std::to_string(s.vocabulary);
  checkpoint.attributes["kv_heads"] = std::to_string(s.kv_heads);
  checkpoint.attributes["window"] = std::to_string(s.window);
  checkpoint.attributes["prefix"] = std::to_string(s.prefix);
  for (const auto& parameter : model.parameters()) {
    checkpoint.tensors.emplace_back(kParameters + parameter->name(), parameter->master());
    checkpoint.axes[kParameters + parameter->name()] = axes_of(*parameter);
  }
}

Sizes sizes_of(const Checkpoint& checkpoint) {
  // Files of the first version lack them.
  auto newer = [&](const char* name) { return checkpoint.attributes.contains(name) ? checkpoint.integer(name) : 0; };
  return {.layers = checkpoint.integer("layers"),
          .heads = checkpoint.integer("heads"),
          .width = checkpoint.integer("width"),
          .feed_forward = checkpoint.integer("feed_forward"),
          .context = checkpoint.integer("context"),
          .vocabulary = checkpoint.integer("vocabulary"),
          .kv_heads = newer("kv_heads"),
          .window = newer("window"),
          .prefix = newer("prefix")};
}

void restore_tensor(const Checkpoint& checkpoint, const std::string& path, Tensor& tensor) {
  const Tensor& stored = checkpoint.tensor(path);
  SINK_CHECK(stored.shape() == tensor.shape(), "checkpoint",
             checkpoint.path + ": " + path + " is " + stored.str() + ", the model needs " + tensor.str(),
             Exit::corrupt_checkpoint);
  tensor.copy_from(stored);
}

void restore_parameters(const Checkpoint& checkpoint, LanguageModel& model) {
  for (const auto& parameter : model.parameters())
    restore_tensor(checkpoint, kParameters + parameter->name(), parameter->mutable_master());
  model.refresh_parameters();
}

std::unique_ptr<LanguageModel> load_model(const Checkpoint& checkpoint, const Ablation& ablation, DType compute,
                                          const std::string& program) {
  require_policy(checkpoint, ablation.name, ablation.policies, program);
  auto model = ablation.make_model(sizes_of(checkpoint), InitScheme::torch, 0, compute);
  restore_parameters(checkpoint, *model);
  return model;
}

}  // namespace sink
