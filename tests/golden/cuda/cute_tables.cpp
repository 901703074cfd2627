// Prints the positions of the elements of tensor core instructions according to NVIDIA's CuTe, in the format of
// cute_tables.txt. CuTe's layouts are functions that run on the host. make_cute_tables.py compiles and runs this.
#include <cutlass/version.h>

#include <cstdio>
#include <cute/atom/copy_traits_sm75.hpp>
#include <cute/atom/mma_traits_sm80.hpp>
#include <cute/tensor.hpp>

namespace {

using Product = cute::MMA_Traits<cute::SM80_16x8x16_F32BF16BF16F32_TN>;

// One line a lane: "row,column" of each number it holds, in the order of its registers. A layout gives row + rows *
// column.
template <class Layout>
void print_operand(const char* name, int rows, int values) {
  Layout layout;
  for (int lane = 0; lane < 32; ++lane) {
    std::printf("%s %d:", name, lane);
    for (int v = 0; v < values; ++v) {
      int at = int(layout(lane, v));
      std::printf(" %d,%d", at % rows, at / rows);
    }
    std::printf("\n");
  }
}

// One line a lane: "row,column" of each 16-bit number that it gets, where row is the lane that gave the number's row.
// CuTe counts in bits.
template <class Traits>
void print_load(const char* name) {
  typename Traits::SrcLayout given;
  typename Traits::DstLayout got;
  for (int lane = 0; lane < 32; ++lane) {
    std::printf("%s %d:", name, lane);
    for (int bit = 0; bit < 128; bit += 16)
      for (int row = 0; row < 32; ++row)
        for (int column = 0; column < 8; ++column)
          if (int(given(row, 16 * column)) == int(got(lane, bit))) std::printf(" %d,%d", row, column);
    std::printf("\n");
  }
}

// One line per row of a tile of bf16 rows of `width` elements: the positions of its 16-byte chunks, counted in chunks
// from the beginning of the row.
template <class Swizzle>
void print_swizzle(int width) {
  Swizzle swizzle;
  for (int row = 0; row < 8; ++row) {
    std::printf("swizzle_%d %d:", width, row);
    for (int chunk = 0; chunk < width / 8; ++chunk)
      std::printf(" %d", (int(swizzle(row * width + chunk * 8)) - row * width) / 8);
    std::printf("\n");
  }
}

}  // namespace

int main() {
  std::printf("# Made by make_cute_tables.py from CuTe %d.%d.%d; do not edit.\n", CUTLASS_MAJOR, CUTLASS_MINOR,
              CUTLASS_PATCH);
  print_operand<Product::ALayout>("left", 16, 8);
  print_operand<Product::BLayout>("right", 8, 4);  // CuTe's rows are the columns of the right matrix
  print_operand<Product::CLayout>("sums", 16, 4);
  print_load<cute::Copy_Traits<cute::SM75_U32x4_LDSM_N>>("load");
  print_load<cute::Copy_Traits<cute::SM75_U16x8_LDSM_T>>("load_transposed");
  print_swizzle<cute::Swizzle<2, 3, 3>>(32);
  print_swizzle<cute::Swizzle<3, 3, 3>>(64);
  print_swizzle<cute::Swizzle<3, 3, 4>>(128);
}
