// One vector per head, added to every position, on the CUDA device.
#include <doctest/doctest.h>

#include "engine/ops/add_head_vector/add_head_vector.h"
#include "tests/support/device_backend.h"

using namespace sink;

namespace {

void check_head_vectors(const Shape& shape_BHTD, DType dtype, bool accumulate) {
  Shape shape_HD{shape_BHTD[1], shape_BHTD[3]};
  Tensors given{random_tensor(shape_BHTD, dtype, 1), random_tensor(shape_HD, DType::F32, 2),
                random_tensor(shape_BHTD, dtype, 3), random_tensor(shape_BHTD, dtype, 4),
                random_tensor(shape_HD, DType::F32, 5)};
  check_device_backend("add_head_vector", given, [&](Tensors& t) {
    add_head_vector(t[0], t[1], t[2]);
    add_head_vector_backward(t[3], t[4], accumulate);
  });
}

}  // namespace

TEST_CASE("add_head_vector on the device: equals the double reference") {
  for (DType dtype : {DType::F32, DType::BF16})
    for (bool accumulate : {false, true}) {
      CAPTURE(accumulate);
      for (std::int64_t B : {1, 5})
        for (std::int64_t H : {1, 3})
          for (std::int64_t T : {1, 7, 65})
            for (std::int64_t D : {1, 33, 65}) {
              CAPTURE(B);
              CAPTURE(H);
              CAPTURE(T);
              CAPTURE(D);
              check_head_vectors({B, H, T, D}, dtype, accumulate);
            }
      check_head_vectors({2, 3, 0, 7}, dtype, accumulate);
      check_head_vectors({300, 2, 33, 2}, dtype, accumulate);  // chunks of more than 32 positions
    }
}
