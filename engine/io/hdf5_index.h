// The index of an HDF5 file: names, types, shapes and byte offsets, but no values. libhdf5 has open memory bugs on
// damaged files and follows links to other files, so it lists an untrusted file in a sandboxed child process
// (engine/io/child_report.h). engine/io/hdf5_reader.h then reads the values without libhdf5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/shape.h"

namespace sink {

struct Hdf5Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Hdf5Attribute {
  std::string name;
  std::string text;
  std::string problem;  // why there is no text; else empty
};

enum class Hdf5Kind : std::uint8_t { other, real, integer, text };

struct Hdf5Dataset {
  std::string path;  // "parameters/unembedding.weight"
  Hdf5Kind kind = Hdf5Kind::other;
  bool is_signed = false, big_endian = false;
  std::uint64_t element_bytes = 0;
  Shape shape;
  std::uint64_t offset = 0;  // in the file; the layout is contiguous
  std::string axes;
  std::string problem;  // why it cannot be read; else empty

  std::uint64_t bytes() const;    // of all elements
  std::string type_name() const;  // "f32", "big-endian i64", "text"
};

struct Hdf5Index {
  std::vector<Hdf5Attribute> attributes;  // of the root
  std::vector<Hdf5Dataset> datasets;      // sorted by path
};

// `file`: its bytes, memory-mapped. Throws Hdf5Failure where the file is not an HDF5 file, nests groups deeper than 16
// or has more than 65,536 links, and where libhdf5 crashes or times out. Soft and external links and datasets without
// contiguous data in this file are listed with their problem.
Hdf5Index read_hdf5_index(std::string_view file);

// The steps of read_hdf5_index. All throw Hdf5Failure.
// In the child process: drops the right to open files first.
Hdf5Index walk_hdf5(std::string_view file);
// The child's report, and the parent's decoding of it. The report is untrusted.
std::string encode_hdf5_index(const Hdf5Index& index);
Hdf5Index decode_hdf5_index(std::string_view report, std::uint64_t file_bytes);

}  // namespace sink
