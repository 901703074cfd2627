// Sums of tensors, sums over a batch, and scaling, on the CUDA device.
#include <doctest/doctest.h>

#include "engine/ops/add/add.h"
#include "tests/support/device_backend.h"

using namespace sink;

TEST_CASE("add on the device: equals the double reference, also for a bf16 branch and in place") {
  struct Types {
    DType a, b;
  };
  for (Types types : {Types{DType::F32, DType::F32}, Types{DType::BF16, DType::BF16}, Types{DType::F32, DType::BF16},
                      Types{DType::F64, DType::F64}})
    for (std::int64_t n : {0, 1, 7, 33, 256, 1003}) {
      CAPTURE(n);
      Tensors given{random_tensor({n}, types.a, 1), random_tensor({n}, types.b, 2), random_tensor({n}, types.a, 3),
                    random_tensor({n}, types.a, 4)};
      auto run = [](Tensors& t) {
        add(t[0], t[1], t[2]);
        add_into(t[3], t[1]);
      };
      check_device_backend("add", given, run);
      if (n == 256) check_unaligned_backend("add", given, run);
    }
}

TEST_CASE("add_rows on the device: equals the double reference, with a table of more rows than positions") {
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t B : {1, 5})
      for (std::int64_t T : {0, 1, 7, 65})
        for (std::int64_t C : {1, 33, 128}) {
          CAPTURE(B);
          CAPTURE(T);
          CAPTURE(C);
          Tensors given{random_tensor({B, T, C}, dtype, 1), random_tensor({T + 2, C}, dtype, 2),
                        random_tensor({B, T, C}, dtype, 3)};
          check_device_backend("add_rows", given, [](Tensors& t) { add_rows(t[0], t[1], t[2]); });
        }
}

TEST_CASE("add_rows_backward on the device: equals the double reference, and rows without a position get 0") {
  for (std::int64_t B : {1, 5})
    for (std::int64_t T : {0, 1, 7, 65})
      for (std::int64_t C : {1, 33, 128})
        for (std::int64_t more : {0, 2})
          for (bool accumulate : {false, true}) {
            CAPTURE(B);
            CAPTURE(T);
            CAPTURE(C);
            CAPTURE(more);
            CAPTURE(accumulate);
            Tensors given{random_tensor({B, T, C}, DType::F32, 1), random_tensor({T + more, C}, DType::F32, 2)};
            check_device_backend("add_rows_backward", given,
                                 [&](Tensors& t) { add_rows_backward(t[0], t[1], accumulate); });
          }
}

TEST_CASE("scale on the device: equals the double reference, and a factor of 1 changes nothing") {
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t n : {0, 1, 7, 33, 256, 1003})
      for (float factor : {1.0f / 3, -2.0f, 1.0f}) {
        CAPTURE(n);
        CAPTURE(factor);
        Tensors given{random_tensor({n}, dtype, 1), Tensor::full({1}, factor)};
        bool exact = factor == 1;
        auto run = [](Tensors& t) { scale(t[0], t[1]); };
        check_device_backend("scale", given, run, exact ? 0 : 1e-5, exact ? 0 : 1e-2);
      }
}
