// Tests of tokens.h5: what goes in comes out, and damage is noticed.
#include "engine/data/token_file.h"

#include <doctest/doctest.h>
#include <hdf5.h>

#include "tests/engine/data/data_support.h"

using namespace sink;

TEST_CASE("token file: comes back as it was, in 16 or 32 bits") {
  TemporaryFolder folder;
  for (std::int64_t vocabulary : {258, 65536, 65537, 100000}) {
    TokenFile file;
    file.vocabulary = vocabulary;
    file.sources = "a.txt 5\nb.txt 6\n";
    file.tokenizer_sha256 = sha256_hex("x");
    for (std::int32_t i = 0; i < 5000; ++i) file.train.push_back(static_cast<std::int32_t>(i * 7919 % vocabulary));
    file.valid = {0, 1, static_cast<std::int32_t>(vocabulary - 1)};
    std::string bytes = to_token_file_bytes(file);
    write_bytes(folder / "tokens.h5", bytes);
    CHECK((bytes.size() > 4 * 5003) == (vocabulary > 65536));
    TokenFile again = read_token_file(folder / "tokens.h5");
    CHECK(again.train == file.train);
    CHECK(again.valid == file.valid);
    CHECK(again.vocabulary == file.vocabulary);
    CHECK(again.sources == file.sources);
    CHECK(again.tokenizer_sha256 == file.tokenizer_sha256);
  }
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
