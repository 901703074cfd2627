// The output gate of attention on the CUDA device.
#include <doctest/doctest.h>

#include "engine/ops/gate/gate.h"
#include "tests/support/device_backend.h"

using namespace sink;

TEST_CASE("gate on the device: equals the double reference, for groups of one number to more than a warp has lanes") {
  for (std::int64_t T : {0, 1, 33})
    for (std::int64_t G : {1, 3, 8})
      for (std::int64_t width : {1, 7, 31, 32, 33, 65})
        for (DType dtype : {DType::F32, DType::BF16}) {
          CAPTURE(T);
          CAPTURE(G);
          CAPTURE(width);
          Shape o{2, T, G * width}, g{2, T, G};
          Tensors given{random_tensor(o, dtype, 1), random_tensor(g, dtype, 2, 3), random_tensor(o, dtype, 3),
                        random_tensor(o, dtype, 4), random_tensor(o, dtype, 5),    random_tensor(g, dtype, 6)};
          check_device_backend("gate", given, [](Tensors& t) {
            gate(t[0], t[1], t[3]);
            gate_backward(t[2], t[0], t[1], t[4], t[5]);
          });
        }
}
