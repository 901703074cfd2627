#include "model/model_checkpoint.h"

#include <set>

#include "engine/io/sha256.h"
#include "model/feed_forward/experts.h"
#include "model/size_settings.h"

namespace sink {
namespace {

[[noreturn]] void refuse(const Checkpoint& checkpoint, const std::string& why) {
  throw Error((checkpoint.path.empty() ? "the checkpoint" : checkpoint.path) + ": " + why, Exit::corrupt_checkpoint);
}

std::string quoted(const std::string& name) { return "`" + name + "`"; }

// The <l> of a path parameters/blocks.<l>.<name>; empty for other parameters.
std::string block_of(const std::string& path) {
  const std::string start = std::string(kParameters) + "blocks.";
  if (!path.starts_with(start)) return "";
  return path.substr(start.size(), path.find('.', start.size()) - start.size());
}

// Compares the sizes with parameters that every ablation has, to name the attribute that is wrong.
void require_sizes_of_tensors(const Checkpoint& checkpoint, const Sizes& s) {
  auto number = [](const char* name, std::int64_t value) {
    return std::string("`") + name + "` = " + std::to_string(value);
  };
  auto require = [&](const std::string& name, const Shape& wanted, const std::string& sizes) {
    const Tensor& stored = checkpoint.tensor(kParameters + name);
    if (!(stored.shape() == wanted))
      refuse(checkpoint, kParameters + name + " is " + stored.shape().str() + ", but with " + sizes + " it is " +
                             wanted.str() + "; one of these attributes is wrong, or the parameter is");
  };
  const std::string policies = checkpoint.attribute("policies") + " ";
  bool mixture = false;
  for (const std::string& name : {Experts::name(), SwiGluExperts::name(), SwiGluExpertsOfSoftmax::name(),
                                  WithSharedExpert<SwiGluExpertsOfSoftmax>::name()})
    mixture = mixture || policies.find("feed_forward=" + name + " ") != std::string::npos;
  const std::int64_t experts = mixture ? s.expert_count() : 1;
  std::string width = number("width", s.width);
  require("embedding.token.weight", {s.vocabulary, s.width}, number("vocabulary", s.vocabulary) + " and " + width);
  std::set<std::string> blocks;
  for (const auto& [path, tensor] : checkpoint.tensors)
    if (std::string block = block_of(path); !block.empty()) blocks.insert(block);
  if (static_cast<std::int64_t>(blocks.size()) != s.layers)
    refuse(checkpoint, number("layers", s.layers) + ", but it holds the parameters of " +
                           std::to_string(blocks.size()) + " blocks (parameters/blocks.<l>, l from 0)");
  for (std::int64_t layer = 0; layer < s.layers; ++layer) {
    std::string block = "blocks." + std::to_string(layer);
    if (s.has_attention(layer))
      require(block + ".attention.qkv.weight", {(s.heads + 2 * s.key_heads()) * s.width_of_head(), s.width},
              number("heads", s.heads) + ", " + number("kv_heads", s.kv_heads) +
                  (s.head_width > 0 ? ", " + number("head_width", s.head_width) : "") + " and " + width);
    require(
        block + ".feed_forward.down.weight", {s.width, experts * s.feed_forward},
        number("feed_forward", s.feed_forward) + (mixture ? ", " + number("experts", experts) : "") + " and " + width);
  }
}

// Attributes that programs print or put before a text, if the file has them.
void require_notes(const Checkpoint& checkpoint, const Sizes& sizes) {
  auto require = [&](const char* name, std::int64_t most) {
    if (!checkpoint.attributes.contains(name)) return;
    const std::int64_t value = checkpoint.integer(name);
    if (value < 0 || value > most)
      refuse(checkpoint, quoted(name) + " is " + std::to_string(value) + "; expected a whole number from 0 to " +
                             std::to_string(most));
  };
  for (const char* count : {"step", "tokens"}) require(count, INT64_MAX);
  for (const char* id : {"begin_token", "prefix_token"}) require(id, sizes.vocabulary - 1);
}

}  // namespace

void store_model(const Ablation& ablation, const LanguageModel& model, Checkpoint& checkpoint, const Tensor& masters) {
  SINK_CHECK(model.sizes().long_rope.short_E.empty(), "checkpoint",
             "a checkpoint has no place for the factors of LongRoPE or YaRN: use the file of the model itself",
             Exit::usage);
  SINK_CHECK(model.sizes().global_layers.empty() && model.sizes().rotary_layers.empty(), "checkpoint",
             "a checkpoint has no place for a list of layers with a window or without rotary positions: use the file "
             "of the model itself",
             Exit::usage);
  SINK_CHECK(!model.sizes().delta_alternating, "checkpoint",
             "a checkpoint has no place for the order of heads that GGUF files have in gated delta rules: use the "
             "folder of Hugging Face, or the file itself",
             Exit::usage);
  checkpoint.attributes["ablation"] = ablation.name;
  checkpoint.attributes["policies"] = ablation.policies;
  for (const Setting<Sizes>& size : size_settings())
    checkpoint.attributes[size.key()] = plain_text(size.value(model.sizes()));
  for (const auto& parameter : model.parameters()) {
    const Tensor values = masters.defined() ? ParameterArena::slice(masters, *parameter) : parameter->master();
    checkpoint.tensors.emplace_back(kParameters + parameter->name(), values.to(Device::cpu));
    checkpoint.axes[kParameters + parameter->name()] = parameter->info().axes;
  }
}

Sizes sizes_of(const Checkpoint& checkpoint) {
  Sizes sizes;
  for (const Setting<Sizes>& size : size_settings()) {
    bool may_lack = size.low == 0;  // a missing size is 0, its default
    if (may_lack && !checkpoint.attributes.contains(size.key())) continue;
    const std::string& text = checkpoint.attribute(size.key());
    try {
      size.set(sizes, text, quoted(size.key()));
    } catch (const Error& error) { refuse(checkpoint, error.what()); }
  }
  std::string error =
      validate(sizes, [](const std::string& flag) { return quoted(setting_named(size_settings(), flag)->key()); });
  if (!error.empty()) refuse(checkpoint, error);
  require_sizes_of_tensors(checkpoint, sizes);
  return sizes;
}

namespace {

void require_shape(const Checkpoint& checkpoint, const std::string& path, const Shape& shape) {
  const Tensor& stored = checkpoint.tensor(path);
  if (!(stored.shape() == shape))
    refuse(checkpoint, path + " is " + stored.shape().str() + ", a model of the sizes it names has " + shape.str());
}

// That the checkpoint has the model's parameters and no others.
void require_parameters(const Checkpoint& checkpoint, const LanguageModel& model) {
  std::set<std::string> known;
  for (const auto& parameter : model.parameters()) {
    const std::string path = kParameters + parameter->name();
    require_shape(checkpoint, path, parameter->info().shape);
    known.insert(path);
  }
  for (const auto& [path, tensor] : checkpoint.tensors)
    if (path.starts_with(kParameters) && !known.contains(path))
      refuse(checkpoint, "it holds " + path + ", which a model of its policies does not have; " +
                             "engine/io/CHECKPOINT.md lists the parameters");
}

}  // namespace

void restore_tensor(const Checkpoint& checkpoint, const std::string& path, Tensor& tensor) {
  require_shape(checkpoint, path, tensor.shape());
  tensor.copy_from(checkpoint.tensor(path));
}

void restore_parameters(const Checkpoint& checkpoint, LanguageModel& model) {
  require_parameters(checkpoint, model);
  for (const auto& parameter : model.parameters())
    parameter->mutable_master().copy_from(checkpoint.tensor(kParameters + parameter->name()));
  model.parameters().refresh();
}

std::string parameters_checksum(const Checkpoint& checkpoint) {
  Sha256 digest;
  for (const auto& [path, tensor] : checkpoint.tensors) {
    if (!path.starts_with(kParameters)) continue;
    const std::string name = path.substr(std::string(kParameters).size()) + "\n";
    digest.add(name.data(), name.size());
    digest.add(tensor.raw(), tensor.bytes());
  }
  return digest.hex();
}

std::unique_ptr<LanguageModel> load_model(const Checkpoint& checkpoint, const Ablation& ablation, DType compute,
                                          const std::string& program, Device device) {
  require_policy(checkpoint, ablation.name, ablation.policies, program);
  Sizes sizes = sizes_of(checkpoint);
  require_notes(checkpoint, sizes);
  std::unique_ptr<LanguageModel> model;
  try {
    model = ablation.make_model(sizes, InitScheme::uninitialized, 0, compute, device);
  } catch (const Error& error) {  // the sizes come from the file, not from the user
    if (error.code != Exit::usage) throw;
    refuse(checkpoint, error.what());
  }
  require_parameters(checkpoint, *model);  // before allocation: a small file makes no large model
  model->parameters().allocate_zeros();
  restore_parameters(checkpoint, *model);
  return model;
}

}  // namespace sink
