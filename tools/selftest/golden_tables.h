// Where NVIDIA's CuTe says that lanes hold numbers: tests/golden/cuda/cute_tables.txt, which the program carries with
// it.
#pragma once

#include <string>
#include <vector>

namespace sink::selftest {

struct Place {
  int row, column;
};

// Of each lane (of a swizzle: of each row) the places of its numbers, in the order of its registers, the lower half
// first. Names: left, right, sums of mma.m16n8k16; load, load_transposed of ldmatrix.x4, whose row is the lane that
// gave the address; swizzle_32, swizzle_64, swizzle_128 of bf16 rows so wide, whose column is a chunk of 16 bytes.
std::vector<std::vector<Place>> golden_table(const std::string& name);

// The text of that file; CMakeLists.txt makes it.
const char* cute_tables_text();

}  // namespace sink::selftest
