// The weights of a language model as files of any format have them: named tensors, and what is said about them.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/mapped_bytes.h"
#include "engine/io/weights/metadata_value.h"
#include "engine/io/weights/stored_tensor.h"

namespace sink {

// Tensors lie in the mapped file, or files. A file that becomes shorter while it is mapped ends the process (SIGBUS).
class WeightFile {
 public:
  const std::string& path() const { return path_; }
  const char* format() const { return format_; }  // "safetensors"
  // In the order of the file.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  // nullptr: there is none of that name.
  const StoredTensor* find(std::string_view name) const;
  // Throws Error (Exit::corrupt_checkpoint) where there is none of that name.
  const StoredTensor& tensor(std::string_view name) const;
  // By their keys.
  const std::vector<MetadataValue>& metadata() const { return metadata_; }
  const MetadataValue* find_metadata(std::string_view key) const;
  const MetadataValue& metadata(std::string_view key) const;

  // What readers fill it with; names and keys are looked up after finish() alone, which throws WeightFailure where two
  // are the same.
  void add(StoredTensor tensor);  // throws WeightFailure beyond kMostTensors
  void add(const MetadataValue& value) { metadata_.push_back(value); }
  void add_text(std::string key, std::string text);  // for what does not lie in the file as it is
  void add(WeightFile&& shard);                      // its tensors and what they lie in
  void finish();

  static constexpr std::size_t kMostTensors = std::size_t{1} << 20;

 private:
  friend WeightFile read_weights(const std::string& path, const char* format,
                                 void (*parse)(std::string_view bytes, WeightFile& file));

  std::string path_;
  const char* format_ = "";
  std::vector<MappedBytes> maps_;
  std::deque<std::string> texts_;  // which stay where they are
  std::vector<StoredTensor> tensors_;
  std::vector<std::uint32_t> by_name_;
  std::vector<MetadataValue> metadata_;
};

// Maps the file, has `parse` fill the result from its bytes, and finishes it. Throws Error: Exit::bad_input where there
// is no such file; Exit::corrupt_checkpoint, with the path and what to do, where parse throws WeightFailure.
WeightFile read_weights(const std::string& path, const char* format,
                        void (*parse)(std::string_view bytes, WeightFile& file));

// The whole file. Throws Error (Exit::bad_input) where there is no such file.
MappedBytes map_weights(const std::string& path);

}  // namespace sink
