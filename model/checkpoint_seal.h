// The seal of a checkpoint: 512 bytes of text before the HDF5 data (HDF5's "user block") that hold the length and the
// SHA-256 of everything after them. HDF5's parser has open memory bugs on damaged files, so it only ever gets to see a
// file whose seal fits.
#pragma once

#include <cstddef>
#include <string>

namespace sink {

inline constexpr std::size_t kSealBytes = 512;
inline constexpr int kCheckpointVersion = 1;

// The seal of `bytes` bytes of HDF5 data.
std::string make_seal(const void* data, std::size_t bytes);

// Reads the whole file once. Throws Error (Exit::corrupt_checkpoint) when it is empty, truncated, damaged, foreign or
// of an unknown version; Exit::bad_input when it is not there; Exit::io when it cannot be read.
void verify_seal(const std::string& path);

}  // namespace sink
