// Reads a file that lies in memory from front to back, and never beyond its end. Numbers are little-endian.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "engine/io/weights/weight_failure.h"

namespace sink {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they stand in the file");

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t at() const { return at_; }
  std::uint64_t left() const { return bytes_.size() - at_; }

  // The next bytes, where they are. Throws WeightFailure where fewer are left; `what` says what they were to be.
  std::string_view take(std::uint64_t count, const char* what) {
    if (count > left()) [[unlikely]]
      refuse(count, what);
    std::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }

  template <class T>
  T number(const char* what) {
    T value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }

  // How many of something follow: a u64, and each takes at least `least_bytes` of what is left behind it.
  std::uint64_t count(std::uint64_t least_bytes, const char* what) {
    std::uint64_t count = number<std::uint64_t>(what);
    if (count > left() / least_bytes) [[unlikely]]
      throw WeightFailure("byte " + std::to_string(at_ - 8) + " says " + std::to_string(count) + " as the " + what +
                          ", and only " + std::to_string(left()) + " bytes follow");
    return count;
  }

 private:
  [[noreturn]] void refuse(std::uint64_t count, const char* what) const {
    throw WeightFailure("expected " + std::to_string(count) + " bytes of the " + what + " at byte " +
                        std::to_string(at_) + ", got " + std::to_string(left()));
  }

  std::string_view bytes_;
  std::uint64_t at_ = 0;
};

}  // namespace sink
