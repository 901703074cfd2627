#include "model/open/open_model.h"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "engine/check.h"
#include "engine/io/file.h"
#include "engine/io/weights/weight_file.h"

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

}  // namespace

bool is_open_model(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return fs::exists(fs::path(path) / "config.json", ignored);
  return path.ends_with(".bin") || path.ends_with(".gguf") || begins_with(path, "GGUF");
}

OpenModel open_model(const std::string& path) {
  auto file = std::make_shared<WeightFile>(open_weights(path));
  const std::string format = file->format();
  OpenConfig config = format == "GGUF"       ? read_gguf_config(*file)
                      : format == "llama2.c" ? read_llama2c_config(*file)
                                             : read_hf_config((fs::path(path) / "config.json").string());
  check_open_sizes(path, config);
  return {path, std::move(config), std::move(file)};
}

std::unique_ptr<LanguageModel> OpenModel::load(const Ablation& ablation, DType compute, Device device,
                                               bool in_place) const {
  const std::string policies = policies_of_family(config.family);
  if (ablation.policies != policies)
    throw Error(path + " is a model of the family `" + config.family + "` (" + policies + "), and this is `" +
                    ablation.name + "` (" + ablation.policies + "); use eval_" + config.family,
                Exit::usage);
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

}  // namespace sink
