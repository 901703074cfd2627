// Scratch memory: pieces lie apart, a layout that is not what was counted is refused, and with AddressSanitizer a write
// past a piece stops the program.
#include "engine/scratch.h"

#include <doctest/doctest.h>

#include <cstdint>

#include "tests/support/in_child.h"

using namespace sink;

namespace {

struct Pieces {
  float *a, *b;
  double* c;
  Pieces(std::int64_t n, Scratch& scratch)
      : a(scratch.take<float>(n)), b(scratch.take<float>(1)), c(scratch.take<double>(n)) {}
};

// Takes more when it runs for real, or less.
struct Changing {
  Changing(std::int64_t counted, std::int64_t taken, Scratch& scratch) {
    bool counts = scratch.take<float>(1) == nullptr;
    scratch.take<float>(counts ? counted : taken);
  }
};

#ifdef __SANITIZE_ADDRESS__
bool stops(float* place) {
  return in_child([&] {
           *static_cast<volatile float*>(place) = 1;
           return 0;
         }) != 0;
}
#endif

}  // namespace

TEST_CASE("scratch: pieces of all blocks lie apart, aligned to 64 bytes") {
  ScratchBlocks<Pieces> blocks(3, std::int64_t{21});
  for (int block = 0; block < 3; ++block) {
    Pieces& pieces = blocks[block];
    for (void* piece : {static_cast<void*>(pieces.a), static_cast<void*>(pieces.b), static_cast<void*>(pieces.c)})
      CHECK(reinterpret_cast<std::uintptr_t>(piece) % 64 == 0);
    for (int n = 0; n < 21; ++n) pieces.a[n] = static_cast<float>(block), pieces.c[n] = block + 0.5;
    pieces.b[0] = static_cast<float>(-block);
  }
  for (int block = 0; block < 3; ++block)
    for (int n = 0; n < 21; ++n) {
      CHECK(blocks[block].a[n] == static_cast<float>(block));
      CHECK(blocks[block].b[0] == static_cast<float>(-block));
      CHECK(blocks[block].c[n] == block + 0.5);
    }
}

TEST_CASE("scratch: a layout must take what was counted") {
  CHECK_NOTHROW(ScratchBlocks<Changing>(1, std::int64_t{100}, std::int64_t{100}));
  CHECK_THROWS_AS(ScratchBlocks<Changing>(1, std::int64_t{100}, std::int64_t{200}), Error);
  CHECK_THROWS_AS(ScratchBlocks<Changing>(1, std::int64_t{200}, std::int64_t{100}), Error);
}

#ifdef __SANITIZE_ADDRESS__
TEST_CASE("scratch: AddressSanitizer sees writes past a piece and into the next block, and none of a later tensor") {
  {
    ScratchBlocks<Pieces> blocks(2, std::int64_t{21});
    for (int block = 0; block < 2; ++block) {
      CHECK_FALSE(stops(blocks[block].a + 20));
      CHECK(stops(blocks[block].a + 21));
      CHECK(stops(blocks[block].a + 31));
      CHECK(stops(blocks[block].b + 1));
      CHECK(stops(blocks[block].b - 1));
      CHECK(stops(reinterpret_cast<float*>(blocks[block].c + 21)));
    }
  }
  Tensor reused = Tensor::empty({2 * 160});  // perhaps the same memory
  reused.fill(1);
  CHECK(reused.item(0) == 1);
}
#endif
