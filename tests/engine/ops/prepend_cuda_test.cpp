// A row before every sequence and its removal, on the CUDA device.
#include <doctest/doctest.h>

#include "engine/ops/prepend/prepend.h"
#include "tests/support/device_backend.h"

using namespace sink;

TEST_CASE("prepend on the device: equals the double reference") {
  for (std::int64_t B : {1, 9})
    for (std::int64_t T : {0, 1, 7, 33})
      for (std::int64_t C : {1, 33, 128})
        for (bool accumulate : {false, true}) {
          CAPTURE(B);
          CAPTURE(T);
          CAPTURE(C);
          CAPTURE(accumulate);
          Shape shorter{B, T, C}, longer{B, 1 + T, C};
          Tensors given{random_tensor(shorter, DType::F32, 1), random_tensor({1, C}, DType::F32, 2),
                        random_tensor(longer, DType::F32, 3),  random_tensor(longer, DType::F32, 4),
                        random_tensor(shorter, DType::F32, 5), random_tensor({1, C}, DType::F32, 6)};
          check_device_backend("prepend", given, [&](Tensors& t) {
            prepend(t[0], t[1], t[2]);
            prepend_backward(t[3], t[4], t[5], accumulate);
          });
        }
}

TEST_CASE("drop_first on the device: equals the double reference, to the bit") {
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t B : {1, 5})
      for (std::int64_t T : {0, 1, 7, 65})
        for (std::int64_t C : {1, 33, 128}) {
          CAPTURE(B);
          CAPTURE(T);
          CAPTURE(C);
          Shape shorter{B, T, C}, longer{B, 1 + T, C};
          Tensors given{random_tensor(longer, dtype, 1), random_tensor(shorter, dtype, 2),
                        random_tensor(shorter, dtype, 3), random_tensor(longer, dtype, 4)};
          auto both_ways = [](Tensors& t) {
            drop_first(t[0], t[1]);
            drop_first_backward(t[2], t[3]);
          };
          check_device_backend("drop_first", given, both_ways, 0, 0);
        }
}
