// The seal of an HDF5 file of ours: 512 bytes of text before the HDF5 data (HDF5's "user block", which its readers
// skip) that hold what the file is, and the length and SHA-256 of everything after them. A file whose seal does not
// fit is never parsed. The seal shows damage, not malice: see engine/io/hdf5_index.h for that.
#pragma once

#include <cstddef>
#include <string>

#include "engine/check.h"

namespace sink {

inline constexpr std::size_t kSealBytes = 512;

// A kind of file. The seal begins "sinklab-<word> <version>".
struct SealKind {
  const char* word;
  const char* noun;      // for messages
  int version;           // of what is written
  Exit damaged;          // what a damaged or foreign file leaves with
  const char* origin;    // advice where there is no such file
  const char* remedy;    // advice where it is damaged
  const char* foreign;   // advice where it is another file, or one without a seal
  int oldest = version;  // that is still read
};

// The seal of `bytes` bytes of HDF5 data, or of those whose SHA-256 is known.
std::string make_seal(const SealKind& kind, const void* data, std::size_t bytes);
std::string make_seal(const SealKind& kind, const std::string& sha256, std::size_t bytes);

// Reads the whole file once, a piece at a time, and returns its version. Throws Error (kind.damaged) when it is empty,
// truncated, damaged, foreign or of an unknown version; Exit::bad_input when it is not there or may not be read;
// Exit::io when the disk fails.
int verify_seal(const SealKind& kind, const std::string& path);

}  // namespace sink
