// The counted traffic of kernels against closed forms.
#include <doctest/doctest.h>

#include "engine/cuda/emulated/traffic.h"
#include "engine/ops/add/add.h"
#include "engine/ops/activation/activation.h"
#include "engine/ops/matmul/matmul.h"
#include "tests/support/compare.h"

using namespace sink;

namespace {

template <class Run>
emulated::KernelTraffic traffic_of(Run&& run) {
  emulated::start_traffic();
  run();
  auto by_kernel = emulated::stop_traffic();
  CHECK(by_kernel.size() == 1);
  return by_kernel.empty() ? emulated::KernelTraffic{} : by_kernel.begin()->second;
}

Tensor on_device(const Shape& shape, DType dtype, std::uint64_t seed) {
  return random_tensor(shape, dtype, seed).to(Device::cuda);
}

}  // namespace

TEST_CASE("traffic: a sum reads two tensors and writes one, each byte once") {
  constexpr std::int64_t N = 4096;
  Tensor a = on_device({N}, DType::F32, 1), b = on_device({N}, DType::BF16, 2), y = Tensor::empty_like(a);
  emulated::KernelTraffic traffic = traffic_of([&] { add(a, b, y); });
  CHECK(traffic.launches == 1);
  CHECK(traffic.read == 6 * N);
  CHECK(traffic.written == 4 * N);
  CHECK(traffic.requested == 10 * N);
  CHECK(traffic.tensor_flops == 0);
}

TEST_CASE("traffic: what several threads read counts once as read, and every time as requested") {
  // Every thread reads the factor; a factor of 1 leaves the elements alone.
  constexpr std::int64_t N = 1024;
  Tensor a = on_device({N}, DType::F32, 1), one = Tensor::full({1}, 1).to(Device::cuda);
  emulated::KernelTraffic traffic = traffic_of([&] { scale(a, one); });
  CHECK(traffic.read == 32);  // one sector
  CHECK(traffic.written == 0);
  CHECK(traffic.requested == N / 4 * 4);  // a thread has four elements
}

TEST_CASE("traffic: a gated unit reads 4F bytes of gates and values per row of bf16 and writes 2F") {
  constexpr std::int64_t rows = 24, F = 256;
  Tensor gate_up = on_device({rows, 2 * F}, DType::BF16, 1), y = on_device({rows, F}, DType::BF16, 2);
  emulated::KernelTraffic traffic = traffic_of([&] { activation<Glu<SiluFunction>>(gate_up, y); });
  CHECK(traffic.read == rows * 4 * F);
  CHECK(traffic.written == rows * 2 * F);
}

TEST_CASE("traffic: a matrix product has 2 M N K FLOPs") {
  constexpr std::int64_t M = 32, N = 48, K = 64;
  Tensor a = on_device({M, K}, DType::BF16, 1), b = on_device({K, N}, DType::BF16, 2);
  Tensor c = on_device({M, N}, DType::F32, 3);
  emulated::KernelTraffic traffic = traffic_of([&] { matmul({a}, {b}, c); });
  CHECK(traffic.launches == 1);
  CHECK(traffic.tensor_flops == 2 * M * N * K);
  CHECK(traffic.read == 2 * (M * K + K * N));
  CHECK(traffic.written == 4 * M * N);
}
