// The matrix product of the emulated device, in place of cuBLASLt: F32 sums in a fixed order, on all threads.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>

#include "engine/cuda/emulated/bit_flip.h"
#include "engine/cuda/emulated/launches.h"
#include "engine/cuda/emulated/memory.h"
#include "engine/cuda/emulated/traffic.h"
#include "engine/cuda/gemm.h"
#include "engine/threads.h"

namespace sink::cuda {
namespace {

using emulated::BitFlip;

// A tile of c, and the depth of k that is packed at a time, so that both stay in a core's cache.
constexpr std::int64_t kRows = 64, kColumns = 64, kDepth = 256;
// Accumulators in registers during the loop over k.
constexpr std::int64_t kStrip = 16, kGroup = 4;
// Multiplications that are worth another thread.
constexpr std::int64_t kWorthThread = 1 << 18;

// One tile. It is padded with zeros, so that the same instructions compute every sum.
struct Tile {
  std::int64_t row, column, rows, columns;  // its position in c, and its size without padding
  float a[kRows / kStrip][kDepth][kStrip];
  float b[kColumns / kGroup][kDepth][kGroup];
  float sums[kColumns][kRows];  // column by column, as c is
};

// A factor with only the bits of the mask.
template <class In>
float factor(In x, std::uint32_t mask) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(x)) & mask);
}

// Columns [first, first + depth) of op(a), and as many rows of op(b), as floats.
template <class In>
void pack(const Gemm& g, std::int64_t first, std::int64_t depth, Tile& tile) {
  const In *a = static_cast<const In*>(g.a), *b = static_cast<const In*>(g.b);
  std::uint32_t mask = g.tf32 ? ~0u << 13 : ~0u;
  std::int64_t a_row = g.transpose_a ? g.lda : 1, a_depth = g.transpose_a ? 1 : g.lda;
  std::int64_t b_column = g.transpose_b ? 1 : g.ldb, b_depth = g.transpose_b ? g.ldb : 1;
  for (std::int64_t i = 0; i < (tile.rows + kStrip - 1) / kStrip * kStrip; ++i)
    for (std::int64_t p = 0; p < depth; ++p)
      tile.a[i / kStrip][p][i % kStrip] =
          i < tile.rows ? factor(a[(tile.row + i) * a_row + (first + p) * a_depth], mask) : 0;
  for (std::int64_t j = 0; j < (tile.columns + kGroup - 1) / kGroup * kGroup; ++j)
    for (std::int64_t p = 0; p < depth; ++p)
      tile.b[j / kGroup][p][j % kGroup] =
          j < tile.columns ? factor(b[(tile.column + j) * b_column + (first + p) * b_depth], mask) : 0;
}

void flip(float& x, int bit) { x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) ^ (1u << bit)); }

// The flip of a factor, if the tile has it packed: depth of k from `first` on.
void flip_factor(const BitFlip& f, std::int64_t first, std::int64_t depth, Tile& tile) {
  const std::int64_t i = f.row - tile.row, j = f.column - tile.column, p = f.depth - first;
  if (p < 0 || p >= depth) return;
  if (f.in == BitFlip::In::a && i >= 0 && i < tile.rows) flip(tile.a[i / kStrip][p][i % kStrip], f.bit);
  if (f.in == BitFlip::In::b && j >= 0 && j < tile.columns) flip(tile.b[j / kGroup][p][j % kGroup], f.bit);
}

void flip_sum(const BitFlip& f, Tile& tile) {
  const std::int64_t i = f.row - tile.row, j = f.column - tile.column;
  if (f.in == BitFlip::In::sum && i >= 0 && i < tile.rows && j >= 0 && j < tile.columns) flip(tile.sums[j][i], f.bit);
}

// sums += a b for one strip of rows and one group of columns of a tile, in ascending k.
void multiply(const float (*a)[kStrip], const float (*b)[kGroup], std::int64_t depth, float* sums) {
  float c[kGroup][kStrip];
  for (std::int64_t j = 0; j < kGroup; ++j)
    for (std::int64_t i = 0; i < kStrip; ++i) c[j][i] = sums[j * kRows + i];
  for (std::int64_t p = 0; p < depth; ++p)
    for (std::int64_t j = 0; j < kGroup; ++j) {
#pragma omp simd
      for (std::int64_t i = 0; i < kStrip; ++i) c[j][i] += a[p][i] * b[p][j];
    }
  for (std::int64_t j = 0; j < kGroup; ++j)
    for (std::int64_t i = 0; i < kStrip; ++i) sums[j * kRows + i] = c[j][i];
}

template <class Out>
void write(const Gemm& g, const Tile& tile) {
  for (std::int64_t j = 0; j < tile.columns; ++j) {
    Out* c = static_cast<Out*>(g.c) + tile.row + (tile.column + j) * g.ldc;
    for (std::int64_t i = 0; i < tile.rows; ++i) {
      float product = g.alpha * tile.sums[j][i];
      Out rounded;
      store(rounded, product);
      if (g.beta == 0)
        c[i] = rounded;
      else
        store(c[i], static_cast<float>(rounded) + g.beta * static_cast<float>(c[i]));
    }
  }
}

template <class In, class Out>
void compute(const Gemm& g, const std::optional<BitFlip>& flipped, Tile& tile) {
  std::fill_n(&tile.sums[0][0], kColumns * kRows, 0.0f);
  for (std::int64_t first = 0; first < g.k; first += kDepth) {
    std::int64_t depth = std::min(kDepth, g.k - first);
    pack<In>(g, first, depth, tile);
    if (flipped) flip_factor(*flipped, first, depth, tile);
    for (std::int64_t j = 0; j < tile.columns; j += kGroup)
      for (std::int64_t i = 0; i < tile.rows; i += kStrip)
        multiply(tile.a[i / kStrip], tile.b[j / kGroup], depth, &tile.sums[j][i]);
  }
  if (flipped) flip_sum(*flipped, tile);
  write<Out>(g, tile);
}

template <class In, class Out>
void execute(const Gemm& g, const std::optional<BitFlip>& flipped) {
  std::int64_t tiles_of_m = (g.m + kRows - 1) / kRows, tiles_of_n = (g.n + kColumns - 1) / kColumns;
  std::int64_t tile_work = std::min(g.m, kRows) * std::min(g.n, kColumns) * g.k;
  std::int64_t grain = std::max<std::int64_t>(1, kWorthThread / tile_work);
  parallel_chunks(tiles_of_m * tiles_of_n, grain, [&](std::int64_t begin, std::int64_t end) {
    auto tile = std::make_unique_for_overwrite<Tile>();
    for (std::int64_t t = begin; t < end; ++t) {
      tile->row = t % tiles_of_m * kRows;
      tile->column = t / tiles_of_m * kColumns;
      tile->rows = std::min(kRows, g.m - tile->row);
      tile->columns = std::min(kColumns, g.n - tile->column);
      compute<In, Out>(g, flipped, *tile);
    }
  });
}

std::optional<BitFlip> planned_flip;
std::atomic<std::int64_t> products = 0;

// The planned flip, if this is its product.
std::optional<BitFlip> flip_of_next(const Gemm& g) {
  const std::int64_t product = products++;
  std::optional<BitFlip> f = planned_flip;
  if (!f || f->product != product) return std::nullopt;
  f->row %= g.m;
  f->column %= g.n;
  f->depth %= g.k;
  return f;
}

}  // namespace

void gemm(const Gemm& g) {
  check(g);
  if (emulated::is_recorded([g] { gemm(g); })) return;
  emulated::wait_for_other_streams();
  emulated::DeviceAccess access;
  emulated::note_gemm(g);
  const std::optional<BitFlip> flipped = flip_of_next(g);
  if (g.in == DType::F32) return execute<float, float>(g, flipped);
  if (g.out == DType::F32) return execute<bf16, float>(g, flipped);
  execute<bf16, bf16>(g, flipped);
}

}  // namespace sink::cuda

namespace sink::emulated {

void flip_bit(std::optional<BitFlip> flip) {
  cuda::planned_flip = flip;
  cuda::products = 0;
}

std::int64_t counted_products() { return cuda::products; }

}  // namespace sink::emulated
