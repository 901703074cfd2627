// Integer products with AVX-512 and VNNI; the bits are those of int8_portable.h.
#pragma once

#include <array>

#include "engine/stored/int8_portable.h"

#if defined(__AVX512VNNI__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
#define SINK_INT8_VNNI 1

namespace sink::int8 {

struct Vnni {
  using Words = std::uint32_t __attribute__((vector_size(64)));
  using Integers = blocks::Integers;
  using Floats = blocks::Floats;

  // Of 256 columns of sixteen rows: the bytes that have scales.
  struct alignas(64) Heads {
    unsigned char of[kLanes][32];
  };

  static void put(const Words& words, std::uint32_t* to) { std::memcpy(to, &words, sizeof words); }
  static __m512i of(const Words& words) { return reinterpret_cast<__m512i>(words); }
  static Words words_of(__m512i words) { return reinterpret_cast<Words>(words); }
  static __m128i four_at(const void* bytes) { return _mm_loadu_si128(static_cast<const __m128i*>(bytes)); }
  static __m256i eight_at(const void* bytes) { return _mm256_loadu_si256(static_cast<const __m256i*>(bytes)); }
  static Words twice(const void* bytes) { return words_of(_mm512_maskz_broadcast_i64x4(0xff, eight_at(bytes))); }
  static Words quarters(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    return Words{a, a, a, a, b, b, b, b, c, c, c, c, d, d, d, d};
  }

  // Word i of out is the four bytes 4 i of each of sixteen rows; bytes(row) are its sixteen.
  template <class F>
  static void transpose_of(F bytes, Words (&out)[4]) {
    auto four_rows = [&](int first) {  // `first`, and each fourth after it
      __m512i four = _mm512_maskz_broadcast_i32x4(0xffff, bytes(first));
      four = _mm512_mask_broadcast_i32x4(four, 0x00f0, bytes(first + 4));
      four = _mm512_mask_broadcast_i32x4(four, 0x0f00, bytes(first + 8));
      return _mm512_mask_broadcast_i32x4(four, 0xf000, bytes(first + 12));
    };
    const __m512i a = four_rows(0), b = four_rows(1), c = four_rows(2), d = four_rows(3);
    const __m512i ab_low = _mm512_maskz_unpacklo_epi32(0xffff, a, b),
                  ab_high = _mm512_maskz_unpackhi_epi32(0xffff, a, b);
    const __m512i cd_low = _mm512_maskz_unpacklo_epi32(0xffff, c, d),
                  cd_high = _mm512_maskz_unpackhi_epi32(0xffff, c, d);
    out[0] = reinterpret_cast<Words>(_mm512_maskz_unpacklo_epi64(0xff, ab_low, cd_low));
    out[1] = reinterpret_cast<Words>(_mm512_maskz_unpackhi_epi64(0xff, ab_low, cd_low));
    out[2] = reinterpret_cast<Words>(_mm512_maskz_unpacklo_epi64(0xff, ab_high, cd_high));
    out[3] = reinterpret_cast<Words>(_mm512_maskz_unpackhi_epi64(0xff, ab_high, cd_high));
  }

  static void transpose(const unsigned char* const* rows, std::int64_t at, Words (&out)[4]) {
    transpose_of([&](int row) { return four_at(rows[row] + at); }, out);
  }
  static void transpose_lines(const void* first_row, int stride, Words (&out)[4]) {
    transpose_of([&](int row) { return four_at(static_cast<const unsigned char*>(first_row) + stride * row); }, out);
  }

  // Of the f16 in the lower halves.
  static Floats of_f16(const Words& words) {
    using Halves = std::uint16_t __attribute__((vector_size(32)));
    return reinterpret_cast<Floats>(
        _mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(__builtin_convertvector(words, Halves))));
  }
  static Floats floats(const Words& words) {
    return __builtin_convertvector(reinterpret_cast<Integers>(words), Floats);
  }

  static void copy_head(Q4K, const unsigned char* block, unsigned char* head) { std::memcpy(head, block, 16); }
  static void unpack_scales(Q4K, const Heads& heads, Panel& panel) {
    Words head[4];
    transpose_lines(heads.of, 32, head);
    const Floats d = of_f16(head[0] & 0xffff), least = -of_f16(head[0] >> 16);
    const Words scales[] = {head[1] & 0x3f3f3f3f, (head[3] & 0x0f0f0f0f) | (head[1] >> 6 & 0x03030303) << 4};
    const Words minima[] = {head[2] & 0x3f3f3f3f, (head[3] >> 4 & 0x0f0f0f0f) | (head[2] >> 6 & 0x03030303) << 4};
#pragma GCC unroll 8
    for (int group = 0; group < 8; ++group) {
      blocks::write_floats(d * floats(scales[group / 4] >> group % 4 * 8 & 255), panel.scales[group]);
      blocks::write_floats(least * floats(minima[group / 4] >> group % 4 * 8 & 255), panel.minima[group]);
    }
  }

  static void copy_head(Q6K, const unsigned char* block, unsigned char* head) {
    std::memcpy(head, block + 192, 16);
    std::memcpy(head + 16, block + 194, 16);  // the last two are d
  }
  static void unpack_scales(Q6K, const Heads& heads, Panel& panel) {
    Words scales[4], last[4];
    transpose_lines(heads.of, 32, scales);
    transpose_lines(heads.of[0] + 16, 32, last);
    const Floats d = of_f16(last[3] >> 16);
#pragma GCC unroll 16
    for (int group = 0; group < 16; ++group) {
      const auto code = reinterpret_cast<Integers>(scales[group / 4] << (24 - group % 4 * 8)) >> 24;  // with its sign
      blocks::write_floats(d * __builtin_convertvector(code, Floats), panel.scales[group]);
    }
  }

  // Of blocks of 32: d, and the minimum.
  template <class T>
  static void copy_head(T, const unsigned char* row, unsigned char* head) {
#pragma GCC unroll 8
    for (int n = 0; n < 8; ++n) std::memcpy(head + 4 * n, row + layout_of(T::type).bytes * n, 4);
  }
  template <class T>
  static void unpack_scales(T, const Heads& heads, Panel& panel) {
    for (int four = 0; four < 8; four += 4) {
      Words head[4];
      transpose_lines(heads.of[0] + 4 * four, sizeof heads.of[0], head);
      for (int i = 0; i < 4; ++i) write_scales<T>(head[i], four + i, panel);
    }
  }
  template <class T>
  static void write_scales(const Words& head, int block, Panel& panel) {
    const bool is_mxfp4 = T::type == StoredType::MXFP4;
    blocks::write_floats(is_mxfp4 ? half_of_e8m0(head & 255) : of_f16(head & 0xffff), panel.scales[block]);
    if constexpr (T::has_minima) blocks::write_floats(of_f16(head >> 16), panel.minima[block]);
  }
  static Floats half_of_e8m0(const Words& exponents) {
    const auto small = reinterpret_cast<Words>(exponents < 2), none = reinterpret_cast<Words>(exponents == 255);
    const Words bits = (small & ((Words{} + 0x00200000u) << exponents)) | (~small & ((exponents - 1) << 23));
    return reinterpret_cast<Floats>((none & (Words{} + 0x7fc00000u)) | (~none & bits));
  }
  static Words e2m1(const Words& codes) {
    alignas(16) static constexpr auto table = [] {
      std::array<unsigned char, 16> values{};
      for (std::size_t code = 0; code < 16; ++code)
        values[code] = static_cast<unsigned char>(Mxfp4::offset + blocks::kTwiceE2m1[code]);
      return values;
    }();
    const __m128i one = _mm_load_si128(reinterpret_cast<const __m128i*>(table.data()));
    return reinterpret_cast<Words>(_mm512_shuffle_epi8(_mm512_maskz_broadcast_i32x4(0xffff, one), of(codes)));
  }

  static void unpack_codes(Q4K, const unsigned char* const* rows, Panel& panel) {
#pragma GCC unroll 8
    for (int four = 0; four < 8; ++four) {
      Words words[4];
      transpose(rows, 16 + 16 * four, words);
      for (int i = 0; i < 4; ++i) {
        const int to = four / 2 * 16 + four % 2 * 4 + i;
        put(words[i] & 0x0f0f0f0f, panel.words[to]);
        put(words[i] >> 4 & 0x0f0f0f0f, panel.words[to + 8]);
      }
    }
  }

  static void unpack_codes(Q6K, const unsigned char* const* rows, Panel& panel) {
#pragma GCC unroll 4
    for (int four = 0; four < 4; ++four) {  // 16 elements of each group of a half
      const int half = four / 2, at = four % 2 * 16;
      Words high[4];
      transpose(rows, 128 + 32 * half + at, high);
      for (int pair = 0; pair < 2; ++pair) {  // groups `pair` and `pair` + 2
        Words low[4];
        transpose(rows, 64 * half + 32 * pair + at, low);
        for (int i = 0; i < 4; ++i) {
          const int to = 32 * half + 8 * pair + at / 4 + i;
          put((low[i] & 0x0f0f0f0f) | (high[i] >> 2 * pair & 0x03030303) << 4, panel.words[to]);
          put((low[i] >> 4 & 0x0f0f0f0f) | (high[i] >> (2 * pair + 4) & 0x03030303) << 4, panel.words[to + 16]);
        }
      }
    }
  }

  // Of block `n` of 32.
  static void unpack_small(Q8, const unsigned char* const* rows, int n, Panel& panel) {
    for (int half = 0; half < 2; ++half) {
      Words words[4];
      transpose(rows, 34 * n + 2 + 16 * half, words);
      for (int i = 0; i < 4; ++i) put(words[i] ^ 0x80808080, panel.words[8 * n + 4 * half + i]);
    }
  }
  template <class T>
  static void unpack_small(T, const unsigned char* const* rows, int n, Panel& panel) {
    Words words[4];
    transpose(rows, layout_of(T::type).bytes * n + T::codes_at, words);
    for (int i = 0; i < 4; ++i) {
      Words low = words[i] & 0x0f0f0f0f, high = words[i] >> 4 & 0x0f0f0f0f;
      if constexpr (T::type == StoredType::MXFP4) low = e2m1(low), high = e2m1(high);
      put(low, panel.words[8 * n + i]);
      put(high, panel.words[8 * n + 4 + i]);
    }
  }
  template <class T>
  static void unpack(const unsigned char* const* rows, int columns, Panel& panel) {
    if constexpr (layout_of(T::type).elements == 256) {
      Heads heads;
      for (int lane = 0; lane < kLanes; ++lane) copy_head(T{}, rows[lane], heads.of[lane]);
      unpack_codes(T{}, rows, panel);
      unpack_scales(T{}, heads, panel);
    } else {
      for (int n = 0; n < columns / 32; ++n) {
        unpack_small(T{}, rows, n, panel);
        Words head[4];
        transpose(rows, layout_of(T::type).bytes * n, head);
        write_scales<T>(head[0], n, panel);
      }
    }
  }

  // The codes of columns 64 `quarter` to 64 `quarter` + 63 of 256, in their order.
  static Words codes(Q4K, const unsigned char* block, int quarter) {
    return twice(block + 16 + 32 * quarter) >> quarters(0, 0, 4, 4) & 0x0f0f0f0f;
  }
  static Words codes(Q6K, const unsigned char* block, int quarter) {
    const Words low = words_of(_mm512_loadu_si512(block + quarter / 2 * 64));
    const auto shift = static_cast<std::uint32_t>(quarter % 2 * 4), next = shift + 2;
    const Words high = twice(block + 128 + quarter / 2 * 32) >> quarters(shift, shift, next, next);
    return (low >> shift & 0x0f0f0f0f) | (high & 0x03030303) << 4;
  }
  static Words codes(Q8, const unsigned char* row, int quarter) {
    const unsigned char* from = row + 68 * quarter + 2;
    return words_of(_mm512_maskz_inserti64x4(0xff, of(twice(from)), eight_at(from + 34), 1)) ^ 0x80808080;
  }
  template <class T>
  static Words codes(T, const unsigned char* row, int quarter) {
    constexpr int bytes = layout_of(T::type).bytes;
    const unsigned char* from = row + 2 * bytes * quarter + T::codes_at;
    const __m512i one = _mm512_maskz_broadcast_i32x4(0xffff, four_at(from));
    const Words both = words_of(_mm512_mask_broadcast_i32x4(one, 0xff00, four_at(from + bytes)));
    const Words low = both >> quarters(0, 4, 0, 4) & 0x0f0f0f0f;
    return T::type == StoredType::MXFP4 ? e2m1(low) : low;
  }
  // y and what a group adds to it, whose products of codes have this sum.
  template <class T>
  static __m512 with_group(const Panel& panel, int group, __m512i sum, const Int8Block& x, __m512 y) {
    const int of_x = group * T::sharing / 32;
    const auto product = reinterpret_cast<__m512>(__builtin_convertvector(reinterpret_cast<Integers>(sum), Floats));
    y = _mm512_fmadd_ps(_mm512_load_ps(panel.scales[group]), _mm512_set1_ps(x.scales[of_x]) * product, y);
    if constexpr (T::has_minima)
      y = _mm512_fmadd_ps(_mm512_load_ps(panel.minima[group]), _mm512_set1_ps(x.sums[of_x]), y);
    return y;
  }

  // `many` rows of x at a time.
  template <class T, int many>
  static void multiply_some(const Panel& panel, int columns, const Int8Block* x, float* y) {
    constexpr int kWords = T::sharing / 4;
    __m512 sums[many];
    for (int m = 0; m < many; ++m) sums[m] = _mm512_loadu_ps(y + kLanes * m);
    for (int group = 0; group < columns / T::sharing; ++group) {
      __m512i products[many];
      for (int m = 0; m < many; ++m)
        products[m] = T::offset == 0 ? _mm512_setzero_si512() : _mm512_set1_epi32(x[m].starts[group]);
#pragma GCC unroll 8
      for (int word = group * kWords; word < (group + 1) * kWords; ++word) {
        const __m512i codes = _mm512_load_si512(panel.words[word]);
#pragma GCC unroll 8
        for (int m = 0; m < many; ++m) {
          std::int32_t four;
          std::memcpy(&four, x[m].codes + 4 * word, sizeof four);
          products[m] = _mm512_dpbusd_epi32(products[m], codes, _mm512_set1_epi32(four));
        }
      }
      const int of_x = group * T::sharing / 32;
      const __m512 scale = _mm512_load_ps(panel.scales[group]);
      for (int m = 0; m < many; ++m) {
        const auto sum =
            reinterpret_cast<__m512>(__builtin_convertvector(reinterpret_cast<Integers>(products[m]), Floats));
        sums[m] = _mm512_fmadd_ps(scale, _mm512_set1_ps(x[m].scales[of_x]) * sum, sums[m]);
      }
      if constexpr (T::has_minima) {
        const __m512 minimum = _mm512_load_ps(panel.minima[group]);
        for (int m = 0; m < many; ++m) sums[m] = _mm512_fmadd_ps(minimum, _mm512_set1_ps(x[m].sums[of_x]), sums[m]);
      }
    }
    for (int m = 0; m < many; ++m) _mm512_storeu_ps(y + kLanes * m, sums[m]);
  }

  template <class T>
  static void multiply(const Panel& panel, int columns, const Int8Block* x, std::int64_t count, float* y) {
    std::int64_t m = 0;
    for (; m + 8 <= count; m += 8) multiply_some<T, 8>(panel, columns, x + m, y + kLanes * m);
    for (; m < count; ++m) multiply_some<T, 1>(panel, columns, x + m, y + kLanes * m);
  }

  // Of 256 columns of a row of W.
  template <class T>
  static void add_products(const unsigned char* row, const Int8Block& x, std::int32_t* sums) {
    __m512i v[4];
#pragma GCC unroll 4
    for (int quarter = 0; quarter < 4; ++quarter)
      v[quarter] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), of(codes(T{}, row, quarter)),
                                       _mm512_load_si512(x.codes + 64 * quarter));
    auto pairs = [](__m512i a, __m512i b) {
      return words_of(_mm512_maskz_unpacklo_epi32(0xffff, a, b)) + words_of(_mm512_maskz_unpackhi_epi32(0xffff, a, b));
    };
    const __m512i a = of(pairs(v[0], v[1])), b = of(pairs(v[2], v[3]));
    // Element 4 k + i: the sum of quarter k of v[i].
    const __m512i all =
        of(words_of(_mm512_maskz_unpacklo_epi64(0xff, a, b)) + words_of(_mm512_maskz_unpackhi_epi64(0xff, a, b)));
    if constexpr (T::sharing == 16) {
      const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
      const __m512i ordered = _mm512_maskz_permutexvar_epi32(0xffff, order, all);
      _mm512_storeu_si512(sums, _mm512_maskz_add_epi32(0xffff, ordered, _mm512_load_si512(x.starts)));
    } else {
      const __m512i order = _mm512_setr_epi32(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
      const __m512i ordered = _mm512_maskz_permutexvar_epi32(0xffff, order, all);
      Words sum = words_of(ordered) + words_of(_mm512_maskz_shuffle_i64x2(0xff, ordered, ordered, 0x4e));
      if (T::offset > 0) sum += words_of(_mm512_load_si512(x.starts));
      std::memcpy(sums, &sum, sizeof sum / 2);
    }
  }

  template <class T>
  static constexpr int bytes_of() {
    return kInt8Columns / layout_of(T::type).elements * layout_of(T::type).bytes;
  }

  // Of one row of W and one row of x.
  template <class T>
  static void sum_row(const unsigned char* row, std::int64_t columns, const Int8Block* x, Heads* heads,
                      std::int64_t lane, std::int32_t* sums) {
    constexpr StoredLayout layout = layout_of(T::type);
    constexpr int bytes = bytes_of<T>(), groups = kInt8Columns / T::sharing;
    auto add = [&](const unsigned char* from) {
      copy_head(T{}, from, heads->of[lane]);
      add_products<T>(from, *x, sums + lane * groups);
    };
    for (; columns >= kInt8Columns; columns -= kInt8Columns, row += bytes, ++x, ++heads, sums += kLanes * groups) {
      blocks::read_ahead<bytes>(row);
      add(row);
    }
    if (columns > 0) {
      unsigned char padded[bytes] = {};
      std::memcpy(padded, row, static_cast<std::size_t>(columns / layout.elements * layout.bytes));
      add(padded);
    }
  }
  // What a block adds to y of sixteen rows of W.
  template <class T>
  static __m512 with_block(const Heads& heads, const std::int32_t* sums, const Int8Block& x, int columns, __m512 y) {
    constexpr int groups = kInt8Columns / T::sharing;
    Panel panel;
    unpack_scales(T{}, heads, panel);
    for (int four = 0; four < columns / T::sharing; four += 4) {
      Words of_groups[4];
      transpose_lines(sums + four, 4 * groups, of_groups);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
        if (four + i < columns / T::sharing) y = with_group<T>(panel, four + i, of(of_groups[i]), x, y);
    }
    return y;
  }

  // The product with one row of x. Memory is fastest in one stream, so W is read row by row; then sixteen rows are
  // scaled at once. Meanwhile the first of the rows after them are asked for, so that memory does not wait.
  template <class T>
  static void one_row(const Int8Input& x, const StoredPart& part, std::int64_t first, std::int64_t count, float* y) {
    constexpr int groups = kInt8Columns / T::sharing, kAhead = 4;
    const std::int64_t columns = x.columns, blocks = (columns + kInt8Columns - 1) / kInt8Columns;
    parallel_chunks((count + kLanes - 1) / kLanes, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<Heads> heads(static_cast<std::size_t>(blocks));
      std::vector<std::int32_t> sums(heads.size() * kLanes * groups);
      for (std::int64_t n = begin * kLanes; n < std::min(end * kLanes, count); n += kLanes) {
        const std::int64_t rows = std::min<std::int64_t>(kLanes, count - n);
        const unsigned char* row = nullptr;
        for (std::int64_t lane = 0; lane < rows; ++lane) {
          row = part.lines[static_cast<std::size_t>(first + n + lane)];
          sum_row<T>(row, columns, x.blocks.get(), heads.data(), lane, sums.data());
        }
        __m512 total = _mm512_setzero_ps();
        for (std::int64_t block = 0; block < blocks; ++block) {
          blocks::read_ahead<kAhead * bytes_of<T>()>(row + (blocks + kAhead * block) * bytes_of<T>());
          const auto here = std::min<std::int64_t>(kInt8Columns, columns - block * kInt8Columns);
          total = with_block<T>(heads[static_cast<std::size_t>(block)], sums.data() + block * kLanes * groups,
                                x.blocks[static_cast<std::size_t>(block)], static_cast<int>(here), total);
        }
        _mm512_mask_storeu_ps(y + n, static_cast<__mmask16>((1u << rows) - 1), total);
      }
    });
  }
};

}  // namespace sink::int8
#endif
