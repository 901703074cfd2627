// Layer norm on the CUDA device.
#include <doctest/doctest.h>

#include "engine/ops/layer_norm/layer_norm.h"
#include "tests/support/device_backend.h"

using namespace sink;

namespace {

// `which` says, bit by bit, which of the gradients of x, gain and bias are added to.
void check_layer_norm(const Shape& shape, DType y_type, unsigned which) {
  std::int64_t C = shape[shape.rank() - 1], rows = shape.size() / C;
  Tensor x = random_tensor(shape, DType::F32, 1, 3);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] += 5;  // a mean that is not nearly 0
  Tensors given{x,
                random_tensor({C}, DType::F32, 2),
                random_tensor({C}, DType::F32, 3),
                random_tensor(shape, y_type, 4),
                random_tensor({rows}, DType::F32, 5),
                random_tensor({rows}, DType::F32, 6),
                random_tensor(shape, y_type, 7),
                random_tensor(shape, DType::F32, 8),
                random_tensor({C}, DType::F32, 9),
                random_tensor({C}, DType::F32, 10)};
  auto run = [&](Tensors& t) {
    layer_norm(t[0], t[1], t[2], t[3], t[4], t[5]);
    layer_norm_backward(t[6], t[0], t[1], t[4], t[5], {t[7], (which & 1) != 0}, {t[8], (which & 2) != 0},
                        {t[9], (which & 4) != 0});
  };
  check_device_backend("layer_norm", given, run);
  if (rows == 3 && C == 264) check_unaligned_backend("layer_norm", given, run);
}

}  // namespace

TEST_CASE("layer_norm on the device: equals the double reference") {
  for (std::int64_t rows : {1, 3, 21})
    for (std::int64_t C : {7, 33, 128, 264})
      for (DType y_type : {DType::F32, DType::BF16})
        for (unsigned which : {0u, 7u}) {
          CAPTURE(rows);
          CAPTURE(C);
          CAPTURE(which);
          check_layer_norm({rows, C}, y_type, which);
        }
  for (unsigned which : {1u, 2u, 4u}) check_layer_norm({2, 3, 40}, DType::F32, which);
  check_layer_norm({4099, 9}, DType::F32, 0);  // blocks that have rows for their threads once, twice and not quite
  check_layer_norm({2, 2056}, DType::F32, 0);
}

TEST_CASE("layer_norm of a sum on the device: equals the double reference") {
  for (std::int64_t rows : {1, 7, 9})
    for (std::int64_t C : {24, 33, 264})
      for (auto [b_type, y_type] : kPairsOfTypes)
        for (bool with_du : {false, true}) {
          if (b_type != y_type && rows != 7) continue;
          CAPTURE(rows);
          CAPTURE(C);
          CAPTURE(with_du);
          auto random = [&](DType type, std::uint64_t seed) { return random_tensor({rows, C}, type, seed, 3); };
          auto of_columns = [&](std::uint64_t seed) { return random_tensor({C}, DType::F32, seed); };
          Tensors given{random(DType::F32, 1),
                        random(b_type, 2),
                        of_columns(3),
                        of_columns(4),
                        random(DType::F32, 5),
                        random(y_type, 6),
                        random_tensor({rows}, DType::F32, 7),
                        random_tensor({rows}, DType::F32, 8),
                        random(y_type, 9),
                        random(DType::F32, 10),
                        random(DType::F32, 11),
                        random(DType::BF16, 12),
                        of_columns(13),
                        of_columns(14)};
          check_device_backend("add_layer_norm", given, [&](Tensors& t) {
            Tensor db;
            if (b_type == DType::BF16 && t[0].dtype() == DType::F32) db = t[11];
            add_layer_norm(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7]);
            add_layer_norm_backward(t[8], with_du ? t[9] : Tensor(), t[4], t[2], t[6], t[7], t[10], db,
                                    {t[12], with_du}, {t[13], with_du});
            if (b_type == DType::BF16 && !db.defined()) t[11].copy_from(t[10]);  // the reference in double
          });
        }
}
