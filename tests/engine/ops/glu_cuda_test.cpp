// The gated unit on the CUDA device.
#include <doctest/doctest.h>

#include "engine/ops/glu/glu.h"
#include "tests/support/device_backend.h"

using namespace sink;

TEST_CASE_TEMPLATE("glu on the device: equals the double reference", Function, ReluFunction, GeluFunction,
                   GeluTanhFunction, SiluFunction, EluPlusOneFunction) {
  for (std::int64_t rows : {0, 1, 3, 65})
    for (std::int64_t F : {1, 7, 33, 128})
      for (DType dtype : {DType::F32, DType::BF16}) {
        CAPTURE(rows);
        CAPTURE(F);
        double scale = rows * F == 1 ? 1 : 3;  // the only gate does not lie where 1 + erf(x) cancels
        Tensors given{random_tensor({rows, 2 * F}, dtype, 1, scale), random_tensor({rows, F}, dtype, 2),
                      random_tensor({rows, F}, dtype, 3), random_tensor({rows, 2 * F}, dtype, 4)};
        auto run = [](Tensors& t) {
          glu<Function>(t[0], t[2]);
          glu_backward<Function>(t[1], t[0], t[3]);
        };
        check_device_backend("glu", given, run);
        if (rows == 3 && F == 128) check_unaligned_backend("glu", given, run);
      }
}
