// The shards of an index, as one WeightFile.
#include <algorithm>
#include <filesystem>
#include <set>

#include "engine/check.h"
#include "engine/io/weights/safetensors.h"
#include "engine/io/weights/shard_index.h"

namespace sink {
namespace {

void parse_sharded(std::string_view bytes, WeightFile& file) {
  ShardIndex index = parse_shard_index(bytes);
  std::string folder = std::filesystem::path(file.path()).parent_path().string();
  std::set<std::string> names;
  for (const auto& [tensor, name] : index.files) names.insert(name);
  for (const std::string& name : names) {
    std::string path = folder.empty() ? name : folder + "/" + name;
    WeightFile shard = read_safetensors(path);
    for (const StoredTensor& tensor : shard.tensors()) {
      auto found = std::lower_bound(index.files.begin(), index.files.end(), std::pair(tensor.name, std::string()));
      bool listed = found != index.files.end() && found->first == tensor.name;
      if (!listed || found->second != name)
        throw WeightFailure(in_quotes(tensor.name) + " is in " + in_quotes(name) + ", and the index says " +
                            (listed ? "in " + in_quotes(found->second) : "nothing of it"));
    }
    for (const auto& [tensor, in] : index.files)
      if (in == name && !shard.find(tensor))
        throw WeightFailure(in_quotes(tensor) + " is not in " + in_quotes(name) + ", where the index says it is");
    file.add(std::move(shard));
  }
  for (auto& [key, text] : index.metadata) file.add_text(std::move(key), std::move(text));
}

}  // namespace

WeightFile read_sharded_safetensors(const std::string& path) {
  return read_weights(path, "safetensors index", parse_sharded);
}

}  // namespace sink
