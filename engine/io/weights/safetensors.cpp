// safetensors on disk: u64 bytes of the header, the header (safetensors_json.h), the data, which the offsets of the
// tensors cover without gap or overlap. The texts of `__metadata__` become metadata.

#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include "engine/io/weights/safetensors_json.h"
#include "engine/io/weights/weight_file.h"

namespace sink {
namespace {

void check_covered(std::vector<SafetensorsEntry>& entries, std::uint64_t bytes) {
  std::sort(entries.begin(), entries.end(),
            [](auto& a, auto& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  std::uint64_t covered = 0;
  for (const SafetensorsEntry& e : entries) {
    if (e.begin != covered)
      throw WeightFailure(in_quotes(e.name) + " begins at offset " + std::to_string(e.begin) + "; expected " +
                          std::to_string(covered) + ", where the one before it ends");
    covered = e.end;
  }
  if (covered != bytes)
    throw WeightFailure("its tensors have " + std::to_string(covered) + " bytes, and " + std::to_string(bytes) +
                        " follow its header");
}

void parse_safetensors(std::string_view bytes, WeightFile& file) {
  ByteReader reader(bytes);
  std::uint64_t length = reader.count(1, "length of the header");
  if (length > kLongestSafetensorsHeader)
    throw WeightFailure("its header has " + std::to_string(length) + " bytes; expected at most " +
                        std::to_string(kLongestSafetensorsHeader));
  std::string_view json = reader.take(length, "header");
  if (!json.starts_with('{')) throw WeightFailure("its header begins with " + in_quotes(json.substr(0, 1)) + ", not {");
  SafetensorsHeader header = parse_safetensors_header(json);
  std::string_view numbers = reader.take(reader.left(), "data");
  check_covered(header.entries, numbers.size());
  for (SafetensorsEntry& e : header.entries)
    file.add({std::move(e.name), e.type, e.shape, reinterpret_cast<const unsigned char*>(numbers.data()) + e.begin,
              static_cast<std::size_t>(e.end - e.begin)});
  for (auto& [key, text] : header.metadata) file.add_text(std::move(key), std::move(text));
}

void parse_sharded(std::string_view bytes, WeightFile& file) {
  ShardIndex index = parse_shard_index(bytes);
  std::string folder = std::filesystem::path(file.path()).parent_path().string();
  std::map<std::string, std::vector<std::string>> tensors_of;
  for (const auto& [tensor, name] : index.files) tensors_of[name].push_back(tensor);
  for (const auto& [name, tensors] : tensors_of) {
    std::string path = folder.empty() ? name : folder + "/" + name;
    WeightFile shard = read_safetensors(path);
    for (const StoredTensor& tensor : shard.tensors()) {
      auto found = std::lower_bound(index.files.begin(), index.files.end(), std::pair(tensor.name, std::string()));
      bool listed = found != index.files.end() && found->first == tensor.name;
      if (!listed || found->second != name)
        throw WeightFailure(in_quotes(tensor.name) + " is in " + in_quotes(name) + ", and the index says " +
                            (listed ? "in " + in_quotes(found->second) : "nothing of it"));
    }
    for (const std::string& tensor : tensors)
      if (!shard.find(tensor))
        throw WeightFailure(in_quotes(tensor) + " is not in " + in_quotes(name) + ", where the index says it is");
    file.add(std::move(shard));
  }
  for (auto& [key, text] : index.metadata) file.add_text(std::move(key), std::move(text));
}

}  // namespace

WeightFile read_safetensors(const std::string& path) { return read_weights(path, "safetensors", parse_safetensors); }

WeightFile read_sharded_safetensors(const std::string& path) {
  return read_weights(path, "safetensors index", parse_sharded);
}

}  // namespace sink
