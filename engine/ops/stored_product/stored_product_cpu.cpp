// CPU backend: F32 and BF16, on all threads.
#include "engine/ops/stored_product/stored_product.h"

#include <algorithm>
#include <cstring>

#include "engine/ops/matmul/matmul.h"
#include "engine/ops/stored_product/stored_tiles.h"
#include "engine/precision.h"
#include "engine/stored/grouped_dot.h"
#include "engine/stored/int8_product.h"
#include "engine/stored/stored_type.h"
#include "engine/threads.h"

namespace sink::cpu {
namespace {

constexpr std::int64_t kRowsAtOnce = 4;  // of W, decoded for all rows of x

// Of one row of x.
template <class R>
void one_row(const float* x_K, const StoredPart& part, std::int64_t K, R* y_N) {
  parallel_chunks(part.rows, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n)
      store(y_N[n], dot(part.type, part.lines[static_cast<std::size_t>(n)], x_K, K));
  });
}

// Of a few rows of x, by groups of weights (grouped_dot.h): each element of y as if x had one row.
template <class R>
void by_groups(const float* x_MK, std::int64_t M, const StoredPart& part, std::int64_t K, R* y_MN, std::int64_t N) {
  const std::int64_t size = grouped_size(K);
  Tensor grouped = Tensor::empty({M, size});
  for (std::int64_t m = 0; m < M; ++m) group_input(part.type, x_MK + m * K, K, grouped.data<float>() + m * size);
  parallel_chunks(part.rows, 16, [&](std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t kRows = 8;  // remain in the cache for all rows of x
    float sums[kRows];
    for (std::int64_t n = begin; n < end; n += kRows) {
      const std::int64_t rows = std::min(kRows, end - n);
      for (std::int64_t m = 0; m < M; ++m) {
        grouped_dots(part.type, part.lines.data() + n, rows, grouped.data<float>() + m * size, K, sums);
        for (std::int64_t r = 0; r < rows; ++r) store(y_MN[m * N + n + r], sums[r]);
      }
    }
  });
}

// Of a few rows of x, which stay in the cache.
template <class R>
void few_rows(const float* x_MK, std::int64_t M, const StoredPart& part, std::int64_t K, R* y_MN, std::int64_t N) {
  parallel_chunks(part.rows, 16, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> w(static_cast<std::size_t>(kRowsAtOnce * K));
    for (std::int64_t n = begin; n < end; n += kRowsAtOnce) {
      const std::int64_t rows = std::min(kRowsAtOnce, end - n);
      decode_rows(part, K, n, rows, w.data());
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t m = 0; m < M; ++m) store(y_MN[m * N + n + r], dot(w.data() + r * K, x_MK + m * K, K));
    }
  });
}

void f32_product(const Tensor& x, const StoredMatrix& w_NK, Tensor& y);

// `--precision int8`, part by part.
void mixed_product(const Tensor& x, const StoredMatrix& w_NK, Tensor& y) {
  const std::int64_t N = w_NK.rows, K = w_NK.columns, M = x.size() / K;
  Int8Input rounded;
  float* y_MN = y.data<float>();
  for (const StoredPart& part : w_NK.parts) {
    if (has_int8(part)) {
      if (!rounded.blocks || rounded.type != part.type) rounded = round_to_int8(part.type, x.data<float>(), M, K);
      int8_product(rounded, part, 0, part.rows, y_MN, N);
    } else {
      Tensor product = Tensor::empty({M, part.rows});
      f32_product(x, {part.rows, K, {part}, 1, w_NK.owner}, product);
      for (std::int64_t m = 0; m < M; ++m) std::copy_n(product.data<float>() + m * part.rows, part.rows, y_MN + m * N);
    }
    y_MN += part.rows;
  }
}

void f32_product(const Tensor& x, const StoredMatrix& w_NK, Tensor& y) {
  const std::int64_t N = w_NK.rows, K = w_NK.columns, M = x.size() / K;
  if (M < kFewStoredRows) {
    const Tensor wide = x.to(DType::F32);
    with_real<float, bf16>(y.dtype(), [&](auto zero) {
      using R = decltype(zero);
      std::int64_t n = 0;
      for (const StoredPart& part : w_NK.parts) {
        if (has_groups(part.type) && part.pieces == 1)
          by_groups(wide.data<float>(), M, part, K, y.data<R>() + n, N);
        else if (M == 1 && !part.transposed && part.pieces == 1)
          one_row(wide.data<float>(), part, K, y.data<R>() + n);
        else
          few_rows(wide.data<float>(), M, part, K, y.data<R>() + n, N);
        n += part.rows;
      }
    });
    return;
  }
  for_each_tile(w_NK, x.dtype(), [&](const Tensor& tile_RK, std::int64_t first) {
    Tensor product = Tensor::empty({M, tile_RK.dim(0)}, y.dtype());
    sink::matmul({x}, transposed(tile_RK), product);
    const std::size_t row = static_cast<std::size_t>(tile_RK.dim(0)) * size_of(y.dtype());
    auto* to = static_cast<unsigned char*>(y.raw()) + static_cast<std::size_t>(first) * size_of(y.dtype());
    const auto* from = static_cast<const unsigned char*>(product.raw());
    parallel_chunks(M, 64, [&](std::int64_t begin, std::int64_t end) {
      for (auto m = static_cast<std::size_t>(begin); m < static_cast<std::size_t>(end); ++m)
        std::memcpy(to + m * static_cast<std::size_t>(N) * size_of(y.dtype()), from + m * row, row);
    });
  });
}

}  // namespace

void stored_product(const Tensor& x, const StoredMatrix& w_NK, Tensor& y) {
  const bool is_f32 = x.dtype() == DType::F32 && y.dtype() == DType::F32;
  use_int8() && is_f32 ? mixed_product(x, w_NK, y) : f32_product(x, w_NK, y);
}

void stored_rows(const Tensor& tokens_BT, const StoredMatrix& w_VK, Tensor& x_BTK) {
  const std::int64_t K = w_VK.columns;
  parallel_chunks(tokens_BT.size(), 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      float* x_K = x_BTK.data<float>() + n * K;
      std::int64_t row = tokens_BT.data<std::int32_t>()[n];
      for (const StoredPart& part : w_VK.parts) {
        if (0 <= row && row < part.rows) decode_rows(part, K, row, 1, x_K);
        row -= part.rows;
      }
      for (std::int64_t k = 0; k < K; ++k) x_K[k] *= w_VK.times;
    }
  });
}

}  // namespace sink::cpu
