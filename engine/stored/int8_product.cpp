#include "engine/stored/int8_product.h"

#include <bit>
#include <cmath>
#include <limits>

#include "engine/stored/int8_vnni.h"

namespace sink {
namespace {

// 32 elements of x: its codes and d.
float round_block(const float* x, std::int8_t* codes) {
  constexpr float kSmallest = 0x1p-100f;
  std::uint32_t largest = 0;  // as bits, whose order is that of magnitudes, infinity and NaN
  for (int i = 0; i < 32; ++i) largest = std::max(largest, std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu);
  const float most = std::bit_cast<float>(largest);
  const bool is_finite = largest < 0x7f800000u;
  const float times = is_finite && most >= kSmallest ? 127 / most : 0;
  for (int i = 0; i < 32; ++i)
    codes[i] = is_finite ? static_cast<std::int8_t>(static_cast<int>(std::nearbyint(x[i] * times))) : std::int8_t{0};
  return !is_finite ? std::numeric_limits<float>::quiet_NaN() : times > 0 ? most / 127 : 0;
}

}  // namespace

bool has_int8(StoredType type) {
  return int8::with_type(type, [](auto) {});
}

std::string int8_types() {
  std::string names;
  int8::for_each_type([&]<class T>(T) { names += (names.empty() ? "" : ", ") + std::string(layout_of(T::type).name); });
  return names;
}

bool has_int8(const StoredPart& part) { return !part.transposed && part.pieces == 1 && has_int8(part.type); }

Int8Input round_to_int8(StoredType type, const float* x, std::int64_t rows, std::int64_t columns) {
  const std::int64_t blocks = (columns + kInt8Columns - 1) / kInt8Columns;
  Int8Input input{type, rows, columns,
                  std::make_unique_for_overwrite<Int8Block[]>(static_cast<std::size_t>(blocks * rows))};
  int sharing = 32, offset = 0;
  int8::with_type(type, [&]<class T>(T) { sharing = T::sharing, offset = T::offset; });
  parallel_chunks(blocks * rows, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      Int8Block& block = input.blocks[static_cast<std::size_t>(n)];
      const std::int64_t column = n / rows * kInt8Columns;
      const float* from = x + n % rows * columns + column;
      const int count = static_cast<int>(std::min<std::int64_t>(kInt8Columns, columns - column));
      for (int first = 0; first < count; first += 32) {
        const float d = block.scales[first / 32] = round_block(from + first, block.codes + first);
        std::int32_t sum = 0;
        for (int i = first; i < first + 32; i += sharing) {
          std::int32_t of_group = 0;
          for (int k = i; k < i + sharing; ++k) of_group += block.codes[k];
          block.starts[i / sharing] = -offset * of_group;
          sum += of_group;
        }
        block.sums[first / 32] = d * static_cast<float>(sum);
      }
    }
  });
  return input;
}

void int8_product(const Int8Input& x, const StoredPart& part, std::int64_t first, std::int64_t count, float* y,
                  std::int64_t stride) {
#ifdef SINK_INT8_VNNI
  int8::product<int8::Vnni>(x, part, first, count, y, stride);
#else
  int8::product<int8::Portable>(x, part, first, count, y, stride);
#endif
}

}  // namespace sink
