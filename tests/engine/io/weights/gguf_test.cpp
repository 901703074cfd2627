// GGUF: a file by hand, one of PyPI gguf, and what is refused.
#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "engine/io/weights/weight_file.h"
#include "tests/support/check_refused.h"
#include "tests/support/decode_rows.h"
#include "tests/support/files.h"
#include "tests/support/weight_bytes.h"

using namespace sink;

namespace {

struct GgufFile : TemporaryFolder {
  explicit GgufFile(const std::string& bytes) { write_bytes(*this / "x.gguf", bytes); }
  WeightFile open() const { return open_weights(*this / "x.gguf"); }
};

void check_gguf_refused(const std::string& bytes, std::initializer_list<std::string> words) {
  GgufFile file(bytes);
  std::string message;
  CHECK(exit_of([&] { read_gguf(file / "x.gguf"); }, &message) == Exit::corrupt_checkpoint);
  CHECK(contains(message, "x.gguf"));
  CHECK(!contains(message, "\n"));
  for (const std::string& word : words) CHECK_MESSAGE(contains(message, word), word, " in ", message);
}

// The small file, changed.
template <class Change>
void check_changed_refused(Change&& change, std::initializer_list<std::string> words) {
  GgufBytes file = small_gguf();
  change(file);
  check_gguf_refused(file.bytes(), words);
}

}  // namespace

TEST_CASE("gguf: entries, shapes outermost first, and numbers of a file by hand, of versions 2 and 3") {
  for (std::uint32_t version : {2u, 3u}) {
    GgufBytes bytes = small_gguf();
    bytes.version = version;
    WeightFile file = GgufFile(bytes.bytes()).open();
    CHECK(file.format() == "GGUF");
    REQUIRE(file.tensors().size() == 2);
    CHECK(file.tensors()[0].name == "a");
    CHECK(file.tensor("a").shape == Shape{2, 3});
    CHECK(file.tensor("b").shape == Shape{1, 32});
    CHECK(file.tensor("b").type == StoredType::Q8_0);
    float numbers[32];
    decode_rows(file.tensor("a"), 1, 1, numbers);
    CHECK(numbers[0] == 4);
    CHECK(numbers[2] == 6);
    decode_rows(file.tensor("b"), 0, 1, numbers);
    CHECK(numbers[0] == 1);
    CHECK(numbers[31] == 1);
    CHECK(file.metadata("general.architecture").text() == "llama");
    CHECK(file.metadata("n").integer() == 7);
    CHECK(file.metadata("n").real() == 7);
    CHECK(file.metadata("yes").boolean());
    CHECK(file.metadata("words").texts() == std::vector<std::string_view>{"a", "bc"});
    std::vector<std::vector<std::int64_t>> lists;
    file.metadata("lists").for_each([&](const MetadataValue& list) { lists.push_back(list.integers()); });
    CHECK(lists == std::vector<std::vector<std::int64_t>>{{1, 2}, {1, 2}});
    check_refused([&] { file.metadata("n").text(); }, {"`n` is u32; expected a text"}, Exit::corrupt_checkpoint);
    check_refused([&] { file.metadata("n").size(); }, {"expected an array"}, Exit::corrupt_checkpoint);
    check_refused([&] { file.metadata("yes").integer(); }, {"`yes` is bool"}, Exit::corrupt_checkpoint);
    check_refused([&] { file.metadata("words").integers(); }, {"`words` is a text"}, Exit::corrupt_checkpoint);
    check_refused([&] { file.metadata("words").boolean(); }, {"`words` is an array"}, Exit::corrupt_checkpoint);
    check_refused([&] { file.metadata("words").real(); }, {"expected a number"}, Exit::corrupt_checkpoint);
  }
}

TEST_CASE("gguf: every type of entry as PyPI gguf writes them") {
  WeightFile file = open_weights(SINK_SOURCE_DIR "/tests/golden/weights/blocks.gguf");
  CHECK(file.metadata("general.alignment").integer() == 64);
  CHECK(file.metadata("n.u8").integer() == 200);
  CHECK(file.metadata("n.i8").integer() == -100);
  CHECK(file.metadata("n.u16").integer() == 60000);
  CHECK(file.metadata("n.i16").integer() == -30000);
  CHECK(file.metadata("n.u32").integer() == 4000000000);
  CHECK(file.metadata("n.i32").integer() == -2000000000);
  CHECK(file.metadata("n.f32").real() == static_cast<double>(0.1f));
  CHECK(file.metadata("n.i64").integer() == -(std::int64_t{1} << 62));
  CHECK(file.metadata("n.f64").real() == 0.1);
  CHECK(file.metadata("n.u64").real() == 18446744073709551616.0);
  check_refused([&] { file.metadata("n.u64").integer(); }, {"`n.u64`", "fits 63 bits"}, Exit::corrupt_checkpoint);
  CHECK(file.metadata("n.bool").boolean());
  CHECK(file.metadata("a.text").text() == "na\u00efve \U0001f642");
  CHECK(file.metadata("a.texts").texts() ==
        std::vector<std::string_view>{"<s>", "", "\u0120the", std::string(300, 'x')});
  CHECK(file.metadata("a.numbers").integers() == std::vector<std::int64_t>{3, -1, 4});
  CHECK(file.metadata("a.reals").reals() == std::vector<double>{0.5, -0.25});
  CHECK(file.metadata("a.lists").size() == 2);
  CHECK(file.tensor("Q4_0").shape == Shape{2, 3, 64});
}

TEST_CASE("gguf: a file of a vocabulary alone, which ends with its entries") {
  GgufBytes bytes;
  bytes.entry("a", raw_u32(0) + "\7");
  bytes.alignment = 1;
  WeightFile file = GgufFile(bytes.bytes()).open();
  CHECK(file.tensors().empty());
  CHECK(file.metadata("a").integer() == 7);
}

TEST_CASE("gguf: what is no GGUF, or one that is not read, is refused by name") {
  const std::string small = small_gguf().bytes();
  check_gguf_refused("", {"expected 4 bytes of the word GGUF", "got 0"});
  check_gguf_refused("GGML" + small.substr(4), {"expected the word GGUF", "`GGML`"});
  check_changed_refused([](GgufBytes& f) { f.version = 1; }, {"cannot read", "version 1; expected 2 or 3"});
  check_changed_refused([](GgufBytes& f) { f.version = 4; }, {"version 4"});
  check_changed_refused([](GgufBytes& f) { f.version = 3 << 24; }, {"big-endian"});
  check_changed_refused([](GgufBytes& f) { f.tensor("c", {32}, 9, 96); }, {"`c` is of type 9 (Q8_1)", "Q4_K"});
  check_changed_refused([](GgufBytes& f) { f.tensor("c", {256}, 17, 96); }, {"(IQ2_XS)", "MXFP4"});
  check_changed_refused([](GgufBytes& f) { f.tensor("c", {256}, 4, 96); }, {"type 4, which"});
  check_changed_refused([](GgufBytes& f) { f.tensor("c", {256}, ~0u, 96); }, {"type 4294967295"});
}

TEST_CASE("gguf: tensors that do not fit the file are refused") {
  using Sizes = std::vector<std::uint64_t>;
  auto refuse = [](const Sizes& sizes, std::uint32_t type, std::uint64_t offset,
                   std::initializer_list<std::string> words) {
    check_changed_refused([&](GgufBytes& f) { f.tensor("c", sizes, type, offset); }, words);
  };
  refuse({1}, 0, 65, {"`c` is at offset 65; expected a multiple of 32"});
  refuse({1}, 0, 96, {"`c` has 4 bytes at offset 96 of 66"});
  refuse({1}, 0, 0, {"begins before the end of"});
  refuse({1}, 0, 32, {"begins before the end of"});
  refuse({1}, 0, ~std::uint64_t{31}, {"cut off"});
  refuse({1, 1, 1, 1, 1}, 0, 96, {"`c` has 5 axes; expected at most 4"});
  refuse({~std::uint64_t{0}}, 0, 96, {"`c` has an axis of size 18446744073709551615"});
  refuse({std::uint64_t{1} << 32, std::uint64_t{1} << 32}, 0, 96, {"more elements than any memory holds"});
  refuse({std::uint64_t{1} << 62, 0}, 0, 96, {"more elements than any memory holds"});
  refuse({33}, 8, 96, {"`c` has shape (33)", "whole blocks of 32"});
  refuse({128, 2}, 12, 96, {"whole blocks of 256"});
  refuse({255}, 10, 96, {"`c` has shape (255)", "whole blocks of 256, as Q2_K"});
  refuse({128}, 11, 96, {"whole blocks of 256, as Q3_K"});
  refuse({48}, 20, 96, {"whole blocks of 32, as IQ4_NL"});
  refuse({128}, 23, 96, {"whole blocks of 256, as IQ4_XS"});
  refuse({16, 2}, 39, 96, {"`c` has shape (2, 16)", "whole blocks of 32, as MXFP4"});
  refuse({}, 8, 96, {"whole blocks of 32"});
  check_changed_refused([](GgufBytes& f) { f.numbers.pop_back(); }, {"`b` has 34 bytes at offset 32 of 65"});
  check_changed_refused([](GgufBytes& f) { f.tensor("a", {0}, 0, 64); }, {"two tensors `a`"});
  GgufBytes empty = small_gguf();
  empty.tensor("c", {0, 5}, 0, 64);
  WeightFile file = GgufFile(empty.bytes()).open();
  CHECK(file.tensor("c").shape == Shape{5, 0});
  CHECK(file.tensor("c").bytes == 0);
  CHECK(file.tensor("c").rows() == 0);
}

TEST_CASE("gguf: every tensor begins where the one before it ends, up to the alignment; the last ends the file") {
  GgufBytes gap;  // F16 but the data are F32: half of the bytes belong to no tensor
  gap.tensor("a", {32}, 1, 0);
  gap.tensor("b", {8}, 0, 128);
  gap.numbers = raw_floats(std::vector<float>(40, 1));
  check_gguf_refused(gap.bytes(), {"`b` is at offset 128; expected 64", "`a`"});
  GgufBytes late = small_gguf();
  late.tensors.erase(late.tensors.begin());
  check_gguf_refused(late.bytes(), {"`b` is at offset 32; expected 0"});
  check_changed_refused([](GgufBytes& f) { f.tensors.pop_back(); }, {"66 bytes", "its tensors end at 24"});
  check_changed_refused([](GgufBytes& f) { f.tensors.clear(); }, {"66 bytes", "its tensors end at 0"});
  check_changed_refused([](GgufBytes& f) { f.numbers += std::string(31, '\0'); },
                        {"97 bytes", "its tensors end at 66"});
  // Between tensors there are zeros: what is no zero is a number of a tensor that says it has fewer.
  check_changed_refused([](GgufBytes& f) { f.numbers[31] = 1; },
                        {"`a`", "ends at offset 24", "before offset 32", "zeros"});
  check_changed_refused([](GgufBytes& f) { f.numbers += std::string(29, '\0') + "\1"; }, {"`b`", "ends at offset 66"});
  GgufBytes padded = small_gguf(), turned = small_gguf();
  padded.numbers += std::string(30, '\0');
  CHECK(GgufFile(padded.bytes()).open().tensor("b").bytes == 34);
  std::swap(turned.tensors[0], turned.tensors[1]);
  CHECK(GgufFile(turned.bytes()).open().tensor("b").bytes == 34);
}

TEST_CASE("gguf: entries that do not fit the file are refused") {
  auto refuse = [](const std::string& value, std::initializer_list<std::string> words) {
    check_changed_refused([&](GgufBytes& f) { f.entry("z", value); }, words);
  };
  refuse(raw_u32(13) + std::string(20, '\0'), {"says 13 as the type of a value"});
  refuse(raw_u32(7) + "\2", {"is not a bool"});
  refuse(raw_u32(9) + raw_u32(7) + raw_u64(2) + "\1\2", {"is not a bool"});
  refuse(raw_u32(8) + raw_u64(~std::uint64_t{0}), {"18446744073709551615 as the length of a text"});
  for (std::uint32_t of : {0u, 4u, 7u, 8u, 9u, 12u})
    refuse(raw_u32(9) + raw_u32(of) + raw_u64(std::uint64_t{1} << 61), {"2305843009213693952 as the size of an array"});
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += raw_u32(9) + raw_u64(1);
  refuse(raw_u32(9) + deep, {"more than 8 deep"});
  check_changed_refused([](GgufBytes& f) { f.entry("n", raw_u32(4) + raw_u32(7)); }, {"says `n` twice"});
  for (std::uint32_t alignment : {0u, 4u, 24u, 1u << 21, ~0u})
    check_changed_refused([&](GgufBytes& f) { f.entry("general.alignment", raw_u32(4) + raw_u32(alignment)); },
                          {"`general.alignment` is " + std::to_string(alignment), "a power of two"});
  check_changed_refused([](GgufBytes& f) { f.entry("general.alignment", raw_u32(10) + raw_u64(32)); }, {"not a u32"});
  std::string bytes = small_gguf().bytes();
  for (std::size_t at : {8u, 16u}) {
    std::string changed = bytes;
    changed.replace(at, 8, raw_u64(std::uint64_t{1} << 60));
    check_gguf_refused(changed, {"1152921504606846976"});
  }
}

TEST_CASE("gguf: a model in two files opens by each of them, and only whole") {
  TemporaryFolder folder;
  const std::string first = folder / "m-00001-of-00002.gguf", second = folder / "m-00002-of-00002.gguf";
  write_bytes(first, part_of_two(0, "a"));
  CHECK(contains(error_of([&] { open_weights(first); }), "m-00002-of-00002.gguf is missing"));
  write_bytes(second, part_of_two(1, "b"));
  for (const std::string& path : {first, second}) {
    const WeightFile file = open_weights(path);
    CHECK(file.metadata("general.architecture").text() == "llama");
    float a = -1, b = -1;
    decode_rows(file.tensor("a"), 0, 1, &a);
    decode_rows(file.tensor("b"), 0, 1, &b);
    CHECK(a == 0);
    CHECK(b == 1);
  }
  write_bytes(second, part_of_two(0, "b"));
  CHECK(contains(error_of([&] { open_weights(first); }), "is no part 2 of this model"));
  write_bytes(second, part_of_two(1, "a"));
  CHECK(contains(error_of([&] { open_weights(first); }), "two tensors `a`"));
  write_bytes(first, part_of_two(0, "a", 3));
  write_bytes(second, part_of_two(1, "b", 3));
  CHECK(contains(error_of([&] { open_weights(second); }), "expected 3 (`split.tensors.count`)"));
  write_bytes(folder / "other.gguf", part_of_two(1, "b"));
  CHECK(contains(error_of([&] { open_weights(folder / "other.gguf"); }), "part 2 of 2"));
}

TEST_CASE("gguf: files that are no model say what they are") {
  for (const auto& [type, word] : {std::pair{"mmproj", "mmproj"}, {"imatrix", "importance"}, {"adapter", "LoRA"}}) {
    GgufBytes file;
    file.entry("general.type", raw_u32(8) + gguf_text(type));
    CHECK(contains(error_of([&] { GgufFile(file.bytes()).open(); }), word));
  }
  CHECK(contains(error_of([] { GgufFile("version https://git-lfs.github.com/spec/v1\n").open(); }), "git lfs pull"));
  CHECK(contains(error_of([] { GgufFile("<!DOCTYPE html>").open(); }), "HTML"));
}

TEST_CASE("gguf: a vocabulary of 250000 words opens quickly, and its words lie in the file") {
  GgufBytes bytes;
  std::string words = raw_u32(9) + raw_u32(8) + raw_u64(250000);
  for (int i = 0; i < 250000; ++i) words += gguf_text("word " + std::to_string(i));
  bytes.entry("words", words);
  GgufFile on_disk(bytes.bytes());
  auto start = std::chrono::steady_clock::now();
  WeightFile file = on_disk.open();
  std::vector<std::string_view> read = file.metadata("words").texts();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  CHECK(read.size() == 250000);
  CHECK(read[249999] == "word 249999");
  MESSAGE("250000 words in ", seconds * 1000, " ms");
  CHECK(seconds < 1);
}
