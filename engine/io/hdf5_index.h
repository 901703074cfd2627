// What an HDF5 file holds and where: names, types, sizes and byte offsets, but no values. libhdf5 has open memory bugs
// on damaged files and follows names of other files, so it runs in a process of its own (engine/io/child_report.h),
// only ever sees one file, and reports this; the values are then read by engine/io/hdf5_reader.h without it.
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
  std::uint64_t offset = 0;  // in the file, of its bytes, which stand in one piece
  std::string axes;
  std::string problem;  // why it cannot be read; else empty

  std::uint64_t bytes() const;    // of all elements; after require_sound
  std::string type_name() const;  // "f32", "big-endian i64", "text"
};

struct Hdf5Index {
  std::vector<Hdf5Attribute> attributes;  // of the root
  std::vector<Hdf5Dataset> datasets;      // sorted by path
};

// Throws Hdf5Failure("cannot open it as HDF5: <reason>", and the like) when the file is no HDF5 file, or when the
// library crashes on it or takes unreasonably long, nests deeper than 16 groups or holds more than 65,536 links. Links
// to other places or files, datasets that are stored elsewhere, in pieces or not at all stay in the index with their
// problem.
Hdf5Index read_hdf5_index(const std::string& path, std::uint64_t file_bytes);

// Its two halves: what the child reports, and the parent's reading of that, which believes nothing. Throws Hdf5Failure.
std::string encode_hdf5_index(const Hdf5Index& index);
Hdf5Index decode_hdf5_index(std::string_view report, std::uint64_t file_bytes);

}  // namespace sink
