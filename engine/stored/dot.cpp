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

Floats floats_at(const float* x) {
  Floats values;
  std::memcpy(&values, x, sizeof values);
  return values;
}

template <class Half, class Whole>
Half add_halves(const Whole& values) {
  static_assert(sizeof(Whole) == 2 * sizeof(Half));
  Half halves[2];
  std::memcpy(halves, &values, sizeof values);
  return halves[0] + halves[1];
}

struct LaneSums {
  Floats low{}, high{};

  void add(const float* w, const float* x) {
    low += floats_at(x) * floats_at(w);
    high += floats_at(x + 16) * floats_at(w + 16);
  }
  float total() const {
    using Eight = float __attribute__((vector_size(32)));
    using Four = float __attribute__((vector_size(16)));
    const Four sums = add_halves<Four>(add_halves<Eight>(low + high));
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
  }
};

// Steps of `elements` elements, a multiple of kLanes, in `bytes` bytes.
template <int elements, int bytes, void (*decode_step)(const unsigned char*, float*)>
[[gnu::flatten]] float dot_steps(StoredType type, const unsigned char* w, const float* x, std::int64_t count) {
  LaneSums sums;
  std::int64_t i = 0;
  for (; i + elements <= count; i += elements, w += bytes) {
    float step[elements];
    decode_step(w, step);
    for (int lane = 0; lane < elements; lane += kLanes) sums.add(step + lane, x + i + lane);
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
void decode_plain(const unsigned char* from, float* out) {
  T values[kLanes];
  std::memcpy(values, from, sizeof values);
#pragma omp simd
  for (int i = 0; i < kLanes; ++i) out[i] = convert(values[i]);
}
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
                        dot_steps<32, 64, decode_plain<std::uint16_t, float_of_f16>>,
                        dot_steps<32, 64, decode_plain<std::uint16_t, of_bf16>>,
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
                        dot_steps<32, 17, blocks::decode_mxfp4>};
static_assert(std::size(kDot) == std::size(kStoredLayouts));

}  // namespace

float dot(const float* w, const float* x, std::int64_t count) {
  return kDotF32(StoredType::F32, reinterpret_cast<const unsigned char*>(w), x, count);
}

float dot(StoredType type, const unsigned char* w, const float* x, std::int64_t count) {
  return kDot[static_cast<int>(type)](type, w, x, count);
}

}  // namespace sink
