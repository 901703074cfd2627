// A stored matrix in tiles of rows, decoded one after the other: what a product of many rows goes through.
#pragma once

#include <algorithm>

#include "engine/stored/stored_matrix.h"
#include "engine/tensor.h"
#include "engine/threads.h"

namespace sink {

inline constexpr std::int64_t kTileNumbers = 1 << 19;  // two megabytes in f32: of a cache, and worth a product

// f(tile (R, K) of `type`, F32 or BF16, on the CPU; number of its first row). The tile is overwritten after f.
template <class F>
void for_each_tile(const StoredMatrix& w_NK, DType type, F&& f) {
  const std::int64_t K = w_NK.columns, most = std::max<std::int64_t>(16, kTileNumbers / std::max<std::int64_t>(1, K));
  Tensor tile_RK = Tensor::empty({std::min(most, w_NK.rows), K}, type);
  std::int64_t part_first = 0;
  for (const StoredPart& part : w_NK.parts) {
    for (std::int64_t first = 0; first < part.rows; first += most) {
      const std::int64_t rows = std::min(most, part.rows - first);
      parallel_chunks(rows, 8, [&](std::int64_t begin, std::int64_t end) {
        if (type == DType::F32)
          return decode_rows(part, K, first + begin, end - begin, tile_RK.data<float>() + begin * K);
        constexpr std::int64_t kAtOnce = 32;  // whose floats stay in the cache
        std::vector<float> wide(static_cast<std::size_t>(kAtOnce * K));
        for (std::int64_t r = begin; r < end; r += kAtOnce) {
          const std::int64_t count = std::min(kAtOnce, end - r);
          decode_rows(part, K, first + r, count, wide.data());
          bf16* to = tile_RK.data<bf16>() + r * K;
          for (std::int64_t i = 0; i < count * K; ++i) store(to[i], wide[static_cast<std::size_t>(i)]);
        }
      });
      f(tile_RK.rows(0, rows), part_first + first);
    }
    part_first += part.rows;
  }
}

}  // namespace sink
