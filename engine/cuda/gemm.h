// A matrix product on the device, described as cuBLASLt takes it: cuBLASLt executes it on a GPU, loops in float do on
// the emulated device. So leading dimensions and transposes are tested where there is no GPU.
#pragma once

#include <cstdint>
#include <string>

#include "engine/dtype.h"

namespace sink::cuda {

// c_mn = alpha op(a)_mk op(b)_kn + beta c_mn; op transposes where asked. Matrices are column-major: element (i, j) lies
// at i + j * (leading dimension). Sums are F32. Where beta is 0, what c held does not matter.
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  DType in = DType::F32, out = DType::F32;  // of a and b, of c: F32 -> F32, BF16 -> F32 or BF16
  // Of F32: the factors may lose all but 10 fraction bits, which is what tensor cores read of them; they ignore the 13
  // bits below (CUTLASS leaves them there: cutlass/tfloat32.h). Whether cuBLASLt rounds before, it does not say, so the
  // emulated device cuts the bits off, which is the worse: an error below 2^-10 of each factor.
  bool tf32 = false;
  float alpha = 1, beta = 0;
  const void *a = nullptr, *b = nullptr;
  void* c = nullptr;
};

// Returns before it is done, as a kernel's launch does.
void gemm(const Gemm& g);

// "a f32 (3 x 5, leading 5, transposed), b ...", for messages; sizes are those of op(a) and op(b).
inline std::string str(const Gemm& g) {
  auto matrix = [](std::int64_t rows, std::int64_t columns, std::int64_t leading, bool transposed) {
    return " (" + std::to_string(rows) + " x " + std::to_string(columns) + ", leading " + std::to_string(leading) +
           (transposed ? ", transposed)" : ")");
  };
  std::string in = g.tf32 ? "tf32" : name_of(g.in);
  return "a " + in + matrix(g.m, g.k, g.lda, g.transpose_a) + ", b " + in + matrix(g.k, g.n, g.ldb, g.transpose_b) +
         ", c " + name_of(g.out) + matrix(g.m, g.n, g.ldc, false);
}

// Throws where the description makes no sense. Both executions call it first.
inline void check(const Gemm& g) {
  SINK_CHECK(g.m > 0 && g.n > 0 && g.k > 0, "gemm", "expected sizes of 1 at least: " + str(g));
  auto check_leading = [&](const char* name, std::int64_t leading, std::int64_t rows) {
    SINK_CHECK(
        leading >= rows, "gemm",
        std::string("the leading dimension of ") + name + " must be " + std::to_string(rows) + " at least: " + str(g));
  };
  check_leading("a", g.lda, g.transpose_a ? g.k : g.m);
  check_leading("b", g.ldb, g.transpose_b ? g.n : g.k);
  check_leading("c", g.ldc, g.m);
  bool types_fit = (g.in == DType::F32 && g.out == DType::F32) ||
                   (g.in == DType::BF16 && (g.out == DType::F32 || g.out == DType::BF16));
  SINK_CHECK(types_fit, "gemm", "expected f32 in and out, or bf16 in and f32 or bf16 out: " + str(g));
  SINK_CHECK(!g.tf32 || g.in == DType::F32, "gemm", "tf32 is of products of f32: " + str(g));
  SINK_CHECK(g.a && g.b && g.c, "gemm", "a matrix has no memory: " + str(g));
  SINK_CHECK(g.c != g.a && g.c != g.b, "gemm", "c lies where a or b does: " + str(g));
}

}  // namespace sink::cuda
