#include "engine/stored/decode.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/dtype.h"
#include "engine/stored/stored_blocks.h"

namespace sink {
namespace {

// Each number for itself; they lie at any address.
template <class T, class Convert>
void decode_each(const unsigned char* from, std::int64_t count, float* out, Convert&& convert) {
  for (std::int64_t i = 0; i < count; ++i) {
    T number;
    std::memcpy(&number, from + i * static_cast<std::int64_t>(sizeof number), sizeof number);
    out[i] = convert(number);
  }
}
template <class T>
void decode_each(const unsigned char* from, std::int64_t count, float* out) {
  decode_each<T>(from, count, out, [](T number) { return static_cast<float>(number); });
}

template <void (*decode_block)(const unsigned char*, float*)>
void decode_blocks(const unsigned char* from, std::int64_t count, float* out, const StoredLayout& block) {
  for (std::int64_t i = 0; i < count; i += block.numbers, from += block.bytes) decode_block(from, out + i);
}

}  // namespace

void decode(StoredType type, const unsigned char* from, std::int64_t count, float* out) {
  const StoredLayout& block = layout_of(type);
  switch (type) {
    case StoredType::F64:
      return decode_each<double>(from, count, out);
    case StoredType::F32:
      return decode_each<float>(from, count, out);
    case StoredType::F16:
      return decode_each<std::uint16_t>(from, count, out, float_of_f16);
    case StoredType::BF16:
      return decode_each<bf16>(from, count, out);
    case StoredType::I64:
      return decode_each<std::int64_t>(from, count, out);
    case StoredType::I32:
      return decode_each<std::int32_t>(from, count, out);
    case StoredType::I16:
      return decode_each<std::int16_t>(from, count, out);
    case StoredType::I8:
      return decode_each<std::int8_t>(from, count, out);
    case StoredType::U8:
      return decode_each<std::uint8_t>(from, count, out);
    case StoredType::Bool:
      return decode_each<std::uint8_t>(from, count, out, [](std::uint8_t b) { return b != 0 ? 1.0f : 0.0f; });
    case StoredType::Q8_0:
      return decode_blocks<blocks::decode_q8_0>(from, count, out, block);
    case StoredType::Q4_0:
      return decode_blocks<blocks::decode_q4_0>(from, count, out, block);
    case StoredType::Q4_1:
      return decode_blocks<blocks::decode_q4_1>(from, count, out, block);
    case StoredType::Q5_0:
      return decode_blocks<blocks::decode_q5_0>(from, count, out, block);
    case StoredType::Q5_1:
      return decode_blocks<blocks::decode_q5_1>(from, count, out, block);
    case StoredType::Q4_K:
      return decode_blocks<blocks::decode_q4_k>(from, count, out, block);
    case StoredType::Q5_K:
      return decode_blocks<blocks::decode_q5_k>(from, count, out, block);
    case StoredType::Q6_K:
      return decode_blocks<blocks::decode_q6_k>(from, count, out, block);
  }
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
