// The root-mean-square norm on the CUDA device.
#include <doctest/doctest.h>

#include "engine/ops/rms_norm/rms_norm.h"
#include "tests/support/device_twin.h"

using namespace sink;

TEST_CASE("rms_norm on the device: equals the double reference") {
  for (std::int64_t rows : {1, 3, 65, 300})
    for (std::int64_t C : {7, 33, 128})
      for (DType y_type : {DType::F32, DType::BF16})
        for (bool accumulate : {false, true}) {
          CAPTURE(rows);
          CAPTURE(C);
          CAPTURE(accumulate);
          Tensors given{random_tensor({rows, C}, DType::F32, 1, 3), random_tensor({C}, DType::F32, 2),
                        random_tensor({rows, C}, y_type, 3),        random_tensor({rows, C}, y_type, 4),
                        random_tensor({rows}, DType::F32, 5),       random_tensor({rows, C}, DType::F32, 6),
                        random_tensor({C}, DType::F32, 7)};
          check_device_twin("rms_norm", given, [&](Tensors& t) {
            rms_norm(t[0], t[1], t[2], t[4]);
            rms_norm_backward(t[3], t[0], t[1], t[4], t[5], accumulate, t[6], accumulate);
          });
        }
}
