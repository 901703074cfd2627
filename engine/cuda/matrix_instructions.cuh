// Instructions of the tensor cores: products of small bf16 matrices in the registers of a warp, and loads of such
// matrices from shared memory. sm_80 and newer.
//
// A register holds two bf16 values. With g = lane / 4 and t = lane % 4, a lane holds
//   of an 8 x 8 matrix                 row g, columns 2t, 2t + 1                             one register
//   of the left operand, 16 x 16       the 8 x 8 matrices top left, bottom left, top right, bottom right
//   of the right operand, 16 x 8       column g, rows 2t, 2t + 1 and 2t + 8, 2t + 9          two registers
//   of the accumulators, 16 x 8        row g and row g + 8, columns 2t, 2t + 1               four floats
#pragma once

#include "engine/cuda/instructions.cuh"

#ifndef __CUDACC__
#include <bit>
#include <cstring>

#include "engine/cuda/emulated/counters.h"
#endif

namespace sink::cuda {

#ifndef __CUDACC__
namespace emulation {

// A lane's argument and result of ldmatrix_x4.
struct MatrixLane {
  const std::byte* row;  // 16 bytes of shared memory
  Bf16Pair matrices[4];
};

// Eight rows of 16 bytes are read in one wavefront if no two of them share banks.
SINK_EMULATION inline void count_wavefronts(MatrixLane* const* of_lanes) {
  emulated::Counters& counters = emulated::counters();
  ++counters.matrix_loads;
  for (int m = 0; m < 4; ++m) {
    int rows_of_banks[8] = {}, most = 0;
    for (int n = 0; n < 8; ++n) {
      int rows = ++rows_of_banks[reinterpret_cast<std::uintptr_t>(of_lanes[8 * m + n]->row) / 16 % 8];
      most = rows > most ? rows : most;
    }
    counters.extra_wavefronts += most - 1;
  }
}

template <bool kTransposed>
SINK_EMULATION void ldmatrix_x4(void* lanes[32]) {
  auto* const* of_lanes = reinterpret_cast<MatrixLane* const*>(lanes);
  count_wavefronts(of_lanes);
  for (int m = 0; m < 4; ++m) {
    std::uint16_t x[8][8];
    for (int n = 0; n < 8; ++n) std::memcpy(x[n], of_lanes[8 * m + n]->row, 16);
    for (int l = 0; l < 32; ++l) {
      int row = l / 4, column = l % 4 * 2;
      Bf16Pair first = kTransposed ? x[column][row] : x[row][column];
      Bf16Pair second = kTransposed ? x[column + 1][row] : x[row][column + 1];
      of_lanes[l]->matrices[m] = first | second << 16;
    }
  }
}

struct ProductLane {
  const Bf16Pair *left, *right;
  float* sums;
};

SINK_EMULATION inline float first_of(Bf16Pair pair) { return std::bit_cast<float>(pair << 16); }
SINK_EMULATION inline float second_of(Bf16Pair pair) { return std::bit_cast<float>(pair & 0xffff0000u); }

SINK_EMULATION inline void mma_m16n8k16(void* lanes[32]) {
  ++emulated::counters().matrix_products;
  float a[16][16], b[16][8], c[16][8];
  for (int l = 0; l < 32; ++l) {
    const auto& lane = *static_cast<const ProductLane*>(lanes[l]);
    int g = l / 4, t = l % 4;
    for (int m = 0; m < 4; ++m) {
      float* two = &a[g + m % 2 * 8][2 * t + m / 2 * 8];
      two[0] = first_of(lane.left[m]), two[1] = second_of(lane.left[m]);
    }
    for (int m = 0; m < 2; ++m)
      b[2 * t + 8 * m][g] = first_of(lane.right[m]), b[2 * t + 8 * m + 1][g] = second_of(lane.right[m]);
    for (int n = 0; n < 4; ++n) c[g + n / 2 * 8][2 * t + n % 2] = lane.sums[n];
  }
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 16; ++k)
      for (int j = 0; j < 8; ++j) c[i][j] += a[i][k] * b[k][j];
  for (int l = 0; l < 32; ++l)
    for (int n = 0; n < 4; ++n) static_cast<ProductLane*>(lanes[l])->sums[n] = c[l / 4 + n / 2 * 8][l % 4 * 2 + n % 2];
}

template <bool kTransposed>
void ldmatrix_x4(Bf16Pair (&matrices)[4], const void* row, const emulated::Site& site) {
  emulated::read_shared(row, 16, site);
  MatrixLane own{static_cast<const std::byte*>(row), {}};
  emulated::collective(kTransposed ? "ldmatrix_x4_trans" : "ldmatrix_x4", ldmatrix_x4<kTransposed>, &own, site);
  std::memcpy(matrices, own.matrices, sizeof matrices);
}

}  // namespace emulation
#endif

// ldmatrix: loads four 8 x 8 matrices from shared memory. `row` in lane l: row l % 8 of matrix l / 8, 16 bytes, aligned
// to
// 16. All lanes.
__device__ inline void ldmatrix_x4(Bf16Pair (&matrices)[4], const void* row SINK_AND_SITE) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
#else
  emulation::ldmatrix_x4<false>(matrices, row, site);
#endif
}

// The same with each matrix transposed.
__device__ inline void ldmatrix_x4_trans(Bf16Pair (&matrices)[4], const void* row SINK_AND_SITE) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
#else
  emulation::ldmatrix_x4<true>(matrices, row, site);
#endif
}

// mma.m16n8k16: sums += left right, 16 x 16 times 16 x 8, accumulated in float. All lanes.
__device__ inline void mma_m16n8k16(float (&sums)[4], const Bf16Pair (&left)[4], const Bf16Pair* right SINK_AND_SITE) {
#ifdef __CUDACC__
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
#else
  emulation::ProductLane own{left, right, sums};
  emulated::collective("mma_m16n8k16", emulation::mma_m16n8k16, &own, site);
#endif
}

}  // namespace sink::cuda
