// The mean of many numbers on the CUDA device.
#include <doctest/doctest.h>

#include "engine/ops/reductions/scaled_sum.h"
#include "tests/support/device_backend.h"

using namespace sink;

TEST_CASE("scaled_sum on the device: equals the double reference, for no number to several blocks") {
  for (std::int64_t n : {0, 1, 7, 33, 300, 4096, 4097, 20001})
    for (DType dtype : {DType::F32, DType::BF16})
      for (DType sum_type : {DType::F32, DType::BF16, DType::F64}) {
        CAPTURE(n);
        Tensors given{random_tensor({n}, dtype, 1), random_tensor({1}, sum_type, 2)};
        check_device_backend("scaled_sum", given, [](Tensors& t) { scaled_sum(t[0], 3, 7, t[1]); });
      }
}

TEST_CASE("scaled_sum on the device: blocks are added in double, and rounded once") {
  // In float the blocks behind 2^24 would each lose their 1.
  constexpr std::int64_t kLarge = 1 << 24, kBlocks = 9;
  Tensor x = Tensor::zeros({kBlocks * 4096});
  x.data<float>()[0] = kLarge;
  for (std::int64_t block = 1; block < kBlocks; ++block) x.data<float>()[block * 4096 + 17] = 1;
  Tensor on_device = x.to(Device::cuda), y = Tensor::empty({1}, DType::F64, Device::cuda);
  scaled_sum(on_device, 0.5, 4, y);
  CHECK(y.item() == (kLarge + kBlocks - 1) / 8.0);
}
