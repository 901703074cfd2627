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

TokenWriter::TokenWriter(const std::string& path, std::int64_t vocabulary, bool with_marks)
    : path_(path), vocabulary_(vocabulary), with_marks_(with_marks) {
  for (Spool& spool : spools_) {
    spool.width = vocabulary > 65536 ? 4 : 2;
    spool.descriptor = open_nameless(path);
  }
  if (!with_marks_) return;
  for (auto* spools : {&marks_, &words_})
    for (Spool& spool : *spools) spool.descriptor = open_nameless(path);
}

TokenWriter::~TokenWriter() {
  for (auto* spools : {&spools_, &marks_, &words_})
    for (Spool& spool : *spools)
      if (spool.descriptor >= 0) ::close(spool.descriptor);
}

void TokenWriter::begin_domain(const std::string& name, double weight) {
  domains_.push_back({.name = name, .weight = weight});
}

void TokenWriter::add_document(std::span<const std::int32_t> ids, bool validation,
                               std::span<const std::int32_t> predicted) {
  SINK_CHECK(predicted.size() == (with_marks_ ? ids.size() : 0), "tokens",
             std::to_string(predicted.size()) + " marks of " + std::to_string(ids.size()) + " tokens");
  append(spools_[validation ? 1 : 0], ids);
  append(marks_[validation ? 1 : 0], predicted);
  predicted_ += with_marks_ ? std::count(predicted.begin(), predicted.end(), 1) : static_cast<std::int64_t>(ids.size());
  TextDomain& domain = domains_.back();
  ++domain.documents;
  (validation ? domain.valid_tokens : domain.train_tokens) += static_cast<std::int64_t>(ids.size());
}

void TokenWriter::append(Spool& spool, std::span<const std::int32_t> ids) {
  for (std::int32_t id : ids)
    for (std::uint64_t byte = 0; byte < spool.width; ++byte)
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
    std::swap(marks_[0], marks_[1]);
    for (TextDomain& domain : domains_) std::swap(domain.train_tokens, domain.valid_tokens);
  }
  std::int64_t all = spools_[0].count, left = all;
  auto moved = static_cast<std::int64_t>(std::max(1.0, static_cast<double>(all) * fraction));
  for (auto domain = domains_.rbegin(); domain != domains_.rend(); ++domain) {
    std::int64_t own = std::min(domain->train_tokens, moved - (all - left));
    domain->train_tokens -= own;
    domain->valid_tokens += own;
    left -= own;
  }
  move_last(moved, spools_[0], spools_[1]);
  if (with_marks_) move_last(moved, marks_[0], marks_[1]);
  return moved;
}

void TokenWriter::move_last(std::int64_t count, Spool& from, Spool& to) {
  flush(from);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
  ids_of(from).copy(from.count - count, count, ids.data());
  append(to, ids);
  from.count -= count;
}

// Sixteen marks a word.
void TokenWriter::pack(Spool& marks, Spool& words) {
  flush(marks);
  TokenIds all = ids_of(marks);
  std::vector<std::int32_t> piece(1 << 16);
  auto most = static_cast<std::int64_t>(piece.size());
  for (std::int64_t begin = 0; begin < all.size(); begin += most) {
    std::int64_t count = std::min(most, all.size() - begin);
    all.copy(begin, count, piece.data());
    std::vector<std::int32_t> packed(static_cast<std::size_t>(count + 15) / 16);
    for (std::int64_t t = 0; t < count; ++t)
      packed[static_cast<std::size_t>(t / 16)] |= piece[static_cast<std::size_t>(t)] << (t % 16);
    append(words, packed);
  }
  flush(words);
}

MappedBytes TokenWriter::bytes_of(const Spool& spool) const {
  return {spool.descriptor, 0, static_cast<std::size_t>(spool.count) * spool.width};
}

TokenIds TokenWriter::ids_of(const Spool& spool) const { return {bytes_of(spool), spool.width}; }

void TokenWriter::copy_into(const Spool& spool, int descriptor, std::uint64_t offset) const {
  if (::lseek(descriptor, static_cast<off_t>(offset), SEEK_SET) < 0) fail_io("write", path_, errno);
  std::vector<char> piece(kPiece);
  std::uint64_t bytes = static_cast<std::uint64_t>(spool.count) * spool.width;
  for (std::uint64_t at = 0; at < bytes; at += kPiece) {
    auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, bytes - at));
    read_at(spool.descriptor, at, piece.data(), count, path_);
    if (int error = write_all(descriptor, piece.data(), count)) fail_io("write", path_, error);
  }
}

void TokenWriter::close(const About& about) {
  for (Spool& spool : spools_) flush(spool);
  std::vector<std::pair<std::string, const Spool*>> lists{{"train", spools_.data()}, {"valid", &spools_[1]}};
  TokenMarks marks[2];
  for (std::size_t i = 0; with_marks_ && i < 2; ++i) {
    pack(marks_[i], words_[i]);
    marks[i] = TokenMarks(bytes_of(words_[i]), spools_[i].count);
    lists.emplace_back(i == 0 ? "train_predicted" : "valid_predicted", &words_[i]);
  }
  std::vector<Hdf5Room> rooms;
  std::size_t tokens_bytes = 0;
  for (const auto& [name, spool] : lists) {
    rooms.push_back({.path = name, .count = static_cast<std::uint64_t>(spool->count), .wide = spool->width == 4});
    tokens_bytes += static_cast<std::size_t>(spool->count) * spool->width;
  }
  output_ = std::make_unique<OutputFile>(path_, tokens_bytes + kPiece);
  const std::string& temporary = output_->temporary();
  SINK_CHECK(!temporary.empty(), "prepare", "cannot write " + path_ + ": it is no file", Exit::io);
  // A file of this length is met here if it may not be, and not inside of HDF5.
  if (::truncate(temporary.c_str(), static_cast<off_t>(tokens_bytes + kPiece)) != 0) fail_io("write", path_, errno);
  const std::vector<std::pair<std::string, std::string>> attributes{
      {"vocabulary", std::to_string(vocabulary_)},
      {"end_of_text", std::to_string(about.end_of_text)},
      {"sources", about.sources},
      {"data_sha256", tokens_checksum(ids_of(spools_[0]), ids_of(spools_[1]), marks[0], marks[1])},
      {"tokenizer_sha256", about.tokenizer_sha256},
      {"domains", domains_to_text(domains_)}};
  std::uint64_t bytes = 0;
  try {
    bytes = write_hdf5_frame(temporary, kSealBytes, attributes, rooms);
  } catch (const Hdf5Failure& failure) {
    throw Error("cannot write " + path_ + ": " + failure.what() + "; is the disk full?", Exit::io);
  }
  Descriptor file{::open(temporary.c_str(), O_RDWR | O_CLOEXEC)};
  if (file.number < 0) fail_io("write", path_, errno);
  for (std::size_t i = 0; i < lists.size(); ++i) copy_into(*lists[i].second, file.number, rooms[i].offset);
  SealKind kind = kTokenSeal;
  kind.version = with_marks_ ? 3 : 2;
  std::string seal = make_seal(kind, sha256_behind_seal(file.number, bytes, path_), bytes - kSealBytes);
  if (::lseek(file.number, 0, SEEK_SET) < 0) fail_io("write", path_, errno);
  if (int error = write_all(file.number, seal.data(), seal.size())) fail_io("write", path_, error);
  output_->close();
}

}  // namespace sink
