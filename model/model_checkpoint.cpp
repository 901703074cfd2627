#include "model/model_checkpoint.h"

#include <set>

namespace sink {
namespace {

[[noreturn]] void refuse(const Checkpoint& checkpoint, const std::string& why) {
  throw Error((checkpoint.path.empty() ? "the checkpoint" : checkpoint.path) + ": " + why, Exit::corrupt_checkpoint);
}

struct Bounds {
  const char* name;
  std::int64_t value, least, most;
};

// What is wrong with sizes that no model has, naming the size: outside the bounds of train_<ablation>'s settings, heads
// that do not divide the width, kv_heads that do not divide heads, a prefix not shorter than the context. Empty for
// sizes that a model can have; only then may a model be made of them.
std::string flaw_of(const Sizes& s) {
  auto is = [](const char* name, std::int64_t value) {
    return std::string("`") + name + "` is " + std::to_string(value);
  };
  for (const Bounds& size : {Bounds{"layers", s.layers, 1, 1024},
                             {"heads", s.heads, 1, 1024},
                             {"width", s.width, 1, 65536},
                             {"feed_forward", s.feed_forward, 1, 262144},
                             {"context", s.context, 1, 65536},
                             {"vocabulary", s.vocabulary, 1, std::int64_t{1} << 24},
                             {"kv_heads", s.kv_heads, 0, 1024},
                             {"window", s.window, 0, 65536},
                             {"prefix", s.prefix, 0, 65536}})
    if (size.value < size.least || size.value > size.most)
      return is(size.name, size.value) + ", expected from " + std::to_string(size.least) + " to " +
             std::to_string(size.most);
  if (s.width % s.heads != 0)
    return is("heads", s.heads) + ", which does not divide the `width` " + std::to_string(s.width);
  if (s.heads % s.key_heads() != 0)
    return is("kv_heads", s.kv_heads) + ", which does not divide the `heads` " + std::to_string(s.heads);
  if (s.prefix >= s.context)
    return is("prefix", s.prefix) + ", expected less than the `context` " + std::to_string(s.context);
  return "";
}

// The <l> of a path parameters/blocks.<l>.<name>; empty for parameters of no block.
std::string block_of(const std::string& path) {
  const std::string start = std::string(kParameters) + "blocks.";
  if (!path.starts_with(start)) return "";
  return path.substr(start.size(), path.find('.', start.size()) - start.size());
}

// Compares sizes with parameters that every ablation has, and which no other parameter is much larger than: a model of
// these sizes is as large as its file, whatever the file says.
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
    require(block + ".attention.qkv.weight", {(s.heads + 2 * s.key_heads()) * s.head_width(), s.width},
            number("heads", s.heads) + ", " + number("kv_heads", s.kv_heads) + " and " + width);
    require(block + ".feed_forward.down.weight", {s.width, s.feed_forward},
            number("feed_forward", s.feed_forward) + " and " + width);
  }
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
    checkpoint.axes[kParameters + parameter->name()] = parameter->info().axes;
  }
}

Sizes sizes_of(const Checkpoint& checkpoint) {
  // Files of the first version lack them.
  auto newer = [&](const char* name) { return checkpoint.attributes.contains(name) ? checkpoint.integer(name) : 0; };
  Sizes sizes{.layers = checkpoint.integer("layers"),
              .heads = checkpoint.integer("heads"),
              .width = checkpoint.integer("width"),
              .feed_forward = checkpoint.integer("feed_forward"),
              .context = checkpoint.integer("context"),
              .vocabulary = checkpoint.integer("vocabulary"),
              .kv_heads = newer("kv_heads"),
              .window = newer("window"),
              .prefix = newer("prefix")};
  if (std::string flaw = flaw_of(sizes); !flaw.empty()) refuse(checkpoint, flaw);
  require_sizes_of_tensors(checkpoint, sizes);
  return sizes;
}

void restore_tensor(const Checkpoint& checkpoint, const std::string& path, Tensor& tensor) {
  const Tensor& stored = checkpoint.tensor(path);
  if (!(stored.shape() == tensor.shape()))
    refuse(checkpoint,
           path + " is " + stored.shape().str() + ", a model of the sizes it names has " + tensor.shape().str());
  tensor.copy_from(stored);
}

void restore_parameters(const Checkpoint& checkpoint, LanguageModel& model) {
  std::set<std::string> known;
  for (const auto& parameter : model.parameters()) {
    std::string path = kParameters + parameter->name();
    restore_tensor(checkpoint, path, parameter->mutable_master());
    known.insert(path);
  }
  for (const auto& [path, tensor] : checkpoint.tensors)
    if (path.starts_with(kParameters) && !known.contains(path))
      refuse(checkpoint, "it holds " + path + ", which a model of its policies does not have; " +
                             "engine/io/CHECKPOINT.md lists the parameters");
  model.parameters().refresh();
}

std::unique_ptr<LanguageModel> load_model(const Checkpoint& checkpoint, const Ablation& ablation, DType compute,
                                          const std::string& program) {
  require_policy(checkpoint, ablation.name, ablation.policies, program);
  Sizes sizes = sizes_of(checkpoint);
  std::unique_ptr<LanguageModel> model;
  try {
    model = ablation.make_model(sizes, InitScheme::torch, 0, compute);
  } catch (const Error& error) {  // of sizes that this ablation cannot have: here nobody gave them but the file
    if (error.code != Exit::usage) throw;
    refuse(checkpoint, error.what());
  }
  restore_parameters(checkpoint, *model);
  return model;
}

}  // namespace sink
