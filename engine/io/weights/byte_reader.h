// Reads bytes from front to back and never beyond their end. Integers are little-endian. Also the errors of readers of
// weights, which do not know the path of their file.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "engine/io/printable.h"

namespace sink {

static_assert(std::endian::native == std::endian::little, "values are copied without swapping bytes");

// The file is damaged.
struct WeightFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The file may be valid, but uses a feature that is not supported.
struct WeightsNotRead : WeightFailure {
  using WeightFailure::WeightFailure;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t at() const { return at_; }
  std::uint64_t left() const { return bytes_.size() - at_; }

  // The next bytes, not copied. Throws WeightFailure where fewer are left; `what` names them in its message.
  std::string_view take(std::uint64_t count, const char* what) {
    if (count > left()) [[unlikely]]
      throw WeightFailure("expected " + std::to_string(count) + " bytes of the " + what + " at byte " +
                          std::to_string(at_) + ", got " + std::to_string(left()));
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

  // A u64 count of items that follow, each of at least `least_bytes` bytes.
  std::uint64_t count(std::uint64_t least_bytes, const char* what) {
    std::uint64_t count = number<std::uint64_t>(what);
    if (count > left() / least_bytes) [[unlikely]]
      throw WeightFailure("byte " + std::to_string(at_ - 8) + " says " + std::to_string(count) + " as the " + what +
                          ", and only " + std::to_string(left()) + " bytes follow");
    return count;
  }

 private:
  std::string_view bytes_;
  std::uint64_t at_ = 0;
};

}  // namespace sink
