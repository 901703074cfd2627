// HDF5 files made to do harm: they are refused in one line, quickly, without memory, and nothing outside of them is
// read.
#include <doctest/doctest.h>

#include <chrono>
#include <vector>

#include "engine/io/checkpoint.h"
#include "engine/io/hdf5_reader.h"
#include "eval/token_sequences.h"
#include "tests/support/files.h"
#include "tests/support/raw_hdf5.h"

using namespace sink;

// HDF5 1.10 leaks some memory when it rejects a file. We cannot fix that.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace {

// Writes a matching checksum header into the user block of RawHdf5(path, kChecksumHeaderBytes).
void add_checksum(const std::string& path) {
  std::string body = read_bytes(path).substr(kChecksumHeaderBytes);
  write_bytes(path, make_checksum_header(kCheckpointFormat, body.data(), body.size()) + body);
}

// Makes a checkpoint with `fill`, loads it, and gives the refusal: "exit 4 ...", with the seconds it took.
template <class Fill>
std::string refusal(const TemporaryFolder& folder, Fill&& fill) {
  std::string path = folder / "hostile.h5";
  {
    RawHdf5 file(path, kChecksumHeaderBytes);
    file.attribute("format", "sinklab-checkpoint");
    fill(file);
  }
  add_checksum(path);
  auto start = std::chrono::steady_clock::now();
  std::string said = error_of([&] { load_checkpoint(path); });
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  CHECK(passed.count() < 10);
  CHECK(!contains(said, "\n"));
  return said;
}

const float kFour[] = {1, 2, 3, 4};

}  // namespace

TEST_CASE("hostile HDF5: what is sound is read as it is") {
  TemporaryFolder folder;
  CHECK(refusal(folder, [](RawHdf5& file) { file.floats("parameters/a", 4, kFour); }) == "no error");
  Checkpoint checkpoint = load_checkpoint(folder / "hostile.h5");
  CHECK(checkpoint.tensor("parameters/a").data<float>()[3] == 4);
}

TEST_CASE("hostile HDF5: external storage does not bring in another file") {
  TemporaryFolder folder;
  write_bytes(folder / "secret", "the content of another file of this disk");
  auto outside = [&](RawHdf5& file, const char* name, hid_t type, hsize_t count) {
    file.outside(name, type, count, folder / "secret", 32);
  };
  CHECK(contains(refusal(folder, [&](RawHdf5& file) { outside(file, "parameters/a", H5T_IEEE_F32LE, 8); }),
                 "parameters/a is not stored in one piece in this file"));
  hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, 32);
  CHECK(contains(refusal(folder, [&](RawHdf5& file) { outside(file, "texts/tokenizer_json", text, 1); }),
                 "exit 4 " + folder.path));
  CHECK(!contains(refusal(folder, [&](RawHdf5& file) { outside(file, "texts/tokenizer_json", text, 1); }),
                  "another file of this disk"));
  H5Tclose(text);
}

TEST_CASE("hostile HDF5: links to other files and places are not followed") {
  TemporaryFolder folder;
  { RawHdf5(folder / "other.h5").floats("a", 4, kFour); }
  CHECK(contains(refusal(folder, [&](RawHdf5& file) { file.external_link("b", folder / "other.h5", "/a"); }),
                 "b is a link to another place or file"));
  CHECK(contains(refusal(folder,
                         [&](RawHdf5& file) {
                           file.floats("a", 4, kFour);
                           file.soft_link("b", "/a");
                         }),
                 "b is a link to another place or file"));
  {
    RawHdf5 file(folder / "tokens.h5");
    file.external_link("tokens", folder / "other.h5", "/a");
  }
  CHECK(contains(error_of([&] { read_token_sequences(folder / "tokens.h5", 10, 10); }), "exit 3"));
  CHECK(contains(error_of([&] { read_token_sequences(folder / "tokens.h5", 10, 10); }), "is a link to another"));
}

TEST_CASE("hostile HDF5: a virtual dataset is refused") {
  TemporaryFolder folder;
  { RawHdf5(folder / "other.h5").floats("a", 4, kFour); }
  CHECK(contains(refusal(folder, [&](RawHdf5& file) { file.view("v", folder / "other.h5", "/a"); }),
                 "v is not stored in one piece in this file"));
}

TEST_CASE("hostile HDF5: tensors without data, or with each other's, cost no memory") {
  TemporaryFolder folder;
  std::size_t reserved = allocator_stats().bytes_reserved;
  CHECK(contains(refusal(folder,
                         [&](RawHdf5& file) {
                           std::vector<float> filler(5 << 18);
                           file.floats("filler", filler.size(), filler.data());
                           for (int i = 0; i < 1000; ++i)
                             file.floats("parameters/" + std::to_string(i), 5 << 18, nullptr);
                         }),
                 "has no data"));
  CHECK(contains(refusal(folder,
                         [&](RawHdf5& file) {
                           std::vector<float> filler(5 << 18);
                           file.floats("a", filler.size(), filler.data());
                           file.hard_link("b", "a");
                         }),
                 "share their bytes"));
  CHECK(allocator_stats().bytes_reserved - reserved < std::size_t{8} << 20);
}

TEST_CASE("hostile HDF5: groups in groups and groups in themselves are refused at once") {
  TemporaryFolder folder;
  CHECK(
      contains(refusal(folder, [](RawHdf5& file) { file.groups_in_groups(3000); }), "nests groups more than 16 deep"));
  CHECK(
      contains(refusal(folder, [](RawHdf5& file) { file.hard_link("self", "/"); }), "nests groups more than 16 deep"));
}

TEST_CASE("hostile HDF5: a token id that does not fit is refused, not cut") {
  TemporaryFolder folder;
  std::string path = folder / "tokens.h5";
  std::int64_t good[] = {1, 2, 3, 2}, large[] = {1, (std::int64_t{1} << 32) + 2, 3, 2}, minus[] = {1, -5, 3, 2};
  auto write = [&](hid_t type, const std::int64_t* ids) {
    RawHdf5(path).dataset("tokens", type, {2, 2}, H5T_NATIVE_INT64, ids);
  };
  auto read = [&] { return read_token_sequences(path, 5, 10); };
  for (hid_t type : {H5T_STD_I64LE, H5T_STD_I64BE, H5T_STD_U64LE, H5T_STD_I32LE, H5T_STD_U16BE, H5T_STD_U8LE}) {
    write(type, good);
    Tensor tokens = read();
    for (int i = 0; i < 4; ++i) CHECK(tokens.data<std::int32_t>()[i] == good[i]);
  }
  for (hid_t type : {H5T_STD_I64LE, H5T_STD_I64BE, H5T_STD_U64LE}) {
    write(type, large);
    CHECK(contains(error_of(read), "exit 3"));
    CHECK(contains(error_of(read), "number 2 does not fit 32 bits"));
  }
  write(H5T_STD_I16LE, minus);
  CHECK(contains(error_of(read), "is -5; expected an id from 0 to 4"));
  float reals[] = {1, 2, 3, 2};
  { RawHdf5(path).dataset("tokens", H5T_IEEE_F64BE, {2, 2}, H5T_NATIVE_FLOAT, reals); }
  CHECK(contains(error_of(read), "is big-endian f64; expected integers"));
}

TEST_CASE("hostile HDF5: the report of the child is not believed") {
  Hdf5Dataset dataset;
  dataset.path = "a";
  dataset.kind = Hdf5Kind::real;
  dataset.element_bytes = 4;
  dataset.shape = {10, 10};
  dataset.offset = 600;
  Hdf5Index index{{{"name", "text", ""}}, {dataset}};
  std::string report = encode_hdf5_index(index);
  CHECK(decode_hdf5_index(report, 1000).datasets[0].problem == "");
  CHECK(decode_hdf5_index(report, 999).datasets[0].problem == "claims to be larger than the file");
  for (std::size_t size = 0; size < report.size(); ++size)
    CHECK_THROWS_AS(decode_hdf5_index(report.substr(0, size), 1000), Hdf5Failure);
  CHECK_THROWS_AS(decode_hdf5_index(report + "x", 1000), Hdf5Failure);

  auto problem_of = [&](const Hdf5Dataset& changed) {
    return decode_hdf5_index(encode_hdf5_index({{}, {changed}}), 1000).datasets[0].problem;
  };
  Hdf5Dataset huge = dataset;
  huge.shape = {std::int64_t{1} << 62, std::int64_t{1} << 62, std::int64_t{1} << 62};
  CHECK(problem_of(huge) == "claims to be larger than the file");
  huge.shape = {0, std::int64_t{1} << 62};
  CHECK(problem_of(huge) == "claims to be larger than the file");
  Hdf5Dataset beyond = dataset;
  beyond.offset = ~std::uint64_t{0} - 10;
  CHECK(problem_of(beyond) == "claims to be larger than the file");
  beyond.element_bytes = 0;
  CHECK(problem_of(beyond) == "claims to be larger than the file");

  Hdf5Dataset second = dataset;
  second.path = "b";
  second.offset = 999;
  second.shape = {};
  second.element_bytes = 1;
  CHECK_THROWS_WITH_AS(decode_hdf5_index(encode_hdf5_index({{}, {dataset, second}}), 1000),
                       "a and b share their bytes; each needs data of its own", Hdf5Failure);
  CHECK_THROWS_WITH_AS(decode_hdf5_index(encode_hdf5_index({{}, {dataset, dataset}}), 1000),
                       "it has two datasets named a", Hdf5Failure);
}
