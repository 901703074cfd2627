// The running sum of gradients on the CUDA device.
#include <doctest/doctest.h>

#include <cmath>

#include "engine/ops/optimizer/momentum.h"
#include "tests/support/device_backend.h"

using namespace sink;

TEST_CASE("momentum on the device: equals the double reference over several steps, and keeps all in a bad one") {
  for (std::int64_t n : {0, 1, 7, 256, 1003})
    for (double squared_norm : {1.0, 64.0, static_cast<double>(NAN)}) {
      CAPTURE(n);
      Tensors given{random_tensor({n}, DType::F32, 1), random_tensor({n}, DType::F32, 2),
                    random_tensor({n}, DType::F32, 3), make_step_scalars(0.1, 1)};
      check_device_backend("momentum", given, [&](Tensors& t) {
        squared_norm_of(t[3]).fill(squared_norm);
        Tensor none;
        momentum({.momentum = 0.9, .clip = 2}, t[3], t[0], t[1], t[2]);
        momentum({.momentum = 0.9, .clip = 2}, t[3], t[0], t[1], none);
      });
    }
}
