// Every file cut at every byte, and with hostile values at every byte. The result is an Error in one line or a sound
// file; never a crash, and never more memory than the file fills.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include "engine/io/weights/weight_file.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/support/decode_rows.h"
#include "tests/support/files.h"
#include "tests/support/weight_bytes.h"

namespace {
std::size_t largest_allocation = 0;
}

void* operator new(std::size_t bytes) {
  largest_allocation = std::max(largest_allocation, bytes);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace sink;

namespace {

struct Tried {
  int opened = 0, refused = 0;
};

using Read = WeightFile (*)(const std::string& path);

void try_bytes(Read read, const std::string& bytes, Tried& tried) {
  FuzzFile on_disk(bytes);  // in memory, as files of a disk take a minute
  std::string message;
  largest_allocation = 0;
  Exit code = exit_of(
      [&] {
        WeightFile file = read(on_disk.path());
        std::size_t largest = largest_allocation;
        for (const StoredTensor& tensor : file.tensors()) {
          CHECK(tensor.bytes <= bytes.size());
          std::vector<float> row(tensor.rows() > 0 ? static_cast<std::size_t>(tensor.row_size()) : 0);
          for (std::int64_t r = 0; r < tensor.rows(); ++r) decode_rows(tensor, r, 1, row.data());
        }
        for (const MetadataValue& value : file.metadata())
          if (value.type == MetadataType::array) value.for_each([](const MetadataValue&) {});
        largest_allocation = largest;
      },
      &message);
  CHECK(largest_allocation <= 16 * bytes.size() + 8192);
  if (code == Exit::ok) {
    ++tried.opened;
    return;
  }
  ++tried.refused;
  CHECK(code == Exit::corrupt_checkpoint);
  CHECK(message.size() < 1000);
  CHECK(!contains(message, "\n"));
}

Tried try_all(Read read, const std::string& sound) {
  Tried tried;
  for (std::size_t size = 0; size < sound.size(); ++size) try_bytes(read, sound.substr(0, size), tried);
  CHECK(tried.opened == 0);
  for (std::size_t at = 0; at < sound.size(); ++at) {
    for (std::uint64_t number : {0ull, 1ull, 0x7fffffffull, 0xffffffffull, 1ull << 32, 1ull << 60, ~0ull >> 1, ~0ull})
      for (std::size_t width : {4u, 8u}) {
        std::string changed = sound;
        width = std::min(width, sound.size() - at);
        changed.replace(at, width, raw_u64(number).substr(0, width));
        try_bytes(read, changed, tried);
      }
  }
  try_bytes(read, sound, tried);
  return tried;
}

// Two files of one model, of which the bytes of `path` are one.
std::string first_part, hostile_part;
WeightFile read_two_parts(const std::string& path) {
  std::filesystem::remove(hostile_part);
  std::filesystem::create_symlink(path, hostile_part);
  return open_weights(first_part);
}

}  // namespace

TEST_CASE("hostile: safetensors") {
  Tried tried = try_all(read_safetensors, small_safetensors());
  CHECK(tried.refused > 2000);
  CHECK(tried.opened > 100);  // changed values, and other names
}
TEST_CASE("hostile: GGUF") {
  Tried tried = try_all(read_gguf, small_gguf().bytes());
  CHECK(tried.refused > 2000);
  CHECK(tried.opened > 100);
}
TEST_CASE("hostile: GGUF in two files") {
  const TemporaryFolder folder;
  const std::string first = folder / "m-00001-of-00002.gguf", second = folder / "m-00002-of-00002.gguf";
  const auto try_part = [&](const std::string& path, const std::string& bytes) {
    first_part = first;
    hostile_part = path;
    const Tried tried = try_all(read_two_parts, bytes);
    CHECK(tried.refused > 1000);
    CHECK(tried.opened > 100);
    std::filesystem::remove(path);
    write_bytes(path, bytes);
  };
  write_bytes(second, part_of_two(1, "b"));
  try_part(first, part_of_two(0, "a"));
  try_part(second, part_of_two(1, "b"));
}
TEST_CASE("hostile: llama2.c") {
  Tried tried = try_all(read_llama2c, small_llama2c());
  CHECK(tried.refused > 500);
  CHECK(tried.opened > 100);
}
TEST_CASE("hostile: an index") {
  Tried tried;
  const std::string index = R"({"metadata":{"total_size":1},"weight_map":{"a":"1.safetensors"}})";
  for (std::size_t size = 0; size < index.size(); ++size)
    try_bytes(read_sharded_safetensors, index.substr(0, size), tried);
  CHECK(tried.opened == 0);
}
