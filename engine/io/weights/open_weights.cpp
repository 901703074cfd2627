#include "engine/io/weights/open_weights.h"

#include <algorithm>
#include <filesystem>

#include "engine/check.h"
#include "engine/io/weights/gguf.h"
#include "engine/io/weights/llama2c.h"
#include "engine/io/weights/safetensors.h"

namespace sink {
namespace {

std::string weights_in(const std::string& folder) {
  std::error_code ignored;
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"}) {
    std::string path = (std::filesystem::path(folder) / name).string();
    if (std::filesystem::exists(path, ignored)) return path;
  }
  throw Error(printable(folder) +
                  " has no weights: expected model.safetensors or model.safetensors.index.json in it; " +
                  "name a file where it is called otherwise",
              Exit::bad_input);
}

}  // namespace

WeightFile open_weights(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return open_weights(weights_in(path));
  MappedBytes bytes = map_weights(path);
  std::string_view head(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 4));
  if (head == "GGUF") return read_gguf(path);
  if (head.starts_with("PK") || head.starts_with("\x80\x02"))
    throw Error(
        printable(path) + " is a pickle of PyTorch, which can run programs and is not read; convert it to safetensors",
        Exit::corrupt_checkpoint);
  if (path.ends_with(".json")) return read_sharded_safetensors(path);
  if (path.ends_with(".bin")) return read_llama2c(path);
  if (path.ends_with(".gguf")) return read_gguf(path);  // which says what it begins with
  return read_safetensors(path);
}

}  // namespace sink
