// The part of reading an HDF5 file that libhdf5 does; see engine/io/hdf5_index.h, which runs it in a child process.
#pragma once

#include "engine/io/hdf5_index.h"

namespace sink {

// Throws Hdf5Failure. Opens the file, then gives up the right to open any other.
Hdf5Index walk_hdf5(const std::string& path, std::uint64_t file_bytes);

}  // namespace sink
