// The types in which files keep weights: plain numbers, and blocks of numbers that share their scales.
#pragma once

#include <cstdint>

namespace sink {

enum class StoredType : std::uint8_t {
  F64,
  F32,
  F16,
  BF16,
  I64,
  I32,
  I16,
  I8,
  U8,
  Bool,
  // Blocks of ggml; stored_blocks.h has what they hold.
  Q8_0,
  Q4_0,
  Q4_1,
  Q5_0,
  Q5_1,
  Q4_K,
  Q5_K,
  Q6_K,
};

struct StoredLayout {
  const char* name;
  int numbers;  // of a block; 1: each for itself
  int bytes;
};

inline constexpr StoredLayout kStoredLayouts[] = {
    {"F64", 1, 8},    {"F32", 1, 4},    {"F16", 1, 2},    {"BF16", 1, 2},     {"I64", 1, 8},      {"I32", 1, 4},
    {"I16", 1, 2},    {"I8", 1, 1},     {"U8", 1, 1},     {"BOOL", 1, 1},     {"Q8_0", 32, 34},   {"Q4_0", 32, 18},
    {"Q4_1", 32, 20}, {"Q5_0", 32, 22}, {"Q5_1", 32, 24}, {"Q4_K", 256, 144}, {"Q5_K", 256, 176}, {"Q6_K", 256, 210},
};
constexpr const StoredLayout& layout_of(StoredType type) { return kStoredLayouts[static_cast<int>(type)]; }
static_assert(layout_of(StoredType::Q6_K).bytes == 210);

}  // namespace sink
