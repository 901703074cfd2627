// The products of attention on AMX tiles: in plain loops against sums in double, and the processor's tiles, where it
// has them, against the plain loops to the bit.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "engine/ops/attention/cpu/attention_products.h"
#include "engine/rng.h"
#include "tests/support/keep_worst.h"

using namespace sink;
using namespace sink::cpu;

namespace {

// Values of normal distribution times `scale`, rounded to bf16.
std::vector<bf16> random_bf16(std::int64_t count, const char* stream, double scale = 1) {
  Rng rng(1, stream);
  std::vector<bf16> x(static_cast<std::size_t>(count));
  for (std::int64_t n = 0; n < count; ++n) x[n] = bf16(static_cast<float>(scale * rng.normal(n)));
  return x;
}

// One tile of queries t0 ... and keys j0 ..., its inputs as panels, and the outputs of the three products.
struct TileCase {
  static constexpr std::int64_t kRows = 150;
  Tensor memory = Tensor::empty({1 << 18});
  Scratch scratch;
  PanelSizes<bf16> sizes;
  Panel<bf16> q, k;
  Tile tile;
  float *s, *keys_mixed, *queries_mixed;
  bf16* w;
  float* w_pairs;
  std::vector<bf16> q_values, k_values, w_values;

  TileCase(std::int64_t D, const KeyRange& range, std::int64_t t0, std::int64_t j0, double scale = 1)
      : scratch(memory.data<float>(), memory.size()),
        sizes{kRows, D},
        q(sizes, kByRow | kByRowPair, scratch),
        k(sizes, kByRowPair | kTransposed, scratch),
        q_values(random_bf16(kRows * D, "q", scale)),
        k_values(random_bf16(kRows * D, "k", scale)),
        w_values(random_bf16(kTile * kTile, "w", scale)) {
    q.load(q_values.data());
    k.load(k_values.data());
    REQUIRE(tile.open({kRows, kRows, 0, range}, t0, j0));
    auto zeros = [&](std::int64_t count) {
      float* x = scratch.take<float>(count);
      std::fill_n(x, count, 0.0f);
      return x;
    };
    s = zeros(kTile * kTile);
    keys_mixed = zeros(kTile * sizes.width);
    queries_mixed = zeros(kTile * sizes.width);
    w = reinterpret_cast<bf16*>(zeros(kTile * kTile / 2));
    w_pairs = zeros(kTile * kTile);
    for (int i = 0; i < tile.queries; ++i)
      for (int j = 0; j < kTile; ++j) {
        if (!sees(i, j)) w_values[i * kTile + j] = bf16{};
        w[i * kTile + j] = w_values[i * kTile + j];
        auto* words = reinterpret_cast<Words<bf16>::Word*>(w_pairs + i / 2 * 2 * kTile);
        words[j] = words[j] | static_cast<std::uint32_t>(w[i * kTile + j].bits) << (i % 2 * 16);
      }
  }
  bool sees(int i, int j) const {
    return tile.t0 + i < kRows && tile.j0 + j < kRows && tile.range.sees(tile.t0 + i, tile.j0 + j);
  }
  template <class Tiles>
  void run(Tiles& tiles) {
    using Products = AmxProducts<Tiles>;
    Products::score_tile(tiles, tile, sizes, q.by_row + tile.t0 * sizes.row_words,
                         k.transposed + tile.j0 * sizes.row_words, s);
    Products::mix_keys(tiles, tile, sizes, w, k.by_row_pair + tile.j0 / 2 * sizes.width, keys_mixed);
    Products::mix_queries(tiles, tile, sizes, w_pairs, q.by_row_pair + tile.t0 / 2 * sizes.width, queries_mixed);
  }
  double q_at(std::int64_t t, std::int64_t d) const { return static_cast<float>(q_values[t * sizes.D + d]); }
  double k_at(std::int64_t j, std::int64_t d) const { return static_cast<float>(k_values[j * sizes.D + d]); }
  double w_at(int i, int j) const { return static_cast<float>(w_values[i * kTile + j]); }
};

// f(case) for head sizes with and without padding, tiles that are complete or not, and the last ones.
template <class F>
void for_each_case(F&& f) {
  for (std::int64_t D : {16, 20, 64, 96, 112})
    for (const KeyRange& range : {KeyRange{}, KeyRange{.window = 40}, KeyRange{.prefix = 5, .window = 90}})
      for (auto [t0, j0] : {std::pair{64, 0}, {64, 64}, {128, 64}, {128, 128}, {0, 0}}) {
        CAPTURE(D);
        CAPTURE(range.window);
        CAPTURE(t0);
        CAPTURE(j0);
        f(D, range, t0, j0);
      }
}

}  // namespace

TEST_CASE("attention on AMX tiles: products in plain loops are those in double") {
  for_each_case([](std::int64_t D, const KeyRange& range, std::int64_t t0, std::int64_t j0) {
    if (PanelSizes<bf16>{1, D}.width % 16 != 0) return;  // vectors of 8 floats: a width that tiles do not have
    TileCase c(D, range, t0, j0);
    PlainTiles tiles;
    c.run(tiles);
    double worst = 0;
    for (int i = 0; i < c.tile.queries; ++i)
      for (int j = 0; j < kTile; ++j) {
        if (!c.sees(i, j)) continue;
        double sum = 0;
        for (std::int64_t d = 0; d < D; ++d) sum += c.q_at(t0 + i, d) * c.k_at(j0 + j, d);
        keep_worst(worst, std::abs(sum - c.s[i * kTile + j]));
      }
    for (std::int64_t d = 0; d < D; ++d) {
      for (int i = 0; i < kTile && t0 + i < TileCase::kRows; ++i) {
        double sum = 0;
        for (int j = 0; j < kTile && j0 + j < TileCase::kRows; ++j) sum += c.w_at(i, j) * c.k_at(j0 + j, d);
        keep_worst(worst, std::abs(sum - c.keys_mixed[i * c.sizes.width + d]));
      }
      for (int j = 0; j < kTile && j0 + j < TileCase::kRows; ++j) {
        double sum = 0;
        for (int i = 0; i < kTile && t0 + i < TileCase::kRows; ++i) sum += c.w_at(i, j) * c.q_at(t0 + i, d);
        keep_worst(worst, std::abs(sum - c.queries_mixed[j * c.sizes.width + d]));
      }
    }
    CHECK(worst < 2e-5);
  });
}

TEST_CASE("attention on AMX tiles: subnormal values count as zero") {
  std::vector<std::uint32_t> a(256, 0x00400040u), b(256, 0x3f803f80u);  // subnormal times 1
  std::vector<float> c(256, 1e-39f);
  PlainTiles tiles;
  multiply_tiles(tiles, a.data(), 16, b.data(), 16, c.data(), 16, 16, 16, 16, true);
  for (float x : c) CHECK(x == 0);
}

#if defined(__AMX_TILE__) && defined(__AMX_BF16__)
TEST_CASE("attention on AMX tiles: the processor's products have the bits of the plain loops") {
  if (!AmxTiles::available()) return;
  for (double scale : {1.0, 1e-18, 1e18})  // products of 1e-36 with differences that are subnormal
    for_each_case([&](std::int64_t D, const KeyRange& range, std::int64_t t0, std::int64_t j0) {
      TileCase plain(D, range, t0, j0, scale), fast(D, range, t0, j0, scale);
      PlainTiles plain_tiles;
      plain.run(plain_tiles);
      {
        AmxTiles tiles;
        fast.run(tiles);
      }
      CHECK(std::memcmp(plain.s, fast.s, sizeof(float) * kTile * kTile) == 0);
      CHECK(std::memcmp(plain.keys_mixed, fast.keys_mixed, sizeof(float) * kTile * plain.sizes.width) == 0);
      CHECK(std::memcmp(plain.queries_mixed, fast.queries_mixed, sizeof(float) * kTile * plain.sizes.width) == 0);
    });
}
#endif
