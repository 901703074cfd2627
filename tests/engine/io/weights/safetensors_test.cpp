// safetensors: files of other programs and by hand, what is refused, shards, and the writer.
#include <doctest/doctest.h>

#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/io/weights/weight_file.h"
#include "tests/support/check_refused.h"
#include "tests/support/decode_rows.h"
#include "tests/support/files.h"
#include "tests/support/weight_bytes.h"

using namespace sink;

namespace {

const std::string kGolden = SINK_SOURCE_DIR "/tests/golden/weights/";

void check_header_refused(const std::string& header, const std::string& numbers,
                          std::initializer_list<std::string> words) {
  TemporaryFolder folder;
  write_bytes(folder / "x.safetensors", safetensors_bytes(header, numbers));
  std::string message;
  CHECK(exit_of([&] { open_weights(folder / "x.safetensors"); }, &message) == Exit::corrupt_checkpoint);
  CHECK(contains(message, "x.safetensors"));
  CHECK(!contains(message, "\n"));
  for (const std::string& word : words) CHECK_MESSAGE(contains(message, word), word, " in ", message);
}

std::string object(const std::string& members) {
  std::string text = "{";
  return text.append(members).append("}");
}

std::string tensor_json(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"("a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

float first_number(const WeightFile& file, const char* name) {
  std::vector<float> row(static_cast<std::size_t>(file.tensor(name).row_size()));
  decode_rows(file.tensor(name), 0, 1, row.data());
  return row.at(0);
}

}  // namespace

TEST_CASE("safetensors: names, types, shapes, numbers and texts of a file by hand") {
  TemporaryFolder folder;
  write_bytes(folder / "model.safetensors", small_safetensors());
  for (const std::string& path : {folder / "model.safetensors", folder.path}) {
    WeightFile file = open_weights(path);
    CHECK(file.format() == "safetensors");
    REQUIRE(file.tensors().size() == 2);
    const StoredTensor& a = file.tensor("a");
    CHECK(a.type == StoredType::F32);
    CHECK(a.shape == Shape{2, 3});
    CHECK(a.bytes == 24);
    float numbers[6];
    decode_rows(a, 0, 2, numbers);
    for (int i = 0; i < 6; ++i) CHECK(numbers[i] == static_cast<float>(i + 1));
    CHECK(first_number(file, "b") == -7);
    CHECK(file.metadata("format").text() == "pt");
    CHECK(file.find("c") == nullptr);
    CHECK(file.find_metadata("a") == nullptr);
    check_refused([&] { file.tensor("c"); }, {"no tensor `c`"}, Exit::corrupt_checkpoint);
    check_refused([&] { file.metadata("format").integer(); }, {"`format` is a text; expected a whole number"},
                  Exit::corrupt_checkpoint);
    WeightFile moved = std::move(file);
    CHECK(moved.metadata("format").text() == "pt");
    CHECK(first_number(moved, "a") == 1);
  }
}

TEST_CASE("safetensors: a file of PyPI safetensors with every type, a scalar and an empty tensor") {
  WeightFile file = open_weights(kGolden + "types.safetensors");
  CHECK(file.tensors().size() == 12);
  CHECK(file.tensor("float64").type == StoredType::F64);
  CHECK(file.tensor("bfloat16").type == StoredType::BF16);
  CHECK(file.tensor("bool").type == StoredType::Bool);
  CHECK(file.tensor("scalar").shape == Shape{});
  CHECK(file.tensor("empty").shape == Shape{0, 3});
  CHECK(file.metadata("a\u00efb").text() == "\"quoted\"\n");
}

TEST_CASE("safetensors: a header that breaks a rule is refused, with the tensor and the rule") {
  const std::string four(4, 'x'), good = tensor_json("F32", "[1]", "[0,4]");
  check_header_refused(object(tensor_json("F32", "[1]", "[0,5]")), "xxxxx", {"`a` is F32 (1), 4 bytes", "[0, 5]"});
  check_header_refused(object(tensor_json("F32", "[1]", "[4,0]")), four, {"[4, 0]"});
  check_header_refused(object(tensor_json("F32", "[1]", "[4,8]")), four + four, {"offset 4; expected 0"});
  check_header_refused(object(good), "xxxxx", {"have 4 bytes, and 5 follow"});
  check_header_refused(object(good), "xxx", {"have 4 bytes, and 3 follow"});
  check_header_refused("{}", "x", {"have 0 bytes, and 1 follow"});
  check_header_refused(object(good + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]})"), "xxxxxx",
                       {"`b` begins at offset 2; expected 4"});
  check_header_refused(object(good + "," + tensor_json("F32", "[1]", "[4,8]")), four + four, {"`a` twice"});
  check_header_refused(object(tensor_json("F32", "[4294967296,4294967296,4294967296]", "[0,0]")), "",
                       {"more elements than any memory"});
  check_header_refused(object(tensor_json("F64", "[281474976710655]", "[0,8]")), "", {"2251799813685240 bytes"});
  check_header_refused(object(tensor_json("F8_E5M2", "[1]", "[0,1]")), "x", {"cannot read", "`F8_E5M2`", "F64 F32"});
  check_header_refused(object(tensor_json("f32", "[1]", "[0,4]")), four, {"`f32`"});
  for (const char* number :
       {"-1", "1.0", "1e0", "9223372036854775808", "99999999999999999999", "true", "null", "\"1\"", "[1]", "{}"})
    check_header_refused(object(tensor_json("F32", std::string("[") + number + "]", "[0,4]")), four, {"at `a`"});
  check_header_refused(object(tensor_json("F32", "[1,1,1,1,1,1]", "[0,4]")), four, {"at most 5 sizes"});
  for (const char* offsets : {"[0]", "[0,4,4]", "[]", "4", "[0,-4]"})
    check_header_refused(object(tensor_json("F32", "[1]", offsets)), four, {"at `a`"});
  check_header_refused(R"({"a":{"dtype":"F32","shape":[1]}})", four, {"`a` has no data_offsets"});
  check_header_refused(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", four, {"`a` has no dtype"});
  check_header_refused(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", four, {"`a` has no shape"});
  check_header_refused(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", four,
                       {"`dtype` twice"});
  check_header_refused(R"({"a":{"dtype":"F32","more":1,"shape":[1],"data_offsets":[0,4]}})", four, {"got `more`"});
  check_header_refused(R"({"a":3})", four, {"expected an object for each name, got 3"});
  check_header_refused(R"({"a":[]})", four, {"a list"});
  check_header_refused(R"({"__metadata__":{"k":1},)" + good + "}", four, {"expected a text for each key"});
  check_header_refused(R"({"__metadata__":{"k":"1","k":"2"},)" + good + "}", four, {"`k` twice"});
  check_header_refused(R"({"__metadata__":{},"__metadata__":{},)" + good + "}", four, {"`__metadata__` twice"});
  check_header_refused("[]", "", {"begins with `[`"});
  check_header_refused(" {}", "", {"begins with ` `"});
  check_header_refused("", "", {"begins with"});
  check_header_refused("{\"\xff\":1}", "", {"no valid JSON"});
  check_header_refused("{} {}", "", {"no valid JSON"});
  check_header_refused("{", "", {"no valid JSON"});
  check_header_refused(std::string(100000, '{'), "", {"no valid JSON"});
  check_header_refused(R"({"a":)" + std::string(100000, '[') + "}", "", {"nests more than 64 deep"});
}

TEST_CASE("safetensors: 40,000 empty tensors take no quadratic time") {
  std::string header = R"({"__metadata__":{"format":"pt"})";
  for (int i = 0; i < 40000; ++i)
    header += ",\"t" + std::to_string(i) + R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  TemporaryFolder folder;
  write_bytes(folder / "model.safetensors", safetensors_bytes(header + "}", ""));
  const std::clock_t start = std::clock();
  CHECK(open_weights(folder.path).tensors().size() == 40000);
  CHECK((std::clock() - start) / CLOCKS_PER_SEC < 10);
}

TEST_CASE("safetensors: lengths, folders and other files") {
  TemporaryFolder folder;
  auto refuse = [&](const std::string& bytes, std::initializer_list<std::string> words) {
    write_bytes(folder / "x.safetensors", bytes);
    check_refused([&] { open_weights(folder / "x.safetensors"); }, words, Exit::corrupt_checkpoint);
  };
  refuse("", {"expected 8 bytes", "got 0"});
  refuse(raw_u64(~std::uint64_t{0}) + "{}", {"18446744073709551615", "only 2 bytes follow"});
  refuse(raw_u64(3) + "{}", {"says 3", "only 2 bytes follow"});
  refuse(raw_u64(100'000'001) + "{}" + std::string(100'000'000, ' '), {"100000001 bytes; expected at most 100000000"});
  refuse("PK\3\4........", {"pickle", "convert its folder to safetensors", "from_pretrained('" + folder.path + "')"});
  check_refused([&] { open_weights(folder / "none.safetensors"); }, {"cannot open", "none.safetensors"},
                Exit::bad_input);
  check_refused([&] { open_weights(folder.path); }, {"has no weights", "model.safetensors.index.json"},
                Exit::bad_input);
  check_refused([&] { read_safetensors(folder.path); }, {"is not a file"}, Exit::bad_input);
  std::filesystem::create_symlink(folder / "loop", folder / "loop");
  check_refused([&] { open_weights(folder / "loop"); }, {"cannot open"}, Exit::bad_input);
}

TEST_CASE("safetensors: a folder that only has a pickle of PyTorch is refused with the command that converts it") {
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    TemporaryFolder folder;
    write_bytes(folder / name, "PK\3\4........");
    check_refused([&] { open_weights(folder.path); },
                  {folder / name + " is a pickle of PyTorch",
                   "python3 -c \"from transformers import AutoModelForCausalLM as M; M.from_pretrained('" +
                       folder.path + "').save_pretrained('" + folder.path + "', safe_serialization=True)\""},
                  Exit::corrupt_checkpoint);
    write_bytes(folder / "model.safetensors", small_safetensors());  // after the command
    CHECK_NOTHROW(open_weights(folder.path));
  }
}

TEST_CASE("safetensors: the shards of an index are one file") {
  for (const char* path : {"sharded", "sharded/model.safetensors.index.json"}) {
    WeightFile file = open_weights(kGolden + path);
    CHECK(file.tensors().size() == 3);
    CHECK(first_number(file, "a") == 1);
    CHECK(first_number(file, "b") == 2);
    CHECK(first_number(file, "c") == 3);
    CHECK(file.tensor("c").shape == Shape{1, 4});
    CHECK(file.metadata("total_size").text() == "44");
  }
}

TEST_CASE("safetensors: shards without an index are one file, and all are needed") {
  TemporaryFolder folder;
  auto shard = [](const char* name) {
    return safetensors_bytes(std::string("{\"") + name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                             raw_floats({2}));
  };
  write_bytes(folder / "model-00002-of-00002.safetensors", shard("b"));
  CHECK(contains(error_of([&] { open_weights(folder.path); }), "model-00001-of-00002.safetensors"));
  write_bytes(folder / "model-00001-of-00002.safetensors", shard("a"));
  CHECK(open_weights(folder.path).tensors().size() == 2);
  CHECK(first_number(open_weights(folder.path), "b") == 2);
  write_bytes(folder / "model-00002-of-00002.safetensors", shard("a"));
  CHECK(contains(error_of([&] { open_weights(folder.path); }), "two tensors `a`"));
}

TEST_CASE("safetensors: an index that does not fit its shards is refused") {
  TemporaryFolder folder;
  auto put = [&](const std::string& name, const std::string& tensor) {
    write_bytes(folder / name,
                safetensors_bytes("{\"" + tensor + R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x"));
  };
  put("1.safetensors", "a");
  put("2.safetensors", "b");
  put("2a.safetensors", "a");
  auto open = [&](const std::string& json) {
    write_bytes(folder / "model.safetensors.index.json", json);
    return open_weights(folder.path).tensors().size();
  };
  auto refuse = [&](const std::string& json, std::initializer_list<std::string> words,
                    Exit code = Exit::corrupt_checkpoint) { check_refused([&] { open(json); }, words, code); };
  CHECK(open(R"({"x":[[1,{"weight_map":1}]],"weight_map":{"a":"1.safetensors","b":"2.safetensors"},"y":null})") == 2);
  CHECK(open(R"({"metadata":{"total_size":-1.5,"x":{"y":["z"]}},"weight_map":{}})") == 0);
  refuse(R"({"weight_map":{"a":"1.safetensors","b":"1.safetensors"}})", {"`b` is not in `1.safetensors`"});
  refuse(R"({"weight_map":{"a":"2a.safetensors","b":"1.safetensors"}})",
         {"`a` is in `1.safetensors`", "2a.safetensors"});
  refuse(R"({"weight_map":{"b":"2a.safetensors"}})", {"`a` is in `2a.safetensors`", "nothing of it"});
  refuse(R"({"weight_map":{"a":"1.safetensors","a":"2a.safetensors"}})", {"`a` twice"});
  refuse(R"({"weight_map":{"a":"3.safetensors"}})", {"cannot open", "3.safetensors"}, Exit::bad_input);
  refuse(R"({"weight_map":{"a":"model.safetensors.index.json"}})", {"index.json", "not another index"});
  for (const char* file : {"../1.safetensors", "/etc/passwd", "..", ".", "", "a\\\\b", ".hidden", "a\\u0000b"})
    refuse(std::string(R"({"weight_map":{"a":")") + file + "\"}}",
           {"expected a plain name of a file next to the index"});
  refuse("{}", {"no `weight_map`"});
  refuse("[]", {"expected an object"});
  refuse("3", {"expected an object"});
  refuse(R"({"weight_map":[]})", {"an object of names and files"});
  refuse(R"({"weight_map":"a"})", {"an object of names and files"});
  refuse(R"({"weight_map":{"a":{}}})", {"at `a`", "expected the name of a file"});
  refuse(R"({"weight_map":{"a":1}})", {"at `a`", "expected the name of a file"});
  refuse(R"({"weight_map":{},"weight_map":{}})", {"`weight_map` twice"});
  refuse(R"({"metadata":{"a":1,"a":2},"weight_map":{}})", {"`a` twice"});
  refuse(R"({"weight_map":{})", {"no valid JSON"});
  // Links lead where they lead, as those of the Hugging Face cache do; in a circle they lead nowhere.
  TemporaryFolder elsewhere;
  std::filesystem::rename(folder / "1.safetensors", elsewhere / "blob");
  std::filesystem::create_symlink(elsewhere / "blob", folder / "1.safetensors");
  CHECK(open(R"({"weight_map":{"a":"1.safetensors"}})") == 1);
  std::filesystem::create_symlink("circle.safetensors", folder / "circle.safetensors");
  refuse(R"({"weight_map":{"a":"circle.safetensors"}})", {"cannot open", "circle.safetensors"}, Exit::bad_input);
}
