#include "engine/data/token_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "engine/io/hdf5_file.h"
#include "engine/io/temporary_name.h"

namespace sink {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;  // bytes written or read at once

// An unnamed file in the folder of `path`; it is deleted when its descriptor is closed.
FileDescriptor open_unnamed(const std::string& path) {
  const std::string name = temporary_name(path);
  FileDescriptor file(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file < 0) fail_io("write", path, errno);
  ::unlink(name.c_str());
  return file;
}

// Calls use(data, bytes) for bytes [begin, end) of an open file, a block at a time.
template <class Use>
void for_each_block(int descriptor, std::uint64_t begin, std::uint64_t end, const std::string& path, Use&& use) {
  std::vector<char> block(kBlock);
  for (std::uint64_t at = begin; at < end; at += kBlock) {
    auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, end - at));
    int error = 0;
    if (read_at(descriptor, at, block.data(), count, error) < count) fail_io("read back", path, error ? error : EIO);
    use(block.data(), count);
  }
}

Sha256 digest_of(int descriptor, std::uint64_t begin, std::uint64_t end, const std::string& path) {
  Sha256 digest;
  for_each_block(descriptor, begin, end, path, [&](const char* data, std::size_t count) { digest.add(data, count); });
  return digest;
}

[[noreturn]] void fail_disk_differs(const std::string& path, const std::string& how) {
  throw Error("cannot write " + path + ": what the disk gave back is not what was written (" + how + ")", Exit::io);
}

// Whether the file has these tokens and attributes: its checksum is made of what the disk gave back.
void require_in_file(const std::string& temporary, const std::string& path, const TokenFile& expected) {
  try {
    const TokenFile found = read_token_file(temporary);
    const std::string tokens = tokens_checksum(found.train, found.valid, found.train_predicted, found.valid_predicted);
    if (tokens == expected.checksum && found.checksum == expected.checksum && found.vocabulary == expected.vocabulary &&
        found.end_of_text == expected.end_of_text && found.begin_token == expected.begin_token &&
        found.sources == expected.sources && found.tokenizer_sha256 == expected.tokenizer_sha256 &&
        domains_to_text(found.domains) == domains_to_text(expected.domains))
      return;
  } catch (const Error& error) {
    if (error.code != Exit::bad_input) throw;
    fail_disk_differs(path, error.what());
  }
  fail_disk_differs(path, "other tokens");
}

}  // namespace

TokenWriter::TokenWriter(const std::string& path, std::int64_t vocabulary, bool with_marks)
    : path_(path), vocabulary_(vocabulary), with_marks_(with_marks) {
  for (Spool& spool : spools_) {
    spool.width = vocabulary > 65536 ? 4 : 2;
    spool.file = open_unnamed(path);
  }
  if (!with_marks_) return;
  for (auto* spools : {&marks_, &words_})
    for (Spool& spool : *spools) spool.file = open_unnamed(path);
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
  if (spool.waiting.size() >= kBlock) flush(spool);
}

void TokenWriter::flush(Spool& spool) {
  if (int error = write_all(spool.file, spool.waiting.data(), spool.waiting.size())) fail_io("write", path_, error);
  spool.written.add(spool.waiting.data(), spool.waiting.size());
  spool.waiting.clear();
}

void TokenWriter::require_as_written(Spool& spool) {
  const auto bytes = static_cast<std::uint64_t>(spool.count) * spool.width;
  if (digest_of(spool.file, 0, bytes, path_).hex() != spool.written.hex()) fail_disk_differs(path_, "a temporary file");
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
  require_as_written(from);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
  ids_of(from).copy(from.count - count, count, ids.data());
  append(to, ids);
  from.count -= count;
  from.written = digest_of(from.file, 0, static_cast<std::uint64_t>(from.count) * from.width, path_);
}

// 16 marks per u16 word.
void TokenWriter::pack_bits(Spool& marks, Spool& words) {
  flush(marks);
  require_as_written(marks);
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
  require_as_written(words);
}

MappedBytes TokenWriter::bytes_of(const Spool& spool) const {
  return {spool.file, 0, static_cast<std::size_t>(spool.count) * spool.width};
}

TokenIds TokenWriter::ids_of(const Spool& spool) const { return {bytes_of(spool), spool.width}; }

void TokenWriter::copy_into(const Spool& spool, int descriptor, std::uint64_t offset) const {
  if (::lseek(descriptor, static_cast<off_t>(offset), SEEK_SET) < 0) fail_io("write", path_, errno);
  for_each_block(spool.file, 0, static_cast<std::uint64_t>(spool.count) * spool.width, path_,
                 [&](const char* data, std::size_t count) {
                   if (int error = write_all(descriptor, data, count)) fail_io("write", path_, error);
                 });
}

void TokenWriter::close(const About& about) {
  for (Spool& spool : spools_) {
    flush(spool);
    require_as_written(spool);
  }
  std::vector<std::pair<std::string, const Spool*>> lists{{"train", spools_.data()}, {"valid", &spools_[1]}};
  TokenMarks marks[2];
  for (std::size_t i = 0; with_marks_ && i < 2; ++i) {
    pack_bits(marks_[i], words_[i]);
    marks[i] = TokenMarks(bytes_of(words_[i]), spools_[i].count);
    lists.emplace_back(i == 0 ? "train_predicted" : "valid_predicted", &words_[i]);
  }
  std::vector<Hdf5List> lists_in_file;
  std::size_t tokens_bytes = 0;
  for (const auto& [name, spool] : lists) {
    lists_in_file.push_back(
        {.path = name, .count = static_cast<std::uint64_t>(spool->count), .wide = spool->width == 4});
    tokens_bytes += static_cast<std::size_t>(spool->count) * spool->width;
  }
  output_ = std::make_unique<OutputFile>(path_, tokens_bytes + kBlock);
  const std::string& temporary = output_->temporary();
  SINK_CHECK(!temporary.empty(), "prepare", "cannot write " + path_ + ": it is not a regular file", Exit::io);
  // A limit on file sizes fails here and not inside HDF5.
  if (::truncate(temporary.c_str(), static_cast<off_t>(tokens_bytes + kBlock)) != 0) fail_io("write", path_, errno);
  const std::string checksum = tokens_checksum(ids_of(spools_[0]), ids_of(spools_[1]), marks[0], marks[1]);
  std::vector<std::pair<std::string, std::string>> attributes{{"vocabulary", std::to_string(vocabulary_)},
                                                              {"end_of_text", std::to_string(about.end_of_text)},
                                                              {"sources", about.sources},
                                                              {"data_sha256", checksum},
                                                              {"tokenizer_sha256", about.tokenizer_sha256},
                                                              {"domains", domains_to_text(domains_)}};
  if (about.begin_token >= 0) attributes.emplace_back("begin_token", std::to_string(about.begin_token));
  std::uint64_t bytes = 0;
  try {
    bytes = write_hdf5_frame(temporary, kChecksumHeaderBytes, attributes, lists_in_file);
  } catch (const Hdf5Failure& failure) {
    throw Error("cannot write " + path_ + ": " + failure.what() + "; is the disk full?", Exit::io);
  }
  const FileDescriptor file(::open(temporary.c_str(), O_RDWR | O_CLOEXEC));
  if (file < 0) fail_io("write", path_, errno);
  for (std::size_t i = 0; i < lists.size(); ++i) copy_into(*lists[i].second, file, lists_in_file[i].offset);
  FileFormat format = kTokenFormat;
  format.version = with_marks_ ? 3 : 2;
  const std::string header = make_checksum_header(format, digest_of(file, kChecksumHeaderBytes, bytes, path_).hex(),
                                                  bytes - kChecksumHeaderBytes);
  if (::lseek(file, 0, SEEK_SET) < 0) fail_io("write", path_, errno);
  if (int error = write_all(file, header.data(), header.size())) fail_io("write", path_, error);
  output_->close();
  TokenFile expected;
  expected.vocabulary = vocabulary_;
  expected.end_of_text = about.end_of_text;
  expected.begin_token = about.begin_token;
  expected.sources = about.sources;
  expected.tokenizer_sha256 = about.tokenizer_sha256;
  expected.checksum = checksum;
  expected.domains = domains_;
  require_in_file(temporary, path_, expected);
}

}  // namespace sink
