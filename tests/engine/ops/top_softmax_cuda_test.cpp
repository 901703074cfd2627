// Softmax over the largest numbers of a row on the CUDA device.
#include <doctest/doctest.h>

#include "engine/ops/top_softmax/top_softmax.h"
#include "tests/support/device_backend.h"

using namespace sink;

TEST_CASE("top softmax on the device: equals the double reference") {
  for (std::int64_t rows : {0, 1, 65})
    for (std::int64_t E : {2, 7, 32})
      for (DType dtype : {DType::F32, DType::BF16}) {
        CAPTURE(rows);
        CAPTURE(E);
        Tensors given{random_tensor({rows, E}, dtype, 1, 3), random_tensor({rows, E}, dtype, 2),
                      random_tensor({rows, E}, dtype, 3), random_tensor({rows, E}, dtype, 4),
                      random_tensor({rows, E}, dtype, 5)};
        // Any p: what is left of dp beside its mean by a p that was rounded is no digits.
        check_device_backend("top_softmax", given, [](Tensors& t) {
          top_softmax(t[0], 2, t[2]);
          top_softmax_backward(t[1], t[3], t[4]);
        });
      }
}
