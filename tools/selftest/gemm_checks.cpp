// Matrix products in every configuration that the engine uses, against sums in double.
#include "engine/cuda/gemm.h"
#include "engine/rng.h"
#include "engine/tensor.h"
#include "tools/selftest/finding.h"

namespace sink::selftest {
namespace {

struct Sizes {
  std::int64_t m, n, k;
};

// A column-major matrix of random values in [-1, 1) with this leading dimension.
Tensor matrix(std::int64_t leading, std::int64_t columns, DType dtype, const char* stream) {
  Rng random(3, stream);
  Tensor x = Tensor::empty({columns, leading}, DType::F32);
  for (std::int64_t i = 0; i < x.size(); ++i)
    x.data<float>()[i] = static_cast<float>(2 * random.uniform(static_cast<std::uint64_t>(i)) - 1);
  return x.to(dtype);
}

// Element (i, j) of op(x).
double element(const Tensor& x, bool transpose, std::int64_t i, std::int64_t j) {
  return transpose ? x.item(i * x.dim(1) + j) : x.item(j * x.dim(1) + i);
}

void* data_of(Tensor& x) {
  return x.dtype() == DType::F32 ? static_cast<void*>(x.device_data<float>()) : x.device_data<bf16>();
}

// Of the factors and of the product.
struct Types {
  DType in, out;
  bool tf32 = false;
};

void multiply(const Sizes& s, const Types& types, bool transpose_a, bool transpose_b, float beta, Finding& found) {
  auto [in, out, tf32] = types;
  constexpr std::int64_t kPad = 8;  // elements after each column that the product must not touch
  constexpr float kAlpha = 0.5f;
  Tensor a = matrix((transpose_a ? s.k : s.m) + kPad, transpose_a ? s.m : s.k, in, "a"),
         b = matrix((transpose_b ? s.n : s.k) + kPad, transpose_b ? s.k : s.n, in, "b"),
         c = matrix(s.m + kPad, s.n, out, "c");
  Tensor on_device[] = {a.to(Device::cuda), b.to(Device::cuda), c.to(Device::cuda)};
  cuda::Gemm g;
  g.m = s.m, g.n = s.n, g.k = s.k;
  g.transpose_a = transpose_a, g.transpose_b = transpose_b;
  g.lda = a.dim(1), g.ldb = b.dim(1), g.ldc = c.dim(1);
  g.in = in, g.out = out, g.tf32 = tf32, g.alpha = kAlpha, g.beta = beta;
  g.a = data_of(on_device[0]), g.b = data_of(on_device[1]), g.c = data_of(on_device[2]);
  cuda::gemm(g);
  Tensor back = on_device[2].to(Device::cpu);
  for (std::int64_t j = 0; j < s.n; ++j)
    for (std::int64_t i = 0; i < c.dim(1); ++i) {
      double before = c.item(j * c.dim(1) + i), expected = before, allowed = 0;
      if (i < s.m) {
        double sum = 0, largest = 0;
        for (std::int64_t p = 0; p < s.k; ++p) {
          double product = element(a, transpose_a, i, p) * element(b, transpose_b, p, j);
          sum += product, largest += std::abs(product);
        }
        expected = static_cast<double>(kAlpha) * sum + static_cast<double>(beta) * before;
        allowed = static_cast<double>(s.k + 3) * 0x1p-23 * (largest + std::abs(before));
        if (tf32) allowed += 0x1p-9 * largest;  // 10 fraction bits of each factor
        if (out == DType::BF16) allowed += std::abs(expected) * 0x1p-8;
        if (out == DType::BF16 && beta != 0) allowed += std::abs(static_cast<double>(kAlpha) * sum) * 0x1p-8;
      }
      found.compare(back.item(j * c.dim(1) + i), expected, allowed, [&] {
        return "row " + std::to_string(i) + ", column " + std::to_string(j) + " of " + cuda::str(g);
      });
    }
}

Finding products(const Types& types) {
  Finding found;
  for (const Sizes& sizes : {Sizes{8, 8, 8}, Sizes{64, 48, 32}, Sizes{37, 29, 53}, Sizes{1, 72, 130}})
    for (int transposes = 0; transposes < 4; ++transposes)
      for (float beta : {0.0f, 1.0f, 0.25f}) multiply(sizes, types, transposes & 1, transposes & 2, beta, found);
  return found;
}

// Repeated products have the same bits, also with a long k.
Finding repeated_products(const Types& types) {
  constexpr std::int64_t kM = 96, kN = 64, kK = 8192;
  Finding found;
  Tensor a = matrix(kM, kK, types.in, "a").to(Device::cuda), b = matrix(kK, kN, types.in, "b").to(Device::cuda), first;
  for (int run = 0; run < 3; ++run) {
    Tensor c = Tensor::zeros({kN, kM}, types.out, Device::cuda);
    cuda::Gemm g;
    g.m = g.lda = g.ldc = kM, g.n = kN, g.k = g.ldb = kK;
    g.in = types.in, g.out = types.out, g.tf32 = types.tf32;
    g.a = data_of(a), g.b = data_of(b), g.c = data_of(c);
    cuda::gemm(g);
    Tensor back = c.to(Device::cpu);
    if (run == 0) first = back;
    for (std::int64_t i = 0; i < back.size(); ++i)
      found.compare(back.item(i), first.item(i), 0, [&] { return "element " + std::to_string(i); });
  }
  return found;
}

}  // namespace

std::vector<Check> gemm_checks() {
  std::vector<Check> checks;
  auto add = [&](const std::string& what, const Types& types) {
    checks.push_back({"gemm, " + what, [=] { return products(types); }});
    checks.push_back({"gemm, " + what + ", three runs", [=] { return repeated_products(types); }});
  };
  add("f32", {DType::F32, DType::F32});
  add("tf32", {DType::F32, DType::F32, true});
  add("bf16 to f32", {DType::BF16, DType::F32});
  add("bf16", {DType::BF16, DType::BF16});
  return checks;
}

}  // namespace sink::selftest
