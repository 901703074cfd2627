// What must hold of weights that a reader accepted, whatever the bytes.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/io/weights/weight_file.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/support/decode_rows.h"

namespace sink {

inline void look_at(const MetadataValue& value) {
  if (value.type == MetadataType::array) value.for_each([](const MetadataValue& element) { look_at(element); });
  if (value.type == MetadataType::text) must(printable(value.text()).size() < 7 * value.bytes.size() + 1, "a text");
}

// Reads `input` as a file, and all that it has, at most `times` its size.
inline void read_all(WeightFile (*read)(const std::string& path), std::string_view input, std::size_t times = 1) {
  FuzzFile on_disk(input);
  may_refuse({Exit::corrupt_checkpoint}, [&] {
    WeightFile file = read(on_disk.path());
    std::size_t bytes = 0;
    std::vector<float> row;
    for (const StoredTensor& tensor : file.tensors()) {
      must(file.find(tensor.name) == &tensor, "tensors are found by their names");
      must(tensor.bytes == stored_bytes(tensor.name, tensor.type, tensor.shape), "bytes are those of the shape");
      bytes += tensor.bytes;
      for (std::int64_t r = 0; r < tensor.rows(); ++r) {
        row.resize(static_cast<std::size_t>(tensor.row_size()));
        decode_rows(tensor, r, 1, row.data());
      }
    }
    must(bytes <= times * input.size(), "no byte belongs to two tensors");
    for (const MetadataValue& value : file.metadata()) {
      must(file.find_metadata(value.key) == &value, "entries are found by their keys");
      look_at(value);
    }
  });
}

}  // namespace sink
