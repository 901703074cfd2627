// Products with weights that stay in a file on the host, on the CUDA device.
#include <doctest/doctest.h>

#include <cstring>

#include "engine/ops/stored_product/stored_product.h"
#include "tests/support/device_backend.h"

using namespace sink;

TEST_CASE("stored product on the device: equals the double reference") {
  for (auto [N, K] : {std::pair{1, 32}, {37, 64}}) {
    const Tensor w = random_tensor({N, K}, DType::F32, 3);
    StoredPart part{.type = StoredType::F32, .rows = N, .lines = {}};
    for (std::int64_t n = 0; n < N; ++n)
      part.lines.push_back(reinterpret_cast<const unsigned char*>(w.data<float>() + n * K));
    const StoredMatrix matrix{.rows = N, .columns = K, .parts = {part}, .times = 2, .owner = nullptr};
    for (DType type : {DType::F32, DType::BF16})
      for (std::int64_t M : {1, 9}) {
        CAPTURE(M);
        Tensors given{random_tensor({M, K}, type, 1), random_tensor({M, N}, type, 2), Tensor::zeros({1, M}, DType::I32),
                      random_tensor({1, M, K}, DType::F32, 4)};
        check_device_backend("stored_product", given, [&](Tensors& t) {
          stored_product(t[0], matrix, t[1]);
          stored_rows(t[2], matrix, t[3]);
        });
      }
  }
}
