// Damaged checkpoints: for any damage, loading reports it in one line with the right exit code.
#include <doctest/doctest.h>
#include <hdf5.h>

#include <cstring>
#include <limits>

#include "engine/io/checkpoint.h"
#include "engine/io/hdf5_file.h"
#include "engine/rng.h"
#include "tests/engine/io/checkpoint_support.h"

using namespace sink;

// HDF5 1.10 leaks some memory when it rejects damaged metadata. We cannot fix that.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace {

struct Damage {
  TemporaryFolder folder;
  std::string path = folder / "checkpoint.h5";
  std::string good;

  Damage() {
    save_checkpoint(path, small_checkpoint());
    good = read_bytes(path);
  }
  // Exit code of loading a file of these bytes; the message must be one line.
  Exit load(const std::string& bytes, std::string* message = nullptr) {
    write_bytes(path, bytes);
    std::string said;
    Exit code = exit_of([&] { load_checkpoint(path); }, &said);
    CHECK(said.find('\n') == std::string::npos);
    if (message) *message = said;
    return code;
  }
};

// The same bytes with a matching checksum, as an attacker or another writer would make them.
std::string with_checksum_header(std::string bytes) {
  std::string body = bytes.substr(kChecksumHeaderBytes);
  return make_checksum_header(kCheckpointFormat, body.data(), body.size()) + body;
}

std::string bytes_of(const Tensor& tensor) { return {static_cast<const char*>(tensor.raw()), tensor.bytes()}; }

}  // namespace

TEST_CASE("damaged checkpoint: cut anywhere it is refused as truncated") {
  Damage damage;
  std::string message;
  REQUIRE(damage.good.size() > 70000);
  for (std::size_t size = 4096; size < damage.good.size(); size += 4096) {
    CAPTURE(size);
    CHECK(damage.load(damage.good.substr(0, size), &message) == Exit::corrupt_checkpoint);
    CHECK(message.find("truncated") != std::string::npos);
  }
  for (std::size_t size :
       {std::size_t{1}, std::size_t{30}, std::size_t{511}, std::size_t{512}, damage.good.size() - 1}) {
    CAPTURE(size);
    CHECK(damage.load(damage.good.substr(0, size)) == Exit::corrupt_checkpoint);
  }
  CHECK(damage.load("", &message) == Exit::corrupt_checkpoint);
  CHECK(message.find("empty") != std::string::npos);
  CHECK(damage.load(damage.good + "x", &message) == Exit::corrupt_checkpoint);
  CHECK(message.find("after its end") != std::string::npos);
  CHECK(damage.load(damage.good) == Exit::ok);
}

TEST_CASE("damaged checkpoint: one flipped bit in any tensor, attribute or elsewhere is noticed") {
  Damage damage;
  std::vector<std::size_t> places;
  for (const auto& [path, tensor] : small_checkpoint().tensors) {
    if (tensor.size() == 0) continue;
    std::size_t at = damage.good.find(bytes_of(tensor));
    REQUIRE(at != std::string::npos);
    places.push_back(at + tensor.bytes() / 2);
  }
  for (const auto& [name, text] : small_checkpoint().attributes) {
    if (!text.empty()) places.push_back(damage.good.find(text));
  }
  for (std::size_t i = 0; i < kChecksumHeaderBytes; ++i) places.push_back(i);
  Rng rng(7, "flipped bits");
  for (std::uint64_t i = 0; i < 200; ++i) places.push_back(rng.below(i, damage.good.size()));
  for (std::size_t place : places) {
    CAPTURE(place);
    REQUIRE(place < damage.good.size());
    std::string bytes = damage.good;
    bytes[place] = static_cast<char>(bytes[place] ^ (1 << (place % 8)));
    CHECK(damage.load(bytes) == Exit::corrupt_checkpoint);
  }
}

TEST_CASE("damaged checkpoint: with a matching checksum, HDF5 never crashes us") {
  // Nothing promises that HDF5 notices; a change it accepts may only be one that loads as a checkpoint.
  Damage damage;
  Rng rng(8, "flipped bits under a good seal");
  for (std::uint64_t i = 0; i < 200; ++i) {
    std::string bytes = damage.good;
    std::size_t place = kChecksumHeaderBytes + rng.below(i, bytes.size() - kChecksumHeaderBytes);
    CAPTURE(place);
    bytes[place] = static_cast<char>(bytes[place] ^ (1 << (i % 8)));
    Exit code = damage.load(with_checksum_header(bytes));
    CHECK((code == Exit::ok || code == Exit::corrupt_checkpoint));
  }
}

TEST_CASE("damaged checkpoint: NaN in a parameter is refused by name") {
  Damage damage;
  std::string tensor = bytes_of(small_checkpoint().tensors[1].second);
  std::size_t at = damage.good.find(tensor);
  REQUIRE(at != std::string::npos);
  std::string bytes = damage.good;
  float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(bytes.data() + at + 8, &nan, sizeof(nan));
  std::string message;
  CHECK(damage.load(with_checksum_header(bytes), &message) == Exit::corrupt_checkpoint);
  CHECK(message.find("parameters/blocks.0.attention.qkv.weight holds NaN") != std::string::npos);
}

TEST_CASE("damaged checkpoint: foreign files are told apart") {
  Damage damage;
  std::string message;
  CHECK(damage.load("PK\x03\x04 a zip file", &message) == Exit::corrupt_checkpoint);
  CHECK(message.find("is not a Sinklab checkpoint") != std::string::npos);

  hid_t file = H5Fcreate(damage.path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
  CHECK(exit_of([&] { load_checkpoint(damage.path); }, &message) == Exit::corrupt_checkpoint);
  CHECK(message.ends_with(
      " is an HDF5 file, but not a checkpoint: it has no checksum header; engine/io/CHECKPOINT.md shows how to add "
      "one"));

  Hdf5Image image(kChecksumHeaderBytes);  // a checksum header, and another format inside
  image.add_text_attribute("format", "other");
  auto [bytes, size] = image.bytes();
  CHECK(damage.load(with_checksum_header(std::string(bytes, size)), &message) == Exit::corrupt_checkpoint);
  CHECK(message.find("sinklab-checkpoint") != std::string::npos);

  std::string newer = damage.good;
  newer.replace(newer.find(" 1\n"), 3, " 2\n");
  CHECK(damage.load(newer, &message) == Exit::corrupt_checkpoint);
  CHECK(message.find("version 2; this program reads version 1") != std::string::npos);

  CHECK(damage.load(with_checksum_header(std::string(kChecksumHeaderBytes, '\0') + "not HDF5 at all"), &message) ==
        Exit::corrupt_checkpoint);
  CHECK(message.find("open it as HDF5") != std::string::npos);
}

TEST_CASE("damaged checkpoint: one that is not there is bad input") {
  TemporaryFolder folder;
  CHECK(exit_of([&] { load_checkpoint(folder / "absent.h5"); }) == Exit::bad_input);
  CHECK(exit_of([&] { load_checkpoint(folder / ""); }) == Exit::bad_input);
}
