#include "model/open/open_model.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>

#include "engine/check.h"
#include "engine/io/file.h"
#include "engine/io/printable.h"
#include "engine/io/weights/weight_file.h"
#include "model/open/tensor_names.h"

namespace sink {
namespace {

namespace fs = std::filesystem;

bool begins_with(const std::string& path, const std::string& word) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;  // do not block on a pipe
  std::ifstream in(path, std::ios::binary);
  if (!in && is_shortage(errno)) fail_io("open", path, errno);
  std::string begin(word.size(), '\0');
  return in.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == word;
}

std::string is_backbone(const OpenModel& model) {
  return printable(model.path) +
         " is a backbone without an unembedding (`tie_word_embeddings` is false, and there is " + "no `" +
         model.config.missing_unembedding + "`)";
}

}  // namespace

bool is_open_model(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return fs::exists(fs::path(path) / "config.json", ignored);
  return path.ends_with(".bin") || path.ends_with(".gguf") || begins_with(path, "GGUF");
}

OpenModel open_model(const std::string& path) {
  std::error_code ignored;
  std::optional<OpenConfig> of_folder;  // before its weights, which may be of a type that is not read
  if (fs::is_directory(path, ignored)) of_folder = read_hf_config((fs::path(path) / "config.json").string());
  auto file = std::make_shared<WeightFile>(open_weights(path));
  OpenConfig config = of_folder                  ? *of_folder
                      : file->format() == "GGUF" ? read_gguf_config(*file)
                                                 : read_llama2c_config(*file);
  check_open_sizes(path, config);
  if (config.quantization) join_quantized(*file, *config.quantization);
  config.missing_unembedding = missing_unembedding(*file, config);
  return {path, std::move(config), std::move(file)};
}

std::unique_ptr<LanguageModel> OpenModel::load(const Ablation& ablation, DType compute, Device device, bool in_place,
                                               bool needs_logits) const {
  const std::string policies = policies_of_family(config.family);
  if (ablation.policies != policies)
    throw Error(path + " is a model of the family `" + config.family + "` (" + policies + "), and this is `" +
                    ablation.name + "` (" + ablation.policies + "); use eval_" + config.family,
                Exit::usage);
  if (needs_logits && !config.missing_unembedding.empty())
    throw Error(is_backbone(*this) +
                    ", so it has no logits: expected the commands `attention`, `view` or `sink`, which need none, or "
                    "the folder of the whole model",
                Exit::corrupt_checkpoint);
  std::unique_ptr<LanguageModel> model;
  try {
    model = ablation.make_model(config.sizes, InitScheme::uninitialized, 0, compute, device);
  } catch (const Error& error) {  // the sizes come from the file, not from the user
    if (error.code != Exit::usage) throw;
    throw Error(path + ": " + error.what(), Exit::corrupt_checkpoint);
  }
  load_family_weights(file, config, model->parameters(), in_place);
  return model;
}

std::string model_note(const OpenModel& model) {
  if (!model.config.missing_unembedding.empty()) return is_backbone(model) + ": no loss and no logits are computed";
  std::vector<std::string> parts;
  auto add = [&](bool (*is_one)(const OpenConfig&, const std::string&), const char* what) {
    const std::int64_t count = std::ranges::count_if(
        model.file->tensors(), [&](const StoredTensor& tensor) { return is_one(model.config, tensor.name); });
    if (count > 0) parts.push_back(counted(count, "tensor") + what);
  };
  add(is_of_vision, " of a vision tower");
  add(is_of_later_tokens, " of heads that predict later tokens");
  std::string note;
  if (!parts.empty())
    note = printable(model.path) + " has " + listed(parts) + ", which are not read: the text model is computed";
  if (model.config.quantization && model.config.quantization->rounds_inputs)
    note += (note.empty() ? printable(model.path) + ": " : "; ") +
            std::string(
                "weights in FP8 are computed as they are, and the inputs of their products are not rounded to "
                "FP8, as the model may be on a GPU");
  return note;
}

}  // namespace sink
