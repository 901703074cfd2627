#include "tools/prepare/text_input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "engine/check.h"
#include "engine/io/file.h"

namespace sink {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 17;  // bytes of a file at once

}  // namespace

// The file as it is, and what unpacks it made of it.
class TextInput::Packed {
 public:
  explicit Packed(const std::string& path) : path_(path), piece_(kPiece) {
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0 && is_shortage(errno)) fail_io("open", path, errno);
    if (descriptor_ < 0) refuse(std::strerror(errno));
    struct stat about;
    bool is_folder = ::fstat(descriptor_, &about) == 0 && S_ISDIR(about.st_mode);
    if (is_folder) {
      ::close(descriptor_);
      refuse("is a folder, expected a file");
    }
    fill();
  }
  Packed(Packed&& other) noexcept
      : path_(std::move(other.path_)), piece_(std::move(other.piece_)), waiting_(other.waiting_), ended_(other.ended_) {
    std::swap(descriptor_, other.descriptor_);
  }
  virtual ~Packed() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  virtual std::size_t unpack(char* to, std::size_t bytes) {
    if (waiting_.empty()) fill();
    std::size_t count = std::min(bytes, waiting_.size());
    std::copy_n(waiting_.data(), count, to);
    waiting_.remove_prefix(count);
    return count;
  }
  std::string_view waiting() const { return waiting_; }

 protected:
  [[noreturn]] void refuse(const std::string& why) const { fail("text", path_ + ": " + why, Exit::bad_input); }
  // More of the file behind what waits; at the end of the file what waits stays as it is.
  void fill() {
    std::copy(waiting_.begin(), waiting_.end(), piece_.begin());
    std::size_t count = waiting_.size();
    while (count < piece_.size() && !ended_) {
      ssize_t got = ::read(descriptor_, piece_.data() + count, piece_.size() - count);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) refuse(std::strerror(errno));
      ended_ = got == 0;
      count += static_cast<std::size_t>(got);
    }
    waiting_ = {piece_.data(), count};
  }

  std::string path_;
  std::vector<char> piece_;
  std::string_view waiting_;  // of piece_, not yet used
  bool ended_ = false;        // nothing comes behind what waits
  int descriptor_ = -1;
};

class TextInput::Gzip : public Packed {
 public:
  explicit Gzip(Packed&& file) : Packed(std::move(file)) {
    constexpr int kGzipOnly = 16;
    SINK_CHECK(::inflateInit2(&stream_, MAX_WBITS + kGzipOnly) == Z_OK, "text", "zlib does not start");
  }
  ~Gzip() override { ::inflateEnd(&stream_); }

  // A file may be several gzip members, one behind the other.
  std::size_t unpack(char* to, std::size_t bytes) override {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(std::min(bytes, kPiece));
    auto room = stream_.avail_out;
    while (stream_.avail_out == room) {
      if (waiting_.empty()) fill();
      if (waiting_.empty() && between_) return 0;
      if (waiting_.empty()) refuse("ends in the middle of its gzip data: it was cut off");
      between_ = false;
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(waiting_.data()));
      stream_.avail_in = static_cast<uInt>(waiting_.size());
      int state = ::inflate(&stream_, Z_NO_FLUSH);
      waiting_.remove_prefix(waiting_.size() - stream_.avail_in);
      if (state == Z_STREAM_END) {
        between_ = ::inflateReset(&stream_) == Z_OK;
      } else if (state != Z_OK && state != Z_BUF_ERROR) {
        refuse(std::string("its gzip data is damaged: ") + (stream_.msg ? stream_.msg : "no reason given"));
      }
    }
    return room - stream_.avail_out;
  }

 private:
  z_stream stream_{};
  bool between_ = false;  // one member ended, and no other has begun
};

class TextInput::Zstd : public Packed {
 public:
  explicit Zstd(Packed&& file) : Packed(std::move(file)), stream_(::ZSTD_createDCtx()) {
    constexpr int kLargestWindow = 27;  // 128 MiB, what `zstd` itself accepts by default
    SINK_CHECK(stream_ && !::ZSTD_isError(::ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kLargestWindow)),
               "text", "zstd does not start");
  }
  ~Zstd() override { ::ZSTD_freeDCtx(stream_); }

  // A file may be several frames, one behind the other.
  std::size_t unpack(char* to, std::size_t bytes) override {
    ZSTD_outBuffer out{to, bytes, 0};
    while (out.pos == 0) {
      if (waiting_.empty()) fill();
      if (waiting_.empty() && between_) return 0;
      ZSTD_inBuffer in{waiting_.data(), waiting_.size(), 0};
      std::size_t left = ::ZSTD_decompressStream(stream_, &out, &in);
      if (::ZSTD_isError(left)) refuse(std::string("its zstd data cannot be unpacked: ") + ::ZSTD_getErrorName(left));
      waiting_.remove_prefix(in.pos);
      between_ = left == 0;
      if (in.size == 0 && out.pos == 0 && !between_) refuse("ends in the middle of its zstd data: it was cut off");
    }
    return out.pos;
  }

 private:
  ZSTD_DCtx* stream_;
  bool between_ = false;
};

TextInput::TextInput(const std::string& path) : packed_(std::make_unique<Packed>(path)) {
  using namespace std::string_view_literals;
  std::string_view head = packed_->waiting();
  bool skippable = head.size() >= 4 && (head[0] & 0xf0) == 0x50 && head.substr(1, 3) == "\x2a\x4d\x18"sv;  // of pzstd
  if (head.starts_with("\x1f\x8b"sv))
    packed_ = std::make_unique<Gzip>(std::move(*packed_));
  else if (skippable || head.starts_with("\x28\xb5\x2f\xfd"sv))
    packed_ = std::make_unique<Zstd>(std::move(*packed_));
}

TextInput::~TextInput() = default;

std::size_t TextInput::read(char* to, std::size_t bytes) { return packed_->unpack(to, bytes); }

}  // namespace sink
