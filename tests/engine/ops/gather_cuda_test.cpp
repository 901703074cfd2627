// A larger tensor made of a few numbers, on the CUDA device.
#include <doctest/doctest.h>

#include "engine/ops/gather/gather.h"
#include "tests/support/device_backend.h"

using namespace sink;

TEST_CASE("gather on the device: equals the double reference, with missing and unused places") {
  for (std::int64_t P : {1, 7, 33, 300})
    for (std::int64_t N : {0, 1, 7, 128, 129, 1000})
      for (bool accumulate : {false, true}) {
        CAPTURE(P);
        CAPTURE(N);
        CAPTURE(accumulate);
        Tensor index = Tensor::empty({N}, DType::I32);
        Rng rng(0, "places");
        for (std::int64_t n = 0; n < N; ++n)
          index.data<std::int32_t>()[n] =
              static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(P + 1))) -
              1;
        Tensors given{index, random_tensor({P}, DType::F32, 1), random_tensor({N}, DType::F32, 2),
                      random_tensor({N}, DType::F32, 3), random_tensor({P}, DType::F32, 4)};
        check_device_backend("gather", given, [&](Tensors& t) {
          gather(t[1], t[0], t[2]);
          gather_backward(t[3], t[0], t[4], accumulate);
        });
      }
}
