// Matrices as they are stored in files, with their values as tensors, for tests of memory-mapped weights.
#pragma once

#include <cstring>
#include <vector>

#include "engine/rng.h"
#include "engine/stored/stored_matrix.h"
#include "tests/support/compare.h"

namespace sink {

// The bytes of a matrix in F32, or in Q8_0 (blocks of 32: a scale 2^-6 and codes), whose values are exact. in_pieces():
// the rows of either in lines of K / pieces columns.
struct StoredSample {
  Tensor numbers_NK;
  std::vector<unsigned char> bytes;
  StoredMatrix matrix;

  static StoredSample plain(std::int64_t N, std::int64_t K, bool transposed) {
    StoredSample stored{random_tensor({N, K}, DType::F32, 5), {}, {}};
    const Tensor& w = stored.numbers_NK;
    stored.bytes.resize(w.bytes() + 1);  // one byte on, where no float is aligned
    for (std::int64_t i = 0; i < N * K; ++i) {
      const std::int64_t from = transposed ? i % N * K + i / N : i;
      std::memcpy(stored.bytes.data() + 1 + 4 * i, w.data<float>() + from, 4);
    }
    StoredPart part{.type = StoredType::F32, .transposed = transposed, .rows = N, .lines = {}};
    for (std::int64_t line = 0; line < (transposed ? K : N); ++line)
      part.lines.push_back(stored.bytes.data() + 1 + 4 * line * (transposed ? N : K));
    stored.matrix = {.rows = N, .columns = K, .parts = {part}, .owner = nullptr};
    return stored;
  }
  StoredMatrix in_pieces(std::int64_t pieces) const {
    StoredMatrix cut = matrix;
    StoredPart& part = cut.parts[0];
    const StoredLayout& layout = layout_of(part.type);
    part.lines.clear();
    part.pieces = pieces;
    for (const unsigned char* line : matrix.parts[0].lines)
      for (std::int64_t p = 0; p < pieces; ++p)
        part.lines.push_back(line + p * (matrix.columns / pieces) / layout.elements * layout.bytes);
    return cut;
  }
  // Random codes of any type of blocks, with scales and minima that are neither large nor subnormal.
  static StoredSample blocks(StoredType type, std::int64_t N, std::int64_t K) {
    const StoredLayout& layout = layout_of(type);
    const std::int64_t row = K / layout.elements * layout.bytes;
    StoredSample stored{Tensor::empty({N, K}), std::vector<unsigned char>(static_cast<std::size_t>(N * row)), {}};
    const Rng rng(7, layout.name);
    for (std::size_t i = 0; i < stored.bytes.size(); ++i)
      stored.bytes[i] = static_cast<unsigned char>(rng.below(static_cast<std::int64_t>(i), 256));
    std::vector<int> halves;  // offsets of f16
    using enum StoredType;
    if (type == Q6_K)
      halves = {208};
    else if (type == Q3_K)
      halves = {108};
    else if (type == Q2_K)
      halves = {80, 82};
    else if (type == TQ1_0)
      halves = {52};
    else if (type == TQ2_0)
      halves = {64};
    else if (type < MXFP4)
      halves = {0};
    if (type == Q4_K || type == Q5_K || type == Q4_1 || type == Q5_1) halves = {0, 2};
    StoredPart part{.type = type, .rows = N, .lines = {}};
    for (std::int64_t n = 0; n < N; ++n) part.lines.push_back(stored.bytes.data() + n * row);
    for (std::size_t block = 0; block < stored.bytes.size(); block += static_cast<std::size_t>(layout.bytes)) {
      for (int half : halves) {  // from 2^-11 to 2^-7 and their negative values
        unsigned char& high = stored.bytes[block + static_cast<std::size_t>(half) + 1];
        high = static_cast<unsigned char>((high & 0x8f) | 0x10);
      }
      for (int at = 0; at < (type == Scaled4 ? 8 : type == ScaledF8 ? 4 : 0); at += 4) {  // f32 from 0.001 to 0.008
        const float number = 0.001f * static_cast<float>(1 + stored.bytes[block] % 8);
        std::memcpy(stored.bytes.data() + block + static_cast<std::size_t>(at), &number, 4);
      }
      if (type == MXFP4) stored.bytes[block] = static_cast<unsigned char>(118 + stored.bytes[block] % 4);
    }
    for (std::int64_t n = 0; n < N; ++n)
      decode(type, part.lines[static_cast<std::size_t>(n)], K, stored.numbers_NK.data<float>() + n * K);
    stored.matrix = {.rows = N, .columns = K, .parts = {part}, .owner = nullptr};
    return stored;
  }
  static StoredSample q8(std::int64_t N, std::int64_t K) {
    StoredSample stored{Tensor::empty({N, K}), {}, {}};
    StoredPart part{.type = StoredType::Q8_0, .rows = N, .lines = {}};
    for (std::int64_t i = 0; i < N * K; ++i) {
      const int code = static_cast<int>(i * 37 % 251) - 125;
      stored.numbers_NK.data<float>()[i] = static_cast<float>(code) / 64;
      if (i % 32 == 0) stored.bytes.insert(stored.bytes.end(), {0x00, 0x24});  // 2^-6 in f16
      stored.bytes.push_back(static_cast<unsigned char>(code));
    }
    for (std::int64_t n = 0; n < N; ++n) part.lines.push_back(stored.bytes.data() + n * K / 32 * 34);
    stored.matrix = {.rows = N, .columns = K, .parts = {part}, .owner = nullptr};
    return stored;
  }
};

}  // namespace sink
