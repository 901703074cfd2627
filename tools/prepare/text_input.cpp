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

constexpr std::size_t kBufferBytes = std::size_t{1} << 17;

}  // namespace

// An uncompressed file. Derived classes decompress it.
class TextInput::Plain {
 public:
  explicit Plain(const std::string& path) : path_(path), buffer_(kBufferBytes) {
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0 && is_shortage(errno)) fail_io("open", path, errno);
    if (descriptor_ < 0) reject(std::string("cannot be read: ") + std::strerror(errno));
    struct stat about;
    bool is_folder = ::fstat(descriptor_, &about) == 0 && S_ISDIR(about.st_mode);
    if (is_folder) {
      ::close(descriptor_);
      reject("is a folder, expected a file");
    }
    fill();
  }
  Plain(Plain&& other) noexcept
      : path_(std::move(other.path_)), buffer_(std::move(other.buffer_)), unused_(other.unused_), ended_(other.ended_) {
    std::swap(descriptor_, other.descriptor_);
  }
  virtual ~Plain() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  virtual std::size_t read(char* to, std::size_t bytes) {
    if (unused_.empty()) fill();
    std::size_t count = std::min(bytes, unused_.size());
    std::copy_n(unused_.data(), count, to);
    unused_.remove_prefix(count);
    return count;
  }
  std::string_view unused() const { return unused_; }

 protected:
  [[noreturn]] void reject(const std::string& why) const { fail("text", path_ + ": " + why, Exit::bad_input); }
  // Reads more of the file after the unused bytes; does nothing at the end of the file.
  void fill() {
    std::copy(unused_.begin(), unused_.end(), buffer_.begin());
    std::size_t count = unused_.size();
    while (count < buffer_.size() && !ended_) {
      ssize_t got = ::read(descriptor_, buffer_.data() + count, buffer_.size() - count);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) reject(std::string("cannot be read: ") + std::strerror(errno));
      ended_ = got == 0;
      count += static_cast<std::size_t>(got);
    }
    unused_ = {buffer_.data(), count};
  }

  std::string path_;
  std::vector<char> buffer_;
  std::string_view unused_;  // part of buffer_
  bool ended_ = false;       // the file has no more bytes
  int descriptor_ = -1;
};

class TextInput::Gzip : public Plain {
 public:
  explicit Gzip(Plain&& file) : Plain(std::move(file)) {
    constexpr int kGzipOnly = 16;
    SINK_CHECK(::inflateInit2(&stream_, MAX_WBITS + kGzipOnly) == Z_OK, "text", "zlib cannot be initialized");
  }
  ~Gzip() override { ::inflateEnd(&stream_); }

  // A file may consist of several gzip members.
  std::size_t read(char* to, std::size_t bytes) override {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(std::min(bytes, kBufferBytes));
    const auto available = stream_.avail_out;
    while (stream_.avail_out == available) {
      if (unused_.empty()) fill();
      if (unused_.empty() && between_members_) return 0;
      if (unused_.empty()) reject("is truncated: it ends in the middle of its gzip data");
      between_members_ = false;
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(unused_.data()));
      stream_.avail_in = static_cast<uInt>(unused_.size());
      int state = ::inflate(&stream_, Z_NO_FLUSH);
      unused_.remove_prefix(unused_.size() - stream_.avail_in);
      if (state == Z_STREAM_END) {
        between_members_ = ::inflateReset(&stream_) == Z_OK;
      } else if (state != Z_OK && state != Z_BUF_ERROR) {
        reject(std::string("its gzip data is damaged: ") + (stream_.msg ? stream_.msg : "no reason given"));
      }
    }
    return available - stream_.avail_out;
  }

 private:
  z_stream stream_{};
  bool between_members_ = false;  // a member has ended and no other has begun
};

class TextInput::Zstd : public Plain {
 public:
  explicit Zstd(Plain&& file) : Plain(std::move(file)), stream_(::ZSTD_createDCtx()) {
    constexpr int kMaxWindowLog = 27;  // 128 MiB, the default limit of `zstd`
    SINK_CHECK(stream_ && !::ZSTD_isError(::ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kMaxWindowLog)),
               "text", "zstd cannot be initialized");
  }
  ~Zstd() override { ::ZSTD_freeDCtx(stream_); }

  // A file may consist of several frames.
  std::size_t read(char* to, std::size_t bytes) override {
    ZSTD_outBuffer out{to, bytes, 0};
    while (out.pos == 0) {
      if (unused_.empty()) fill();
      if (unused_.empty() && between_members_) return 0;
      ZSTD_inBuffer in{unused_.data(), unused_.size(), 0};
      std::size_t left = ::ZSTD_decompressStream(stream_, &out, &in);
      if (::ZSTD_isError(left)) reject(std::string("its zstd data is damaged: ") + ::ZSTD_getErrorName(left));
      unused_.remove_prefix(in.pos);
      between_members_ = left == 0;
      if (in.size == 0 && out.pos == 0 && !between_members_)
        reject("is truncated: it ends in the middle of its zstd data");
    }
    return out.pos;
  }

 private:
  ZSTD_DCtx* stream_;
  bool between_members_ = false;
};

TextInput::TextInput(const std::string& path) : file_(std::make_unique<Plain>(path)) {
  using namespace std::string_view_literals;
  std::string_view head = file_->unused();
  bool skippable = head.size() >= 4 && (head[0] & 0xf0) == 0x50 && head.substr(1, 3) == "\x2a\x4d\x18"sv;  // of pzstd
  if (head.starts_with("\x1f\x8b"sv))
    file_ = std::make_unique<Gzip>(std::move(*file_));
  else if (skippable || head.starts_with("\x28\xb5\x2f\xfd"sv))
    file_ = std::make_unique<Zstd>(std::move(*file_));
}

TextInput::~TextInput() = default;

std::size_t TextInput::read(char* to, std::size_t bytes) { return file_->read(to, bytes); }

}  // namespace sink
