// Dot products with stored weights, which are decoded block by block.
#include <bit>
#include <cstring>
#include <iterator>
#include <vector>

#include "engine/dtype.h"
#include "engine/stored/stored_blocks.h"
#include "engine/stored/stored_type.h"

namespace sink {
namespace {

constexpr std::int64_t kLanes = 32;

using blocks::Floats;
using blocks::floats_at;

struct LaneSums {
  Floats low{}, high{};

  void add(const Floats& low_w, const Floats& high_w, const float* x) {
    low += floats_at(x) * low_w;
    high += floats_at(x + 16) * high_w;
  }
  float total() const {
    const blocks::EightFloats sums = blocks::halves_added(low + high);
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
  }
};

// Steps of `elements` elements, a multiple of kLanes, in `bytes` bytes.
template <int elements, int bytes, auto decode_step>
[[gnu::flatten]] float dot_steps(StoredType type, const unsigned char* w, const float* x, std::int64_t count) {
  LaneSums sums;
  std::int64_t i = 0;
  for (; i + elements <= count; i += elements, w += bytes) {
    blocks::read_ahead<bytes>(w);
    decode_step(w, [&](int n, const Floats& low, const Floats& high) { sums.add(low, high, x + i + n); });
  }
  float sum = sums.total();
  if (i < count) {  // plain elements, fewer than a step
    float rest[elements];
    decode(type, w, count - i, rest);
    for (std::int64_t n = 0; i + n < count; ++n) sum += x[i + n] * rest[n];
  }
  return sum;
}

template <class T, float (*convert)(T)>
constexpr auto decode_plain = [](const unsigned char* from, auto put) {
  T values[kLanes];
  float out[kLanes];
  std::memcpy(values, from, sizeof values);
#pragma omp simd
  for (int i = 0; i < kLanes; ++i) out[i] = convert(values[i]);
  put(0, floats_at(out), floats_at(out + 16));
};
float of_float(float x) { return x; }
float of_bf16(std::uint16_t x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16); }

float dot_any(StoredType type, const unsigned char* w, const float* x, std::int64_t count) {
  std::vector<float> decoded(static_cast<std::size_t>(count));
  decode(type, w, count, decoded.data());
  return dot(decoded.data(), x, count);
}

using Dot = float (*)(StoredType type, const unsigned char* w, const float* x, std::int64_t count);
constexpr Dot kDotF32 = dot_steps<32, 128, decode_plain<float, of_float>>;

// By StoredType.
constexpr Dot kDot[] = {dot_any,
                        kDotF32,
                        dot_steps<32, 64, blocks::decode_f16>,
                        dot_steps<32, 64, decode_plain<std::uint16_t, of_bf16>>,
                        dot_any,
                        dot_any,
                        dot_any,
                        dot_any,
                        dot_any,
                        dot_any,
                        dot_any,
                        dot_steps<32, 34, blocks::decode_q8_0>,
                        dot_steps<32, 18, blocks::decode_q4_0>,
                        dot_steps<32, 20, blocks::decode_q4_1>,
                        dot_steps<32, 22, blocks::decode_q5_0>,
                        dot_steps<32, 24, blocks::decode_q5_1>,
                        dot_steps<256, 144, blocks::decode_q4_k>,
                        dot_steps<256, 176, blocks::decode_q5_k>,
                        dot_steps<256, 210, blocks::decode_q6_k>,
                        dot_steps<256, 84, blocks::decode_q2_k>,
                        dot_steps<256, 110, blocks::decode_q3_k>,
                        dot_steps<32, 18, blocks::decode_iq4_nl>,
                        dot_steps<256, 136, blocks::decode_iq4_xs>,
                        dot_steps<32, 17, blocks::decode_mxfp4>,
                        dot_steps<256, 54, blocks::decode_tq1_0>,
                        dot_steps<256, 66, blocks::decode_tq2_0>,
                        dot_steps<32, 24, blocks::decode_scaled_4>,
                        dot_steps<32, 36, blocks::decode_scaled_f8>};
static_assert(std::size(kDot) == std::size(kStoredLayouts));

}  // namespace

float dot(const float* w, const float* x, std::int64_t count) {
  return kDotF32(StoredType::F32, reinterpret_cast<const unsigned char*>(w), x, count);
}

float dot(StoredType type, const unsigned char* w, const float* x, std::int64_t count) {
  return kDot[static_cast<int>(type)](type, w, x, count);
}

}  // namespace sink
