// Decodes elements of a stored type.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <vector>

#include "engine/dtype.h"
#include "engine/stored/stored_blocks.h"
#include "engine/stored/stored_type.h"

namespace sink {
namespace {

using Decode = void (*)(const unsigned char* from, std::int64_t count, float* out);

template <class T>
float float_of(T value) {
  return static_cast<float>(value);
}
float float_of_bool(std::uint8_t value) { return value != 0 ? 1.0f : 0.0f; }

// Plain elements at any address.
template <class T, float (*convert)(T) = float_of<T>>
void decode_each(const unsigned char* from, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * static_cast<std::int64_t>(sizeof value), sizeof value);
    out[i] = convert(value);
  }
}

void decode_f16_each(const unsigned char* from, std::int64_t count, float* out) {
  std::int64_t i = 0;
  for (; i + 32 <= count; i += 32) blocks::decode_f16(from + 2 * i, blocks::put_into(out + i));
  for (; i < count; ++i) out[i] = blocks::f16_at(from + 2 * i);
}

void decode_e4m3_each(const unsigned char* from, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const bool is_nan = (from[i] & 0x7f) == 0x7f;
    const int half = (from[i] & 0x80) << 8 | (from[i] & 0x7f) << 7;
    out[i] = is_nan ? std::numeric_limits<float>::quiet_NaN() : 256 * float_of_f16(static_cast<std::uint16_t>(half));
  }
}

template <StoredType type, auto decode_block>
void decode_blocks(const unsigned char* from, std::int64_t count, float* out) {
  constexpr StoredLayout block = layout_of(type);
  for (std::int64_t i = 0; i < count; i += block.elements, from += block.bytes)
    decode_block(from, blocks::put_into(out + i));
}

// By StoredType.
constexpr Decode kDecode[] = {decode_each<double>,
                              decode_each<float>,
                              decode_f16_each,
                              decode_each<bf16>,
                              decode_each<std::int64_t>,
                              decode_each<std::int32_t>,
                              decode_each<std::int16_t>,
                              decode_each<std::int8_t>,
                              decode_each<std::uint8_t>,
                              decode_each<std::uint8_t, float_of_bool>,
                              decode_e4m3_each,
                              decode_blocks<StoredType::Q8_0, blocks::decode_q8_0>,
                              decode_blocks<StoredType::Q4_0, blocks::decode_q4_0>,
                              decode_blocks<StoredType::Q4_1, blocks::decode_q4_1>,
                              decode_blocks<StoredType::Q5_0, blocks::decode_q5_0>,
                              decode_blocks<StoredType::Q5_1, blocks::decode_q5_1>,
                              decode_blocks<StoredType::Q4_K, blocks::decode_q4_k>,
                              decode_blocks<StoredType::Q5_K, blocks::decode_q5_k>,
                              decode_blocks<StoredType::Q6_K, blocks::decode_q6_k>,
                              decode_blocks<StoredType::Q2_K, blocks::decode_q2_k>,
                              decode_blocks<StoredType::Q3_K, blocks::decode_q3_k>,
                              decode_blocks<StoredType::IQ4_NL, blocks::decode_iq4_nl>,
                              decode_blocks<StoredType::IQ4_XS, blocks::decode_iq4_xs>,
                              decode_blocks<StoredType::MXFP4, blocks::decode_mxfp4>,
                              decode_blocks<StoredType::TQ1_0, blocks::decode_tq1_0>,
                              decode_blocks<StoredType::TQ2_0, blocks::decode_tq2_0>,
                              decode_blocks<StoredType::Scaled4, blocks::decode_scaled_4>,
                              decode_blocks<StoredType::ScaledF8, blocks::decode_scaled_f8>};
static_assert(std::size(kDecode) == std::size(kStoredLayouts));

}  // namespace

void decode(StoredType type, const unsigned char* from, std::int64_t count, float* out) {
  kDecode[static_cast<int>(type)](from, count, out);
}

void decode(StoredType type, const unsigned char* from, std::int64_t count, double* out) {
  if (type == StoredType::F64) {
    std::memcpy(out, from, static_cast<std::size_t>(count) * sizeof *out);
    return;
  }
  std::vector<float> narrow(static_cast<std::size_t>(count));
  decode(type, from, count, narrow.data());
  std::ranges::copy(narrow, out);
}

}  // namespace sink
