// A matrix product on the device, described as for cuBLASLt, which executes it on a GPU. The emulated device executes
// it with loops in float, so that leading dimensions and transposes are tested without a GPU.
#pragma once

#include <cstdint>
#include <string>

#include "engine/dtype.h"

namespace sink::cuda {

// c_mn = alpha op(a)_mk op(b)_kn + beta c_mn; op transposes or not. Matrices are column-major: element (i, j) is
// at i + j * (leading dimension). Sums are F32. Where beta is 0, c is not read. Else the product is rounded to c's type
// before c is added, so that BF16 is rounded twice (cuBLASLt 13.0 on an H200).
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  DType in = DType::F32, out = DType::F32;  // of a and b, of c: F32 -> F32, BF16 -> F32 or BF16
  // For F32: the tensor cores use only 10 fraction bits of the factors and ignore the other 13 (CUTLASS leaves them
  // there: cutlass/tfloat32.h). cuBLASLt does not document whether it rounds first, so the emulated device truncates,
  // which is the larger error: below 2^-10 of each factor.
  bool tf32 = false;
  float alpha = 1, beta = 0;
  const void *a = nullptr, *b = nullptr;
  void* c = nullptr;
};

// Asynchronous, as a kernel launch.
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

// Throws if the description is invalid. Called before every product.
inline void check(const Gemm& g) {
  SINK_CHECK(g.m > 0 && g.n > 0 && g.k > 0, "gemm", "expected m, n and k of at least 1: " + str(g));
  auto check_leading = [&](const char* name, std::int64_t leading, std::int64_t rows) {
    SINK_CHECK(
        leading >= rows, "gemm",
        std::string("the leading dimension of ") + name + " must be at least " + std::to_string(rows) + ": " + str(g));
  };
  check_leading("a", g.lda, g.transpose_a ? g.k : g.m);
  check_leading("b", g.ldb, g.transpose_b ? g.n : g.k);
  check_leading("c", g.ldc, g.m);
  bool types_fit = (g.in == DType::F32 && g.out == DType::F32) ||
                   (g.in == DType::BF16 && (g.out == DType::F32 || g.out == DType::BF16));
  SINK_CHECK(types_fit, "gemm", "expected f32 in and out, or bf16 in and f32 or bf16 out: " + str(g));
  SINK_CHECK(!g.tf32 || g.in == DType::F32, "gemm", "tf32 requires f32 factors: " + str(g));
  SINK_CHECK(g.a && g.b && g.c, "gemm", "a, b or c is null: " + str(g));
  SINK_CHECK(g.c != g.a && g.c != g.b, "gemm", "c must not be a or b: " + str(g));
}

}  // namespace sink::cuda
