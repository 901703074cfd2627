// The Newton-Schulz iteration on the CUDA device.
#include <doctest/doctest.h>

#include "engine/ops/optimizer/orthogonalize.h"
#include "tests/support/device_backend.h"

using namespace sink;

TEST_CASE("orthogonalize on the device: equals the double reference for tall, wide and square matrices") {
  for (auto [M, N] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {1, 7}, {9, 1}, {24, 40}, {33, 17}, {20, 20}}) {
    CAPTURE(M);
    CAPTURE(N);
    Tensors given{random_tensor({M, N}, DType::F32, 1), random_tensor({M, N}, DType::F32, 2)};
    check_device_backend(
        "orthogonalize", given, [](Tensors& t) { orthogonalize(t[0], t[1]); }, 1e-4);
  }
}
