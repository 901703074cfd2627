// Reads texts, floating-point tensors and integers from an untrusted HDF5 file. Every size is checked against the file
// before it is used, and no other file is opened.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/io/file.h"
#include "engine/io/hdf5_index.h"
#include "engine/tensor.h"

namespace sink {

// All functions throw Hdf5Failure.
class Hdf5Reader {
 public:
  explicit Hdf5Reader(const std::string& path);
  // An open file, which may have been renamed or replaced since.
  explicit Hdf5Reader(FileDescriptor descriptor);

  std::vector<std::pair<std::string, std::string>> text_attributes() const;
  std::vector<std::string> dataset_paths() const;  // sorted by name
  std::string text(const std::string& path) const;
  // Little-endian f32 or f64 with a contiguous layout.
  Tensor tensor(const std::string& path) const;
  std::string axes(const std::string& path) const;  // "" when there are none
  // Integers of any width as I32. Throws if one does not fit.
  Tensor integers(const std::string& path) const;
  // A one-dimensional dataset of u16 or u32, memory-mapped; `width` becomes 2 or 4.
  MappedBytes mapped_ids(const std::string& path, std::uint64_t& width) const;

 private:
  const Hdf5Dataset& dataset(const std::string& path) const;
  void read(std::uint64_t offset, void* data, std::size_t bytes) const;

  FileDescriptor descriptor_;
  Hdf5Index index_;
};

}  // namespace sink
