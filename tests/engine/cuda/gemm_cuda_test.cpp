// gemm, the column-major matrix product of the CUDA device.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>

#include "engine/cuda/gemm.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/keep_worst.h"

using namespace sink;

TEST_CASE("gemm: column-major matrices in the corners of larger ones, scaled") {
  //     (1 2)                    (1 2)       (21 2100)        (1 2)   ( 52  4220)
  // 2 * (3 4) * ( 1  100) + 10 * (1 2) = 2 * (43 4300) + 10 * (1 2) = ( 96  8620)
  //     (5 6)   (10 1000)        (1 2)       (65 6500)        (1 2)   (140 13020)
  Tensor a = Tensor::from<float>({10}, {1, 3, 5, NAN, NAN, 2, 4, 6, NAN, NAN}).to(Device::cuda);
  Tensor b = Tensor::from<float>({6}, {1, 100, NAN, 10, 1000, NAN}).to(Device::cuda);
  Tensor c = Tensor::from<float>({8}, {1, 1, 1, -1, 2, 2, 2, -2}).to(Device::cuda);
  cuda::Gemm g;
  g.m = 3, g.n = 2, g.k = 2, g.transpose_b = true;
  g.lda = 5, g.ldb = 3, g.ldc = 4;
  g.alpha = 2, g.beta = 10;
  g.a = a.device_data<float>(), g.b = b.device_data<float>(), g.c = c.device_data<float>();
  cuda::gemm(g);
  Tensor expected = Tensor::from<float>({8}, {52, 96, 140, -1, 4220, 8620, 13020, -2});
  check_close("c", c.to(Device::cpu), expected, 0);
}

TEST_CASE("gemm: leading dimensions beyond the matrices, every transpose") {
  std::int64_t m = 19, n = 70, k = 21;
  for (bool transpose_a : {false, true})
    for (bool transpose_b : {false, true}) {
      cuda::Gemm g;
      g.m = m, g.n = n, g.k = k, g.transpose_a = transpose_a, g.transpose_b = transpose_b;
      g.lda = (transpose_a ? k : m) + 3, g.ldb = (transpose_b ? n : k) + 2, g.ldc = m + 1;
      g.alpha = -3, g.beta = 0.5f;
      Tensor a = random_tensor({transpose_a ? m : k, g.lda}, DType::F32, 11);  // columns are rows of these
      Tensor b = random_tensor({transpose_b ? k : n, g.ldb}, DType::F32, 12);
      Tensor c = random_tensor({n, g.ldc}, DType::F32, 13), expected = c.to(DType::F64).clone();
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < m; ++i) {
          double sum = 0;
          for (std::int64_t p = 0; p < k; ++p)
            sum += a.item(transpose_a ? p + i * g.lda : i + p * g.lda) *
                   b.item(transpose_b ? j + p * g.ldb : p + j * g.ldb);
          expected.data<double>()[i + j * g.ldc] = -3 * sum + 0.5 * c.item(i + j * g.ldc);
        }
      Tensor a_cuda = a.to(Device::cuda), b_cuda = b.to(Device::cuda), c_cuda = c.to(Device::cuda);
      g.a = a_cuda.device_data<float>(), g.b = b_cuda.device_data<float>(), g.c = c_cuda.device_data<float>();
      cuda::gemm(g);
      check_close("c", c_cuda.to(Device::cpu), expected, 1e-5);
    }
}

TEST_CASE("gemm: in TF32 the factors lose bits, less than 2^-10 of each, and nothing else does") {
  std::int64_t m = 30, n = 17, k = 100;
  Tensor a = random_tensor({k, m}, DType::F32, 21), b = random_tensor({n, k}, DType::F32, 22);
  Tensor a_cuda = a.to(Device::cuda), b_cuda = b.to(Device::cuda), c = Tensor::zeros({n, m}, DType::F32, Device::cuda);
  cuda::Gemm g;
  g.m = g.lda = g.ldc = m, g.n = n, g.k = g.ldb = k, g.tf32 = true;
  g.a = a_cuda.device_data<float>(), g.b = b_cuda.device_data<float>(), g.c = c.device_data<float>();
  cuda::gemm(g);
  Tensor found = c.to(Device::cpu);
  double worst = 0;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) {
      double sum = 0, largest = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        double product = a.item(i + p * m) * b.item(p + j * k);
        sum += product, largest += std::abs(product);
      }
      keep_worst(worst, std::abs(found.item(i + j * m) - sum) / largest);
    }
  CHECK(worst < 2 * 0x1p-10 + 1e-5);
  CHECK(worst > 0x1p-15);  // an F32 product would be below 2^-18

  // Factors of 10 fraction bits stay what they are.
  auto cut = [](Tensor x) {
    for (std::int64_t i = 0; i < x.size(); ++i) {
      auto bits = std::bit_cast<std::uint32_t>(x.data<float>()[i]) & ~0u << 13;
      x.data<float>()[i] = std::bit_cast<float>(bits);
    }
    return x.to(Device::cuda);
  };
  Tensor a_cut = cut(a.clone()), b_cut = cut(b.clone()), exact = Tensor::zeros({n, m}, DType::F32, Device::cuda);
  g.a = a_cut.device_data<float>(), g.b = b_cut.device_data<float>();
  cuda::gemm(g);
  g.tf32 = false, g.c = exact.device_data<float>();
  cuda::gemm(g);
  check_close("c", c.to(Device::cpu), exact.to(Device::cpu), 1e-6);
}

TEST_CASE("gemm: descriptions that make no sense are refused") {
  Tensor memory = Tensor::zeros({3, 100}, DType::F32, Device::cuda);
  auto refused = [&](auto&& spoil, std::initializer_list<std::string> words) {
    cuda::Gemm g;
    g.m = 3, g.n = 4, g.k = 5;
    g.lda = 3, g.ldb = 5, g.ldc = 3;
    g.a = memory.device_data<float>(), g.b = memory.device_data<float>() + 100, g.c = memory.device_data<float>() + 200;
    CHECK_NOTHROW(cuda::gemm(g));
    spoil(g);
    check_refused([&] { cuda::gemm(g); }, words);
  };
  using cuda::Gemm;
  refused([](Gemm& g) { g.k = 0; }, {"[gemm]", "at least 1", "(3 x 0, leading 3)"});
  refused([](Gemm& g) { g.lda = 2; }, {"of a must be at least 3", "(3 x 5, leading 2)"});
  refused([](Gemm& g) { g.transpose_a = true; }, {"of a must be at least 5", "(3 x 5, leading 3, transposed)"});
  refused([](Gemm& g) { g.ldb = 4; }, {"of b must be at least 5"});
  refused([](Gemm& g) { g.transpose_b = true, g.ldb = 3; }, {"of b must be at least 4"});
  refused([](Gemm& g) { g.ldc = 2; }, {"of c must be at least 3"});
  refused([](Gemm& g) { g.out = DType::BF16; }, {"f32 in and out", "c bf16"});
  refused([](Gemm& g) { g.in = g.out = DType::F64; }, {"a f64"});
  refused([](Gemm& g) { g.in = g.out = DType::BF16, g.tf32 = true; }, {"tf32 requires f32 factors", "c bf16"});
  refused([](Gemm& g) { g.tf32 = true, g.ldc = 2; }, {"a tf32 (3 x 5"});
  refused([](Gemm& g) { g.b = nullptr; }, {"a, b or c is null"});
  refused([](Gemm& g) { g.c = const_cast<void*>(g.a); }, {"c must not be a or b"});
}
