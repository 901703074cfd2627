// The gated units of a mixture's experts on the CUDA device.
#include <doctest/doctest.h>

#include "engine/ops/expert_glu/expert_glu.h"
#include "tests/support/device_backend.h"

using namespace sink;

TEST_CASE("expert units on the device: equal the double reference") {
  for (std::int64_t rows : {0, 1, 33})
    for (auto [E, F] : {std::pair{2, 1}, {3, 33}})
      for (DType dtype : {DType::F32, DType::BF16}) {
        CAPTURE(rows);
        CAPTURE(F);
        Tensors given{random_tensor({rows, E * 2 * F}, dtype, 1, 4), random_tensor({rows, E}, dtype, 2),
                      random_tensor({rows, E * F}, dtype, 3),        random_tensor({rows, E * F}, dtype, 4),
                      random_tensor({rows, E * 2 * F}, dtype, 5),    random_tensor({rows, E}, dtype, 6)};
        check_device_backend("expert_glu", given, [](Tensors& t) {
          expert_glu(t[0], t[1], t[3]);
          expert_glu_backward(t[2], t[0], t[1], t[4], t[5]);
        });
      }
}
