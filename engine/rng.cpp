#include "engine/rng.h"

#include <cmath>
#include <numbers>

namespace sink {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> c, std::array<std::uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c[0];
    std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(p0)};
    k[0] += 0x9E3779B9u;  // golden ratio
    k[1] += 0xBB67AE85u;  // sqrt(3) - 1
  }
  return c;
}

namespace {

// FNV-1a; it only has to tell streams apart.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (unsigned char byte : text) h = (h ^ byte) * 0x100000001b3u;
  return h;
}

}  // namespace

Rng::Rng(std::uint64_t seed, std::string_view stream) {
  std::uint64_t h = hash_of(stream);
  std::uint64_t key = seed * 0x9E3779B97F4A7C15u ^ h;
  key_ = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
  stream_ = static_cast<std::uint32_t>(h >> 32);
}

std::array<std::uint32_t, 4> Rng::words(std::uint64_t i, std::uint32_t lane) const {
  return philox({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), lane, stream_}, key_);
}

std::uint64_t Rng::bits(std::uint64_t i, std::uint32_t lane) const {
  auto w = words(i, lane);
  return std::uint64_t{w[0]} << 32 | w[1];
}

double Rng::uniform(std::uint64_t i, std::uint32_t lane) const {
  return static_cast<double>(bits(i, lane) >> 11) * 0x1p-53;
}

double Rng::normal(std::uint64_t i, std::uint32_t lane) const {
  auto w = words(i, lane);
  double u = (static_cast<double>((std::uint64_t{w[0]} << 32 | w[1]) >> 11) + 1) * 0x1p-53;  // (0, 1]
  double v = static_cast<double>((std::uint64_t{w[2]} << 32 | w[3]) >> 11) * 0x1p-53;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

std::uint64_t Rng::below(std::uint64_t i, std::uint64_t n, std::uint32_t lane) const {
  __extension__ using Wide = unsigned __int128;
  // The high word of a 64 x 64 bit product; the bias is below n / 2^64.
  return static_cast<std::uint64_t>((static_cast<Wide>(bits(i, lane)) * n) >> 64);
}

}  // namespace sink
