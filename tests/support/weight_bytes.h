// Files of weights, byte by byte, as their formats are described: for tests, and to begin fuzzing with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sink {

// The bytes of a value in a file: little-endian.
template <class T>
std::string raw_bytes(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
inline std::string raw_u32(std::uint32_t value) { return raw_bytes(value); }
inline std::string raw_u64(std::uint64_t value) { return raw_bytes(value); }

inline std::string raw_floats(const std::vector<float>& values) {
  std::string bytes;
  for (float value : values) bytes += raw_bytes(value);
  return bytes;
}

inline std::string safetensors_bytes(const std::string& header, const std::string& numbers) {
  return raw_u64(header.size()) + header + numbers;
}

inline std::string gguf_text(const std::string& text) { return raw_u64(text.size()) + text; }

// "GGUF", version, counts; then the given entries and tensors, padding up to the alignment, and the data.
struct GgufBytes {
  std::uint32_t version = 3;
  std::vector<std::string> entries, tensors;
  std::string numbers;
  std::size_t alignment = 32;

  // `value` is the u32 of its type and what follows.
  void entry(const std::string& key, const std::string& value) { entries.push_back(gguf_text(key) + value); }
  void tensor(const std::string& name, const std::vector<std::uint64_t>& inner_first, std::uint32_t type,
              std::uint64_t offset) {
    std::string axes;
    for (std::uint64_t size : inner_first) axes += raw_u64(size);
    tensors.push_back(gguf_text(name) + raw_u32(static_cast<std::uint32_t>(inner_first.size())) + axes + raw_u32(type) +
                      raw_u64(offset));
  }
  std::string bytes() const {
    std::string all = "GGUF" + raw_u32(version) + raw_u64(tensors.size()) + raw_u64(entries.size());
    for (const std::string& e : entries) all += e;
    for (const std::string& t : tensors) all += t;
    all.resize((all.size() + alignment - 1) / alignment * alignment, '\0');
    return all + numbers;
  }
};

// A small file with an entry of several kinds, lists in lists, and an F32 tensor (2, 3) and a Q8_0 one (1, 32).
inline GgufBytes small_gguf() {
  GgufBytes file;
  file.entry("general.architecture", raw_u32(8) + gguf_text("llama"));
  file.entry("n", raw_u32(4) + raw_u32(7));
  file.entry("yes", raw_u32(7) + "\1");
  file.entry("words", raw_u32(9) + raw_u32(8) + raw_u64(2) + gguf_text("a") + gguf_text("bc"));
  std::string list = raw_u32(5) + raw_u64(2) + raw_u32(1) + raw_u32(2);
  file.entry("lists", raw_u32(9) + raw_u32(9) + raw_u64(2) + list + list);
  file.tensor("a", {3, 2}, 0, 0);
  file.tensor("b", {32, 1}, 8, 32);
  file.numbers = raw_floats({1, 2, 3, 4, 5, 6}) + std::string(8, '\0');
  file.numbers += raw_bytes(std::uint16_t{0x3800}) + std::string(32, '\x02');  // 0.5; 2
  return file;
}

// GGUF in two files: part `n`, from 0; the first has the metadata of the model.
inline std::string part_of_two(std::uint16_t n, const std::string& tensor, std::uint32_t tensors = 2) {
  GgufBytes file;
  if (n == 0) file.entry("general.architecture", raw_u32(8) + gguf_text("llama"));
  file.entry("split.no", raw_u32(2) + raw_bytes(n));
  file.entry("split.count", raw_u32(2) + raw_bytes(std::uint16_t{2}));
  file.entry("split.tensors.count", raw_u32(5) + raw_u32(tensors));
  file.tensor(tensor, {1}, 0, 0);
  file.numbers = raw_floats({static_cast<float>(n)});
  return file.bytes();
}

inline const char* small_safetensors_header() {
  return R"({"__metadata__":{"format":"pt"},"b":{"dtype":"I16","shape":[2],"data_offsets":[24,28]},)"
         R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";
}
inline std::string small_safetensors() {
  return safetensors_bytes(small_safetensors_header(),
                           raw_floats({1, 2, 3, 4, 5, 6}) + raw_bytes(std::int16_t{-7}) + raw_bytes(std::int16_t{9}));
}

// dim 4, hidden_dim 3, 2 layers, 2 heads, 1 key-value head, 5 words, 2 positions. The weights are 0, 1, 2, ...
inline std::string small_llama2c(bool shared = true) {
  std::string bytes;
  for (std::int32_t size : {4, 3, 2, 2, 1, shared ? 5 : -5, 2}) bytes += raw_bytes(size);
  int of_layers = 2 * (4 + 16 + 8 + 8 + 16 + 4 + 12 + 12 + 12);
  for (int i = 0; i < 20 + of_layers + 4 + 2 + 2 + (shared ? 0 : 20); ++i) bytes += raw_bytes(static_cast<float>(i));
  return bytes;
}

}  // namespace sink
