// Cross-entropy with an unembedding that stays in a file on the host, on the CUDA device.
#include <doctest/doctest.h>

#include "engine/ops/stored_cross_entropy/stored_cross_entropy.h"
#include "tests/support/device_backend.h"
#include "tests/support/stored_sample.h"

using namespace sink;

TEST_CASE("stored cross-entropy on the device: equals the double reference") {
  for (auto [V, C] : {std::pair{5, 32}, {70, 64}}) {
    const StoredSample w = StoredSample::q8(V, C);
    for (DType type : {DType::F32, DType::BF16}) {
      Tensors given{random_tensor({3, C}, type, 1), Tensor::from<std::int32_t>({3}, {4, -1, 0}),
                    random_tensor({3}, DType::F32, 2)};
      check_device_backend("stored_cross_entropy", given,
                           [&](Tensors& t) { stored_cross_entropy(t[0], w.matrix, t[1], t[2]); });
    }
  }
}
