// Reads texts, real tensors and whole numbers out of an HDF5 file that nobody vouches for: every size is checked
// against the file before it is used, and nothing outside of the file is touched.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/io/hdf5_index.h"
#include "engine/io/mapped_bytes.h"
#include "engine/tensor.h"

namespace sink {

// A file opened for reading. Everything throws Hdf5Failure.
class Hdf5Reader {
 public:
  explicit Hdf5Reader(const std::string& path);
  ~Hdf5Reader();
  Hdf5Reader(const Hdf5Reader&) = delete;
  Hdf5Reader& operator=(const Hdf5Reader&) = delete;

  std::vector<std::pair<std::string, std::string>> text_attributes() const;
  std::vector<std::string> dataset_paths() const;  // sorted by name
  std::string text(const std::string& path) const;
  // Little-endian f32 or f64, stored in one piece.
  Tensor tensor(const std::string& path) const;
  std::string axes(const std::string& path) const;  // "" when there are none
  // Whole numbers of any width as I32; refused where one does not fit.
  Tensor integers(const std::string& path) const;
  // A list of u16 or u32 as it stands in the file, in memory but not copied; the width in bytes comes back in `width`.
  MappedBytes mapped_ids(const std::string& path, std::uint64_t& width) const;

 private:
  const Hdf5Dataset& dataset(const std::string& path) const;
  void read(std::uint64_t offset, void* data, std::size_t bytes) const;

  int descriptor_;
  Hdf5Index index_;
};

}  // namespace sink
