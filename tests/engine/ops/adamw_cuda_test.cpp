// The AdamW update on the CUDA device.
#include <doctest/doctest.h>

#include "engine/ops/adamw/adamw.h"
#include "tests/support/device_twin.h"

using namespace sink;

TEST_CASE("adamw on the device: equals the double reference over several steps") {
  for (std::int64_t n : {0, 1, 7, 65, 256, 1003}) {
    CAPTURE(n);
    Tensors given{random_tensor({n}, DType::F32, 1), random_tensor({n}, DType::F32, 2),
                  random_tensor({n}, DType::F32, 3), Tensor::zeros({n}), Tensor::zeros({n})};
    check_device_twin("adamw", given, [](Tensors& t) {
      AdamwStep settings{.learning_rate = 0.1,
                         .beta1 = 0.9,
                         .beta2 = 0.95,
                         .epsilon = 1e-8,
                         .weight_decay = 0.1,
                         .gradient_scale = 0.25};
      for (; settings.step <= 4; ++settings.step)
        adamw(settings, t[static_cast<std::size_t>(settings.step % 2)], t[2], t[3], t[4]);
    });
  }
}
