// The little of the HDF5 C library that writing our files needs: handles that close themselves, texts, real tensors and
// lists of token ids. Every failure becomes an Hdf5Failure that carries HDF5's own reason; nothing is printed.
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
  // Earlier than at the end of its scope, to hear of what then fails.
  void close(const std::string& what);

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// Throws Hdf5Failure("cannot <what>: <reason>") when an HDF5 call gave a negative result, std::bad_alloc when it lacked
// memory.
void hdf5_check(long long result, const std::string& what);

// A file built in memory, so that a full disk is met by our own write and never inside HDF5 (which cannot give up a
// file it failed to flush). Holds no times: equal contents are equal bytes. `seal_bytes` are left free at its front.
class Hdf5Image {
 public:
  explicit Hdf5Image(std::size_t seal_bytes);
  void add_text_attribute(const std::string& name, const std::string& text);
  void add_text(const std::string& path, const std::string& text);
  // F32, F64 or I32. `axes` names the sizes, as in "V C"; empty leaves the attribute out.
  void add_tensor(const std::string& path, const Tensor& tensor, const std::string& axes);
  // The finished bytes with the room for the seal, valid until the image is changed or goes.
  std::pair<const char*, std::size_t> bytes();

 private:
  void add_groups_above(const std::string& path);
  hid_t add_dataset(const std::string& path, const std::vector<hsize_t>& sizes, hid_t file_type, hid_t memory_type,
                    const void* data);
  std::size_t seal_bytes_;
  Hdf5Handle file_;
};

// A list of whole numbers that is yet to be written, and where.
struct Hdf5Room {
  std::string path;  // of the dataset
  std::uint64_t count = 0;
  bool wide = false;         // u32, else u16
  std::uint64_t offset = 0;  // of its bytes in the file
};

// Writes the file `path` with everything but its numbers, so that lists which are longer than memory can be put in
// their places, which this fills in; returns how long the file is. `seal_bytes` are left free at its front. A child
// process writes it: after a failed write (a full disk) the HDF5 library crashes when its process exits.
// Throws Hdf5Failure.
std::uint64_t write_hdf5_frame(const std::string& path, std::size_t seal_bytes,
                               const std::vector<std::pair<std::string, std::string>>& text_attributes,
                               std::vector<Hdf5Room>& rooms);

}  // namespace sink
