// The weights of a language model in a file of any format: named tensors and metadata.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/file.h"
#include "engine/io/weights/metadata_value.h"
#include "engine/shape.h"
#include "engine/stored/stored_type.h"

namespace sink {

// A tensor in a mapped file of weights; its type may be one that only files have.
struct StoredTensor {
  std::string name;
  StoredType type = StoredType::F32;
  Shape shape;                          // outermost axis first, also where the file's order is reversed
  const unsigned char* data = nullptr;  // not aligned; valid as long as its WeightFile
  std::size_t bytes = 0;

  // A row is the last axis; a scalar is one row of one element.
  std::int64_t row_size() const { return shape.rank() == 0 ? 1 : shape[-1]; }
  std::int64_t rows() const { return row_size() == 0 ? 0 : shape.size() / row_size(); }
};

// Bytes of a tensor: product(shape) / elements of a block * bytes of a block. Throws WeightFailure, which begins with
// `name`, where the product is larger than any memory, and where the last axis is not a multiple of the block.
std::uint64_t stored_bytes(std::string_view name, StoredType type, const Shape& shape);

// The data of the tensors is memory-mapped. A file that is truncated while it is mapped ends the process (SIGBUS).
class WeightFile {
 public:
  const std::string& path() const { return path_; }
  std::string_view format() const { return format_; }  // "safetensors"
  // In the order of the file.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  // nullptr where there is none.
  const StoredTensor* find(std::string_view name) const;
  // Throws Error (Exit::corrupt_checkpoint) where there is none.
  const StoredTensor& tensor(std::string_view name) const;
  // Sorted by key.
  const std::vector<MetadataValue>& metadata() const { return metadata_; }
  const MetadataValue* find_metadata(std::string_view key) const;
  const MetadataValue& metadata(std::string_view key) const;

  // For readers. Names and keys can be looked up after finish(), which throws WeightFailure for duplicates.
  void add(StoredTensor tensor);  // throws WeightFailure beyond kMostTensors
  void add(const MetadataValue& value) { metadata_.push_back(value); }
  void add_text(std::string key, std::string text);  // a metadata value that is not in the mapped bytes
  void add(WeightFile&& shard);                      // its tensors and their mappings
  // `tensors` in the place of all; the bytes of new ones are in `owned`.
  void exchange(std::vector<StoredTensor> tensors, std::vector<std::unique_ptr<unsigned char[]>> owned);
  void finish();

  static constexpr std::size_t kMostTensors = std::size_t{1} << 20;

 private:
  friend WeightFile read_weights(const std::string& path, const char* format,
                                 void (*parse)(std::string_view bytes, WeightFile& file));

  std::string path_;
  const char* format_ = "";
  std::vector<MappedBytes> maps_;
  std::vector<std::unique_ptr<unsigned char[]>> owned_;
  std::deque<std::string> texts_;  // of add_text; references stay valid
  std::vector<StoredTensor> tensors_;
  std::vector<std::uint32_t> by_name_;
  std::vector<MetadataValue> metadata_;
};

// Maps the file, calls `parse` to fill the result from its bytes and finishes it. Throws Error: Exit::bad_input where
// the file is missing; Exit::corrupt_checkpoint, with the path and advice, where `parse` throws WeightFailure.
WeightFile read_weights(const std::string& path, const char* format,
                        void (*parse)(std::string_view bytes, WeightFile& file));

// Maps the whole file. Throws Error (Exit::bad_input) where it is missing.
MappedBytes map_weights(const std::string& path);

// The readers. All throw Error: Exit::bad_input where a file is missing, Exit::corrupt_checkpoint where it is damaged
// or of another format.

// `path` is a folder with model.safetensors or model.safetensors.index.json, or a file: GGUF if it begins with "GGUF",
// an index if its name ends with .json, llama2.c if with .bin, else safetensors.
WeightFile open_weights(const std::string& path);

// GGUF (llama.cpp), versions 2 and 3. Big-endian files and types without a StoredType are refused.
WeightFile read_gguf(const std::string& path);
// The .bin files of llama2.c's first export ("legacy", version 0): LLaMA in f32, without names of tensors.
WeightFile read_llama2c(const std::string& path);
// A safetensors file.
WeightFile read_safetensors(const std::string& path);
// The shards in the folder of `path`, a model.safetensors.index.json, as one file. Index and shards must list the same
// tensors.
WeightFile read_sharded_safetensors(const std::string& path);

}  // namespace sink
