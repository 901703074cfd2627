// The safetensors writer: its bytes are those of the format, what the format has not is refused.
#include "engine/io/weights/safetensors_writer.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "engine/io/weights/weight_file.h"
#include "tests/support/check_refused.h"
#include "tests/support/files.h"
#include "tests/support/weight_bytes.h"

using namespace sink;

TEST_CASE("safetensors writer: its bytes are those of the format, and come in pieces") {
  TemporaryFolder folder;
  const std::string path = folder / "out.safetensors";
  std::vector<SafetensorsWriter::Entry> tensors{{"w\"1", StoredType::F32, {1, 2}}, {"n", StoredType::U8, {}}};
  {
    SafetensorsWriter writer(path, tensors, {{"made by", "us\n\n"}});
    std::string numbers = raw_floats({1, 2}) + "\5";
    for (char byte : numbers) writer.write(&byte, 1);
    CHECK(read_bytes(path).empty());
    writer.commit();
  }
  std::string header =
      R"({"__metadata__":{"made by":"us\n\n"},"w\"1":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
      R"("n":{"dtype":"U8","shape":[],"data_offsets":[8,9]}})";
  CHECK(header.size() % 8 != 0);
  header.resize((header.size() + 7) / 8 * 8, ' ');
  CHECK(read_bytes(path) == raw_u64(header.size()) + header + raw_floats({1, 2}) + "\5");
  WeightFile file = read_safetensors(path);
  CHECK(file.tensor("w\"1").shape == Shape{1, 2});
  CHECK(file.metadata("made by").text() == "us\n\n");
  CHECK(entries(folder.path) == 1);
}

TEST_CASE("safetensors writer: what the format has not is refused, and no file stays behind") {
  TemporaryFolder folder;
  const std::string path = folder / "out.safetensors";
  using Entries = std::vector<SafetensorsWriter::Entry>;
  auto refuse = [&](const Entries& entries, std::initializer_list<std::string> words) {
    check_refused([&] { SafetensorsWriter writer(path, entries); }, words);
  };
  refuse({{"a", StoredType::Q8_0, {32}}}, {"`a` is Q8_0"});
  refuse({{"a", StoredType::F32, {1}}, {"a", StoredType::F32, {1}}}, {"`a`", "of two"});
  refuse({{"__metadata__", StoredType::F32, {1}}}, {"`__metadata__`"});
  refuse({{"", StoredType::F32, {1}}}, {"cannot be the name"});
  refuse({{"\xff", StoredType::F32, {1}}}, {"not UTF-8"});
  {
    SafetensorsWriter writer(path, {{"a", StoredType::F32, {1}}});
    writer.write("1234", 3);
    check_refused([&] { writer.commit(); }, {"miss 1 bytes"});
    check_refused([&] { writer.write("12", 2); }, {"got 2 bytes", "1 left"});
  }
  CHECK(entries(folder.path) == 0);
}
