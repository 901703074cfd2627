// The checksum header of our HDF5 files: 512 bytes of text before the HDF5 data (HDF5's "user block", which its readers
// skip) with the kind of file and the length and SHA-256 of everything after the header. A file whose checksum does not
// match is never parsed. Checksums detect corruption, not attacks: see engine/io/hdf5_index.h for those.
#pragma once

#include <cstddef>
#include <string>

#include "engine/check.h"
#include "engine/io/file.h"

namespace sink {

inline constexpr std::size_t kChecksumHeaderBytes = 512;

// A kind of file. The header begins "sinklab-<word> <version>".
struct FileFormat {
  const char* word;
  const char* noun;      // for messages
  int version;           // written by this program
  Exit damaged;          // exit code for a damaged or foreign file
  const char* origin;    // advice where the file is missing
  const char* remedy;    // advice where the file is damaged
  const char* foreign;   // advice where the file is of another kind or has no checksum header
  int oldest = version;  // oldest version that can be read
};

// The header of `bytes` bytes of HDF5 data, given the data or their SHA-256.
std::string make_checksum_header(const FileFormat& format, const void* data, std::size_t bytes);
std::string make_checksum_header(const FileFormat& format, const std::string& sha256, std::size_t bytes);

struct VerifiedFile {
  FileDescriptor descriptor;  // reads the bytes that were verified, even if the path is replaced meanwhile
  int version = 0;
};

// Reads the whole file once, a block at a time. Throws Error (format.damaged) where the file
// is empty, truncated, damaged, foreign or of an unknown version; Exit::bad_input where it is missing or may not be
// read; Exit::io where the disk fails.
VerifiedFile verify_checksum(const FileFormat& format, const std::string& path);

}  // namespace sink
