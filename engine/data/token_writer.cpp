#include "engine/data/token_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "engine/io/hdf5_file.h"
#include "engine/io/sha256.h"

namespace sink {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;  // bytes written or read at once

// A file in the folder of `path` that goes with its descriptor.
int open_nameless(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  std::string name = (folder.empty() ? "." : folder) + "/.tokens.tmp-XXXXXX";
  int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) fail_io("write", path, errno);
  ::unlink(name.c_str());
  return descriptor;
}

// Closes itself.
struct Descriptor {
  int number;
  ~Descriptor() { ::close(number); }
};

void read_at(int descriptor, std::uint64_t offset, void* to, std::size_t bytes, const std::string& path) {
  for (std::size_t done = 0; done < bytes;) {
    ssize_t got = ::pread(descriptor, static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail_io("read back", path, got < 0 ? errno : EIO);
    done += static_cast<std::size_t>(got);
  }
}

// The SHA-256 of what stands behind the seal.
std::string sha256_behind_seal(int descriptor, std::uint64_t bytes, const std::string& path) {
  Sha256 digest;
  std::vector<char> piece(kPiece);
  for (std::uint64_t at = kSealBytes; at < bytes; at += kPiece) {
    auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, bytes - at));
    read_at(descriptor, at, piece.data(), count, path);
    digest.add(piece.data(), count);
  }
  return digest.hex();
}

}  // namespace

TokenWriter::TokenWriter(const std::string& path, std::int64_t vocabulary)
    : path_(path), vocabulary_(vocabulary), width_(vocabulary > 65536 ? 4 : 2) {
  for (Spool& spool : spools_) spool.descriptor = open_nameless(path);
}

TokenWriter::~TokenWriter() {
  for (Spool& spool : spools_)
    if (spool.descriptor >= 0) ::close(spool.descriptor);
}

void TokenWriter::begin_domain(const std::string& name, double weight) {
  domains_.push_back({.name = name, .weight = weight});
}

void TokenWriter::add_document(std::span<const std::int32_t> ids, bool validation) {
  append(spools_[validation ? 1 : 0], ids);
  TextDomain& domain = domains_.back();
  ++domain.documents;
  (validation ? domain.valid_tokens : domain.train_tokens) += static_cast<std::int64_t>(ids.size());
}

void TokenWriter::append(Spool& spool, std::span<const std::int32_t> ids) {
  for (std::int32_t id : ids)
    for (std::uint64_t byte = 0; byte < width_; ++byte)
      spool.waiting.push_back(static_cast<unsigned char>(static_cast<std::uint32_t>(id) >> (8 * byte)));
  spool.count += static_cast<std::int64_t>(ids.size());
  if (spool.waiting.size() >= kPiece) flush(spool);
}

void TokenWriter::flush(Spool& spool) {
  if (int error = write_all(spool.descriptor, spool.waiting.data(), spool.waiting.size()))
    fail_io("write", path_, error);
  spool.waiting.clear();
}

std::int64_t TokenWriter::hold_out(double fraction) {
  if (spools_[0].count > 0 && spools_[1].count > 0) return 0;
  if (spools_[0].count == 0) {
    std::swap(spools_[0], spools_[1]);
    for (TextDomain& domain : domains_) std::swap(domain.train_tokens, domain.valid_tokens);
  }
  for (Spool& spool : spools_) flush(spool);
  std::int64_t all = spools_[0].count, left = all;
  auto moved = static_cast<std::int64_t>(std::max(1.0, static_cast<double>(all) * fraction));
  std::vector<std::int32_t> ids(static_cast<std::size_t>(moved));
  ids_of(spools_[0]).copy(all - moved, moved, ids.data());
  for (auto domain = domains_.rbegin(); domain != domains_.rend(); ++domain) {
    std::int64_t own = std::min(domain->train_tokens, moved - (all - left));
    domain->train_tokens -= own;
    domain->valid_tokens += own;
    left -= own;
  }
  append(spools_[1], ids);
  spools_[0].count -= moved;
  return moved;
}

TokenIds TokenWriter::ids_of(Spool& spool) const {
  return {MappedBytes(spool.descriptor, 0, static_cast<std::size_t>(spool.count) * width_), width_};
}

void TokenWriter::copy_into(const Spool& spool, int descriptor, std::uint64_t offset) const {
  if (::lseek(descriptor, static_cast<off_t>(offset), SEEK_SET) < 0) fail_io("write", path_, errno);
  std::vector<char> piece(kPiece);
  std::uint64_t bytes = static_cast<std::uint64_t>(spool.count) * width_;
  for (std::uint64_t at = 0; at < bytes; at += kPiece) {
    auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, bytes - at));
    read_at(spool.descriptor, at, piece.data(), count, path_);
    if (int error = write_all(descriptor, piece.data(), count)) fail_io("write", path_, error);
  }
}

void TokenWriter::close(const About& about) {
  for (Spool& spool : spools_) flush(spool);
  std::vector<Hdf5Room> rooms;
  for (std::size_t i = 0; i < 2; ++i)
    rooms.push_back({.path = i == 0 ? "train" : "valid",
                     .count = static_cast<std::uint64_t>(spools_[i].count),
                     .wide = width_ == 4});
  std::size_t tokens_bytes = static_cast<std::size_t>(train_tokens() + valid_tokens()) * width_;
  output_ = std::make_unique<OutputFile>(path_, tokens_bytes + kPiece);
  const std::string& temporary = output_->temporary();
  SINK_CHECK(!temporary.empty(), "prepare", "cannot write " + path_ + ": it is no file", Exit::io);
  // A file of this length is met here if it may not be, and not inside of HDF5.
  if (::truncate(temporary.c_str(), static_cast<off_t>(tokens_bytes + kPiece)) != 0) fail_io("write", path_, errno);
  std::uint64_t bytes = write_hdf5_frame(temporary, kSealBytes,
                                         {{"vocabulary", std::to_string(vocabulary_)},
                                          {"end_of_text", std::to_string(about.end_of_text)},
                                          {"sources", about.sources},
                                          {"data_sha256", tokens_checksum(ids_of(spools_[0]), ids_of(spools_[1]))},
                                          {"tokenizer_sha256", about.tokenizer_sha256},
                                          {"domains", domains_to_text(domains_)}},
                                         rooms);
  Descriptor file{::open(temporary.c_str(), O_RDWR | O_CLOEXEC)};
  if (file.number < 0) fail_io("write", path_, errno);
  for (std::size_t i = 0; i < 2; ++i) copy_into(spools_[i], file.number, rooms[i].offset);
  std::string seal = make_seal(kTokenSeal, sha256_behind_seal(file.number, bytes, path_), bytes - kSealBytes);
  if (::lseek(file.number, 0, SEEK_SET) < 0) fail_io("write", path_, errno);
  if (int error = write_all(file.number, seal.data(), seal.size())) fail_io("write", path_, error);
  output_->close();
}

}  // namespace sink
