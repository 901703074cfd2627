// A fuzz target with a fault on purpose: a length in the input is believed. Fuzzing must find it within seconds.
#include <cstdint>
#include <cstring>
#include <memory>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 6 || std::memcmp(data, "SINK", 4) != 0) return 0;
  const std::size_t length = data[4], bytes = size - 5;
  if (length % 2 == 1) return 0;
  const auto copy = std::make_unique<std::uint8_t[]>(bytes);
  std::memcpy(copy.get(), data + 5, bytes);
  volatile std::uint8_t last = 0;
  for (std::size_t i = 0; i < length; ++i) last = copy[i];  // length may be above bytes
  return 0;
}
