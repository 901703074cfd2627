// Writes HDF5 files with the C library: handles that close themselves, texts, tensors and lists of token ids. Every
// failure becomes an Hdf5Failure with HDF5's own reason; nothing is printed.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/io/hdf5_index.h"
#include "engine/tensor.h"

namespace sink {

// An HDF5 identifier and how to close it. Construction fails with "cannot <what>: <HDF5's reason>".
class Hdf5Handle {
 public:
  Hdf5Handle(hid_t id, herr_t (*close)(hid_t), const std::string& what);
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;
  operator hid_t() const { return id_; }
  // Closes before the end of the scope and throws where that fails.
  void close(const std::string& what);

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// Throws Hdf5Failure("cannot <what>: <reason>") where `result`, of an HDF5 call, is negative; std::bad_alloc where it
// lacked memory.
void hdf5_check(long long result, const std::string& what);

// A file built in memory, so that a full disk fails our own write and not HDF5, which cannot close a file that it
// failed to flush. It stores no times: equal contents are equal bytes. It begins with a user block of
// `user_block_bytes`.
class Hdf5Image {
 public:
  explicit Hdf5Image(std::size_t user_block_bytes);
  void add_text_attribute(const std::string& name, const std::string& text);
  void add_text(const std::string& path, const std::string& text);
  // F32, F64 or I32. `axes` names the axes, as in "V C"; no attribute where it is empty.
  void add_tensor(const std::string& path, const Tensor& tensor, const std::string& axes);
  // The finished bytes including the user block; valid until the image is changed or destroyed.
  std::pair<const char*, std::size_t> bytes();

 private:
  void add_groups_above(const std::string& path);
  hid_t add_dataset(const std::string& path, const std::vector<hsize_t>& sizes, hid_t file_type, hid_t memory_type,
                    const void* data, std::size_t bytes);
  std::size_t user_block_bytes_;
  Hdf5Handle file_;
};

// A one-dimensional dataset of u16 or u32 whose elements are written later.
struct Hdf5List {
  std::string path;
  std::uint64_t count = 0;
  bool wide = false;         // u32, else u16
  std::uint64_t offset = 0;  // of its first byte in the file
};

// Writes the file `path` except for the elements of `lists`, which may be larger than memory, sets their offsets and
// returns the length of the file. It begins with a user block of `user_block_bytes`. A child process writes the file:
// after a failed write (a full disk) libhdf5 crashes when its process exits. Throws Hdf5Failure.
std::uint64_t write_hdf5_frame(const std::string& path, std::size_t user_block_bytes,
                               const std::vector<std::pair<std::string, std::string>>& text_attributes,
                               std::vector<Hdf5List>& lists);

}  // namespace sink
