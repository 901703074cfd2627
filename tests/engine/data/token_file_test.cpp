// Tests of tokens.h5: what goes in comes out, and damage is noticed.
#include "engine/data/token_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <hdf5.h>
#include <unistd.h>

#include "engine/io/hdf5_index.h"
#include "engine/io/hdf5_reader.h"
#include "tests/engine/data/data_support.h"

using namespace sink;

TEST_CASE("token file: comes back as it was, in 16 or 32 bits") {
  TemporaryFolder folder;
  for (std::int64_t vocabulary : {258, 65536, 65537, 100000}) {
    NewTokens file{.train = {}, .valid = {0, 1, static_cast<std::int32_t>(vocabulary - 1)}, .vocabulary = vocabulary};
    file.sources = "a.txt 5\nb.txt 6\n";
    file.tokenizer_sha256 = sha256_hex("x");
    file.begin_token = vocabulary % 2 == 0 ? vocabulary - 1 : -1;
    for (std::int32_t i = 0; i < 5000; ++i) file.train.push_back(static_cast<std::int32_t>(i * 7919 % vocabulary));
    write_tokens(folder / "tokens.h5", file);
    CHECK((read_bytes(folder / "tokens.h5").size() > 4 * 5003) == (vocabulary > 65536));
    TokenFile again = read_token_file(folder / "tokens.h5");
    CHECK(values(again.train) == file.train);
    CHECK(values(again.valid) == file.valid);
    CHECK(again.vocabulary == file.vocabulary);
    CHECK(again.sources == file.sources);
    CHECK(again.tokenizer_sha256 == file.tokenizer_sha256);
    CHECK(again.begin_token == file.begin_token);
    CHECK(again.checksum == tokens_checksum(again.train, again.valid));
    std::vector<std::int32_t> two(2);
    again.train.copy(17, 2, two.data());
    CHECK(two == std::vector<std::int32_t>{file.train[17], file.train[18]});
    for (auto [begin, count] : {std::pair{5000, 1}, {-1, 1}, {0, 5001}, {4999, 2}})
      CHECK_THROWS_AS(again.train.copy(begin, count, two.data()), Error);
  }
}

TEST_CASE("token file: domains follow each other, and the bytes do not depend on when they are written") {
  TemporaryFolder folder;
  auto write = [&](const std::string& path) {
    TokenWriter writer(path, 300);
    writer.begin_domain("books", 0.25);
    writer.add_document(std::vector<std::int32_t>{1, 2, 0}, false);
    writer.add_document(std::vector<std::int32_t>{3, 0}, true);
    writer.begin_domain("law and order", 0.75);
    writer.add_document(std::vector<std::int32_t>{4, 5, 6, 0}, false);
    writer.begin_domain("nothing", 0);
    CHECK(writer.hold_out(0.5) == 0);
    writer.close({.end_of_text = 0, .sources = "", .tokenizer_sha256 = ""});
    CHECK_FALSE(std::filesystem::exists(path));  // until
    writer.commit();
  };
  write(folder / "tokens.h5");
  write(folder / "again.h5");
  CHECK(read_bytes(folder / "tokens.h5") == read_bytes(folder / "again.h5"));
  CHECK(entries(folder.path) == 2);
  TokenFile file = read_token_file(folder / "tokens.h5");
  CHECK(file.end_of_text == 0);
  CHECK(values(file.train) == std::vector<std::int32_t>{1, 2, 0, 4, 5, 6, 0});
  CHECK(values(file.valid) == std::vector<std::int32_t>{3, 0});
  CHECK(domains_to_text(file.domains) == "books\t0.25\t2\t3\t2\nlaw and order\t0.75\t1\t4\t0\nnothing\t0.0\t0\t0\t0\n");
}

TEST_CASE("token file: where one side would be empty, the last tokens are held out, across domains") {
  TemporaryFolder folder;
  for (bool validation : {false, true}) {
    TokenWriter writer(folder / "tokens.h5", 300);
    writer.begin_domain("a", 0);
    writer.add_document(std::vector<std::int32_t>{1, 2, 3, 4, 5, 6, 7}, validation);
    writer.begin_domain("b", 0);
    writer.add_document(std::vector<std::int32_t>{8, 9, 0}, validation);
    CHECK(writer.hold_out(0.4) == 4);
    writer.close({});
    writer.commit();
    TokenFile file = read_token_file(folder / "tokens.h5");
    CHECK(values(file.train) == std::vector<std::int32_t>{1, 2, 3, 4, 5, 6});
    CHECK(values(file.valid) == std::vector<std::int32_t>{7, 8, 9, 0});
    CHECK(domains_to_text(file.domains) == "a\t0.0\t1\t6\t1\nb\t0.0\t1\t0\t3\n");
  }
}

namespace {

// The words of a list of u16 as they stand in the file.
std::vector<int> words_in(const std::string& path, const std::string& name) {
  Hdf5Reader hdf5(path);
  std::uint64_t width = 0;
  MappedBytes bytes = hdf5.mapped_ids(name, width);
  std::vector<int> words;
  for (std::size_t i = 0; i < bytes.size(); i += 2) words.push_back(bytes.data()[i] + 256 * bytes.data()[i + 1]);
  return words;
}

std::vector<std::int32_t> ones_at(std::size_t size, const std::vector<std::size_t>& places) {
  std::vector<std::int32_t> marks(size);
  for (std::size_t place : places) marks[place] = 1;
  return marks;
}

std::string little_endian(const std::vector<int>& values, std::size_t width) {
  std::string bytes;
  for (int value : values)
    for (std::size_t b = 0; b < width; ++b) bytes += static_cast<char>(value >> (8 * b) & 0xff);
  return bytes;
}

}  // namespace

TEST_CASE("token file: marks of what is predicted stand sixteen a word, over the ends of documents, in the checksum") {
  TemporaryFolder folder;
  std::string path = folder / "tokens.h5";
  TokenWriter writer(path, 300, /*with_marks=*/true);
  writer.begin_domain("chat", 0);
  writer.add_document(std::vector<std::int32_t>{1, 2, 3, 4, 5}, false, ones_at(5, {0, 3}));
  writer.add_document(std::vector<std::int32_t>{9, 8}, true, ones_at(2, {1}));
  std::vector<std::int32_t> more(15, 7);
  writer.add_document(more, false, ones_at(15, {10, 14}));
  CHECK(writer.predicted_tokens() == 5);
  CHECK_THROWS_AS(writer.add_document(more, false), Error);
  writer.close({});
  writer.commit();
  CHECK(read_bytes(path).starts_with("sinklab-tokens 3\n"));
  // Tokens 0, 3, 15 and 19 of train; 1 of valid.
  CHECK(words_in(path, "train_predicted") == std::vector<int>{0x8009, 0x0008});
  CHECK(words_in(path, "valid_predicted") == std::vector<int>{0x0002});
  TokenFile file = read_token_file(path);
  for (std::int64_t t = 0; t < 20; ++t) CHECK(file.train_predicted.has(t) == (t == 0 || t == 3 || t == 15 || t == 19));
  CHECK_FALSE(file.valid_predicted.has(0));
  CHECK(file.valid_predicted.has(1));
  std::vector<int> tokens{1, 2, 3, 4, 5};
  tokens.resize(20, 7);
  CHECK(file.checksum == sha256_hex("train 20 valid 2\n" + little_endian(tokens, 4) + little_endian({9, 8}, 4) +
                                    little_endian({0x8009, 0x0008, 0x0002}, 2)));
  // Other marks are other data; without any a file is what it always was.
  CHECK(tokens_checksum(file.train, file.valid) != file.checksum);
  write_counting_text(folder, 30, 5);
  CHECK(read_bytes(path).starts_with("sinklab-tokens 2\n"));
  CHECK(read_token_file(path).train_predicted.all());
  CHECK(read_token_file(path).train_predicted.has(29));
}

TEST_CASE("token file: tokens are held out with their marks") {
  TemporaryFolder folder;
  for (bool validation : {false, true}) {
    TokenWriter writer(folder / "tokens.h5", 300, true);
    writer.begin_domain("a", 0);
    std::vector<std::int32_t> ids(70000, 5);
    writer.add_document(ids, validation, ones_at(70000, {0, 69995, 69997, 69999}));
    CHECK(writer.hold_out(4.0 / 70000) == 4);
    writer.close({});
    writer.commit();
    TokenFile file = read_token_file(folder / "tokens.h5");
    CHECK(file.train.size() == 69996);
    CHECK(file.train_predicted.has(0));
    CHECK(file.train_predicted.has(69995));
    CHECK(words_in(folder / "tokens.h5", "train_predicted")[4374] == 1 << 11);
    CHECK(words_in(folder / "tokens.h5", "valid_predicted") == std::vector<int>{0b1010});
  }
}

TEST_CASE("token file: marks that are not those of its tokens are refused") {
  TemporaryFolder folder;
  auto refusal = [&](const std::string& bytes, std::int64_t tokens) -> std::string {
    write_bytes(folder / "marks", bytes);
    int file = ::open((folder / "marks").c_str(), O_RDONLY);
    std::string why = "none";
    try {
      TokenMarks(MappedBytes(file, 0, bytes.size()), tokens);
    } catch (const Hdf5Failure& failure) { why = failure.what(); }
    ::close(file);
    return why;
  };
  CHECK(refusal("\xff\xff", 16) == "none");
  CHECK(refusal("\x01\x02\x01", 17) == "its marks are 3 bytes, 17 tokens have 4");
  CHECK(refusal("\x01\x02", 17) == "its marks are 2 bytes, 17 tokens have 4");
  CHECK(refusal("\xff\x7f", 15) == "none");
  CHECK(refusal("\xff\xff", 15) == "it marks tokens that it does not have");
}

TEST_CASE("token file: version 1 is read, with the checksum that its checkpoints hold") {
  // The file was written by `prepare` of version 1. The expected values are from h5py and hashlib, by the documented
  // format.
  TokenFile file = read_token_file(SINK_SOURCE_DIR "/tests/golden/data/tokens_version_1.h5");
  CHECK(file.checksum == "0c1455652d12b1ff62021a488e58143a6c02b091864fd718cc2aeff84659a5e1");
  CHECK(file.vocabulary == 294);
  CHECK(file.end_of_text == -1);
  CHECK(file.tokenizer_sha256 == "13a5acb5187de1321eebd0113c5eb8375fc356fd76cd30433e5a150f72806795");
  CHECK(domains_to_text(file.domains) == "text\t0.0\t0\t522\t174\n");
  std::vector<std::int32_t> train = values(file.train), valid = values(file.valid);
  CHECK(std::vector<std::int32_t>(train.begin(), train.begin() + 5) ==
        std::vector<std::int32_t>{280, 283, 271, 272, 278});
  CHECK(std::vector<std::int32_t>(valid.end() - 3, valid.end()) == std::vector<std::int32_t>{15, 222, 0});
}

TEST_CASE("token file: its list of domains must be that of its tokens") {
  for (const char* text : {"", "a\t1\t2\t3\n", "a\t1\t2\t3\t4\t5\n", "\t1\t2\t3\t4\n", "a\t-1\t2\t3\t4\n",
                           "a\t1\t2\t3\t-4\n", "a\tnan\t2\t3\t4\n", "a\t1\t2\t3\t99999999999999999999\n"})
    CHECK_THROWS_AS(domains_from_text(text), Hdf5Failure);
  std::vector<TextDomain> domains{{"a", 0.5, 1, 2, 3}, {"b", 1.0 / 3, 0, 0, 0}};
  CHECK(domains_to_text(domains_from_text(domains_to_text(domains))) == domains_to_text(domains));
}

TEST_CASE("token file: missing, foreign, truncated and damaged files are rejected with exit 3") {
  TemporaryFolder folder;
  write_counting_text(folder, 3000, 500);
  std::string path = folder / "tokens.h5", good = read_bytes(path);
  auto read = [&](const std::string& bytes) {
    write_bytes(path, bytes);
    return error_of([&] { read_token_file(path); });
  };
  CHECK(read(good) == "no error");
  CHECK(contains(error_of([&] { read_token_file(folder / "none.h5"); }), "exit 3 there is no token file"));
  CHECK(contains(error_of([&] { read_token_file(folder.path); }), "is not a file"));
  CHECK(contains(read(""), "exit 3"));
  CHECK(contains(read("plain text"), "is not a Sinklab token file"));
  for (std::size_t size = 0; size < good.size(); size += 1009) CHECK(contains(read(good.substr(0, size)), "exit 3"));
  for (std::size_t at = 0; at < good.size(); at += 151) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x11);
    CHECK(contains(read(bad), "exit 3"));
  }
}

TEST_CASE("token file: a foreign HDF5 file is rejected, ours opens in any HDF5 reader") {
  TemporaryFolder folder;
  std::string path = folder / "tokens.h5";
  H5Fclose(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  CHECK(contains(error_of([&] { read_token_file(path); }), "is an HDF5 file, but not a token file"));
  write_counting_text(folder, 30, 5);
  hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(file >= 0);
  CHECK(H5Lexists(file, "train", H5P_DEFAULT) > 0);
  H5Fclose(file);
}
