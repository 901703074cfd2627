// Checkpoints: what goes in comes out, equal contents are equal bytes, and a failed write leaves the older file alone.
#include "engine/io/checkpoint.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <hdf5.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>

#include "engine/io/build_info.h"
#include "engine/io/file.h"
#include "engine/io/utf8.h"
#include "tests/engine/io/checkpoint_support.h"
#include "tests/support/orphan_name.h"

using namespace sink;

TEST_CASE("checkpoint: tensors, axes and attributes come back as they went in") {
  TemporaryFolder folder;
  Checkpoint saved = small_checkpoint();
  save_checkpoint(folder / "checkpoint.h5", saved);
  Checkpoint loaded = load_checkpoint(folder / "checkpoint.h5");

  CHECK(loaded.attributes == saved.attributes);
  CHECK(loaded.axes == saved.axes);
  CHECK(loaded.path == folder / "checkpoint.h5");
  REQUIRE(loaded.tensors.size() == saved.tensors.size());
  for (const auto& [path, tensor] : saved.tensors) {
    CAPTURE(path);
    const Tensor& other = loaded.tensor(path);
    REQUIRE(other.str() == tensor.str());
    CHECK(std::memcmp(other.raw(), tensor.raw(), tensor.bytes()) == 0);
  }
  CHECK(loaded.integer("layers") == 2);
  CHECK(exit_of([&] { loaded.integer("ablation"); }) == Exit::corrupt_checkpoint);
  CHECK(exit_of([&] { loaded.attribute("absent"); }) == Exit::corrupt_checkpoint);
  CHECK(exit_of([&] { loaded.tensor("parameters/absent"); }) == Exit::corrupt_checkpoint);
}

TEST_CASE("checkpoint: equal contents are equal bytes, whatever the order and the hour") {
  TemporaryFolder folder;
  Checkpoint checkpoint = small_checkpoint();
  save_checkpoint(folder / "a.h5", checkpoint);
  ::usleep(1100 * 1000);  // HDF5's times count in seconds
  std::swap(checkpoint.tensors.front(), checkpoint.tensors.back());
  save_checkpoint(folder / "b.h5", load_checkpoint(folder / "a.h5"));
  save_checkpoint(folder / "c.h5", checkpoint);
  CHECK(read_bytes(folder / "a.h5") == read_bytes(folder / "b.h5"));
  CHECK(read_bytes(folder / "a.h5") == read_bytes(folder / "c.h5"));
}

TEST_CASE("checkpoint: the HDF5 library alone finds names, shapes, types and axes") {
  TemporaryFolder folder;
  save_checkpoint(folder / "checkpoint.h5", small_checkpoint());
  hid_t file = H5Fopen((folder / "checkpoint.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  REQUIRE(file >= 0);
  hid_t dataset = H5Dopen2(file, "/parameters/blocks.0.attention.qkv.weight", H5P_DEFAULT);
  REQUIRE(dataset >= 0);
  hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset);
  hsize_t sizes[2] = {};
  CHECK(H5Sget_simple_extent_dims(space, sizes, nullptr) == 2);
  CHECK(sizes[0] == 24);
  CHECK(sizes[1] == 8);
  CHECK(H5Tequal(type, H5T_IEEE_F32LE) > 0);
  CHECK(H5Aexists(dataset, "axes") > 0);
  CHECK(H5Aexists(file, "policies") > 0);
  H5Tclose(type);
  H5Sclose(space);
  H5Dclose(dataset);
  H5Fclose(file);
}

TEST_CASE("checkpoint: a file that was replaced after it was opened is read through its descriptor") {
  TemporaryFolder folder;
  const Checkpoint before = small_checkpoint();
  save_checkpoint(folder / "checkpoint.h5", before);
  const FileDescriptor opened(::open((folder / "checkpoint.h5").c_str(), O_RDONLY | O_CLOEXEC));
  Checkpoint after = small_checkpoint();
  after.attributes["step"] = "later";
  save_checkpoint(folder / "checkpoint.h5", after);
  CHECK(load_checkpoint("/proc/self/fd/" + std::to_string(opened)).attributes == before.attributes);
  CHECK(load_checkpoint(folder / "checkpoint.h5").attributes == after.attributes);
}

TEST_CASE("checkpoint: every read next to a process that saves is one of the files that were saved") {
  TemporaryFolder folder;
  const std::string path = folder / "checkpoint.h5";
  Checkpoint checkpoint = small_checkpoint();
  save_checkpoint(path, checkpoint);
  const pid_t saver = ::fork();
  if (saver == 0)
    for (int step = 0;; ++step) {
      checkpoint.attributes["step"] = std::to_string(step);
      if (exit_of([&] { save_checkpoint(path, checkpoint); }) != Exit::ok || ::getppid() == 1) ::_exit(1);
    }
  int failed = 0;
  for (int i = 0; i < 40; ++i) failed += exit_of([&] { load_checkpoint(path); }) != Exit::ok;
  CHECK(::kill(saver, SIGKILL) == 0);
  int status = 0;
  ::waitpid(saver, &status, 0);
  CHECK(WIFSIGNALED(status));  // it saved until then
  CHECK(failed == 0);
}

TEST_CASE("checkpoint: NaN is never saved over a good checkpoint") {
  TemporaryFolder folder;
  save_checkpoint(folder / "checkpoint.h5", small_checkpoint());
  std::string before = read_bytes(folder / "checkpoint.h5");
  Checkpoint bad = small_checkpoint();
  bad.tensors[1].second.data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  CHECK(exit_of([&] { save_checkpoint(folder / "checkpoint.h5", bad); }) == Exit::diverged);
  CHECK(read_bytes(folder / "checkpoint.h5") == before);
}

TEST_CASE("checkpoint: names that HDF5 would fold together are refused") {
  TemporaryFolder folder;
  for (const char* path : {"", "/parameters/a", "parameters//a", "parameters/../a", "texts/a"}) {
    CAPTURE(path);
    Checkpoint checkpoint = small_checkpoint();
    checkpoint.tensors[0].first = path;
    CHECK_THROWS_AS(save_checkpoint(folder / "checkpoint.h5", checkpoint), Error);
  }
  Checkpoint twice = small_checkpoint();
  twice.tensors.push_back(twice.tensors[0]);
  CHECK_THROWS_AS(save_checkpoint(folder / "checkpoint.h5", twice), Error);
  CHECK(entries(folder.path) == 0);
}

TEST_CASE("checkpoint: a full disk leaves the older file and no half-written one") {
  TemporaryFolder folder;
  save_checkpoint(folder / "checkpoint.h5", small_checkpoint());
  std::string before = read_bytes(folder / "checkpoint.h5");
  Checkpoint larger = small_checkpoint();
  larger.tensors.emplace_back("parameters/large", Tensor::full({1 << 16}, 0.5));

  Exit code = exit_of([&] {
    FileSizeLimit limit(64 * 1024);
    save_checkpoint(folder / "checkpoint.h5", larger);
  });

  CHECK(code == Exit::io);
  CHECK(read_bytes(folder / "checkpoint.h5") == before);
  CHECK(entries(folder.path) == 1);
  save_checkpoint(folder / "checkpoint.h5", larger);  // succeeds once the disk has space
  CHECK(load_checkpoint(folder / "checkpoint.h5").tensors.size() == larger.tensors.size());
}

#if !defined(__SANITIZE_ADDRESS__)  // whose shadow takes terabytes of addresses
TEST_CASE("checkpoint: memory that HDF5 lacks is memory that is lacking, not a bad disk") {
  TemporaryFolder folder;
  Checkpoint checkpoint = small_checkpoint();
  checkpoint.tensors.emplace_back("parameters/large", Tensor::full({1 << 24}, 0.5));
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  ResourceLimit addresses(RLIMIT_AS, pages * 4096 + (std::size_t{32} << 20));
  CHECK_THROWS_AS(save_checkpoint(folder / "checkpoint.h5", checkpoint), std::bad_alloc);  // which leaves with 6
  CHECK(entries(folder.path) == 0);
}
#endif

TEST_CASE("checkpoint: a folder that is not there is Exit::io") {
  TemporaryFolder folder;
  CHECK(exit_of([&] { save_checkpoint(folder / "absent/checkpoint.h5", small_checkpoint()); }) == Exit::io);
}

TEST_CASE("checkpoint: the temporary of a dead process is cleared away, this process's is not") {
  TemporaryFolder folder;
  std::string dead = orphan_name(folder / "checkpoint.h5");
  std::string living = temporary_name(folder / "checkpoint.h5");
  write_bytes(dead, "half");
  write_bytes(living, "half");
  save_checkpoint(folder / "checkpoint.h5", small_checkpoint());
  CHECK_FALSE(std::filesystem::exists(dead));
  CHECK(std::filesystem::exists(living));
}

TEST_CASE("checkpoint: another policy is refused and the program that fits is named") {
  Checkpoint checkpoint = small_checkpoint();
  std::string own = "position=Rotary norm=RMSNorm attention=Softmax";
  std::string message;
  CHECK(exit_of([&] { require_policy(checkpoint, "baseline", own, "train_baseline"); }, &message) ==
        Exit::corrupt_checkpoint);
  CHECK(message ==
        "the checkpoint was made by train_sigmoid (attention=Sigmoid); this is train_baseline (attention=Softmax): run "
        "train_sigmoid / eval_sigmoid instead");
  CHECK_NOTHROW(require_policy(checkpoint, "sigmoid", checkpoint.attributes.at("policies"), "train_sigmoid"));
  CHECK(exit_of([&] { require_policy(checkpoint, "sigmoid", own, "train_sigmoid"); }, &message) ==
        Exit::corrupt_checkpoint);
  CHECK(message.find("the ablation has changed") != std::string::npos);
}

TEST_CASE("checkpoint: an attribute of any length is cut in messages") {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "\u20ac";
  std::string message;
  const auto check = [&](const std::function<void()>& action) {
    CHECK(exit_of(action, &message) == Exit::corrupt_checkpoint);
    CHECK(contains(message, "\u20ac"));
    CHECK(message.size() < 3000);
    CHECK(utf8_valid_prefix(message) == message.size());
    CHECK_FALSE(contains(message, "\\x"));
  };
  for (const char* before : {"", "x", "xx"}) {
    Checkpoint checkpoint = small_checkpoint();
    for (const char* name : {"policies", "ablation", "step"}) {
      checkpoint.attributes[name] = before + text;
      if (std::string(name) != "step")
        check([&] { require_policy(checkpoint, "baseline", "norm=RMSNorm", "train_baseline"); });
    }
    check([&] { (void)checkpoint.integer("step"); });
    check([&] { (void)checkpoint.real("step"); });
  }
}

TEST_CASE("build info: the commit is a hash or says that it is unknown") {
  std::string commit = build_commit();
  CHECK((commit == "unknown" || commit.size() >= 7));
  CHECK(commit.find('\n') == std::string::npos);
}
