#include "engine/stored/dot.h"

#include <bit>
#include <cstring>
#include <vector>

#include "engine/dtype.h"
#include "engine/stored/decode.h"
#include "engine/stored/stored_blocks.h"

namespace sink {
namespace {

constexpr std::int64_t kLanes = 32;

using blocks::Floats;

Floats floats_at(const float* x) {
  Floats numbers;
  std::memcpy(&numbers, x, sizeof numbers);
  return numbers;
}

// The first half of the numbers plus the second.
template <class Half, class Whole>
Half in_halves(const Whole& numbers) {
  static_assert(sizeof(Whole) == 2 * sizeof(Half));
  Half halves[2];
  std::memcpy(halves, &numbers, sizeof numbers);
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
    const Four sums = in_halves<Four>(in_halves<Eight>(low + high));
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
  }
};

// Of steps of `numbers` numbers, a multiple of kLanes, in `bytes` bytes.
template <int numbers, int bytes, void (*decode_step)(const unsigned char*, float*)>
[[gnu::flatten]] float dot_steps(StoredType type, const unsigned char* w, const float* x, std::int64_t count) {
  LaneSums sums;
  std::int64_t i = 0;
  for (; i + numbers <= count; i += numbers, w += bytes) {
    float step[numbers];
    decode_step(w, step);
    for (int lane = 0; lane < numbers; lane += kLanes) sums.add(step + lane, x + i + lane);
  }
  float sum = sums.total();
  if (i < count) {  // plain numbers, fewer than a step
    float rest[numbers];
    decode(type, w, count - i, rest);
    for (std::int64_t n = 0; i + n < count; ++n) sum += x[i + n] * rest[n];
  }
  return sum;
}

template <class T, float (*convert)(T)>
void plain(const unsigned char* from, float* out) {
  T numbers[kLanes];
  std::memcpy(numbers, from, sizeof numbers);
#pragma omp simd
  for (int i = 0; i < kLanes; ++i) out[i] = convert(numbers[i]);
}
float of_float(float x) { return x; }
float of_bf16(std::uint16_t x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16); }

float dot_any(StoredType type, const unsigned char* w, const float* x, std::int64_t count) {
  std::vector<float> decoded(static_cast<std::size_t>(count));
  decode(type, w, count, decoded.data());
  return dot(decoded.data(), x, count);
}

}  // namespace

float dot(const float* w, const float* x, std::int64_t count) {
  return dot_steps<32, 128, plain<float, of_float>>(StoredType::F32, reinterpret_cast<const unsigned char*>(w), x,
                                                    count);
}

float dot(StoredType type, const unsigned char* w, const float* x, std::int64_t count) {
  switch (type) {
    case StoredType::F32:
      return dot_steps<32, 128, plain<float, of_float>>(type, w, x, count);
    case StoredType::F16:
      return dot_steps<32, 64, plain<std::uint16_t, float_of_f16>>(type, w, x, count);
    case StoredType::BF16:
      return dot_steps<32, 64, plain<std::uint16_t, of_bf16>>(type, w, x, count);
    case StoredType::Q8_0:
      return dot_steps<32, 34, blocks::decode_q8_0>(type, w, x, count);
    case StoredType::Q4_0:
      return dot_steps<32, 18, blocks::decode_q4_0>(type, w, x, count);
    case StoredType::Q4_1:
      return dot_steps<32, 20, blocks::decode_q4_1>(type, w, x, count);
    case StoredType::Q5_0:
      return dot_steps<32, 22, blocks::decode_q5_0>(type, w, x, count);
    case StoredType::Q5_1:
      return dot_steps<32, 24, blocks::decode_q5_1>(type, w, x, count);
    case StoredType::Q4_K:
      return dot_steps<256, 144, blocks::decode_q4_k>(type, w, x, count);
    case StoredType::Q5_K:
      return dot_steps<256, 176, blocks::decode_q5_k>(type, w, x, count);
    case StoredType::Q6_K:
      return dot_steps<256, 210, blocks::decode_q6_k>(type, w, x, count);
    default:
      return dot_any(type, w, x, count);
  }
}

}  // namespace sink
