// The root-mean-square norm on the CUDA device.
#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "engine/ops/rms_norm/rms_norm.h"
#include "tests/support/check_refused.h"
#include "tests/support/device_backend.h"

using namespace sink;

TEST_CASE("rms_norm on the device: equals the double reference") {
  for (std::int64_t rows : {1, 3, 21})
    for (std::int64_t C : {7, 33, 128, 264})
      for (DType y_type : {DType::F32, DType::BF16})
        for (bool accumulate : {false, true}) {
          CAPTURE(rows);
          CAPTURE(C);
          CAPTURE(accumulate);
          Tensors given{random_tensor({rows, C}, DType::F32, 1, 3), random_tensor({C}, DType::F32, 2),
                        random_tensor({rows, C}, y_type, 3),        random_tensor({rows, C}, y_type, 4),
                        random_tensor({rows}, DType::F32, 5),       random_tensor({rows, C}, DType::F32, 6),
                        random_tensor({C}, DType::F32, 7)};
          check_device_backend("rms_norm", given, [&](Tensors& t) {
            rms_norm(t[0], t[1], t[2], t[4]);
            rms_norm_backward(t[3], t[0], t[1], t[4], t[5], accumulate, t[6], accumulate);
          });
          if (rows != 3 || C != 264) continue;
          check_unaligned_backend("rms_norm", given, [&](Tensors& t) {
            rms_norm(t[0], t[1], t[2], t[4]);
            rms_norm_backward(t[3], t[0], t[1], t[4], t[5], accumulate, t[6], accumulate);
          });
        }
}

// `offset` numbers into their tensors, so that rows lie where no vectors do.
TEST_CASE("rms_norm of a sum on the device: equals the double reference") {
  for (std::int64_t rows : {1, 7, 9})
    for (std::int64_t C : {24, 33, 264})
      for (auto [b_type, y_type] : kPairsOfTypes)
        for (std::int64_t offset : {0, 1})
          for (bool with_du : {false, true}) {
            if (b_type != y_type && rows != 7) continue;
            CAPTURE(rows);
            CAPTURE(C);
            CAPTURE(offset);
            CAPTURE(with_du);
            auto random = [&](DType type, std::uint64_t seed) {
              return random_tensor({rows * C + offset}, type, seed, 3);
            };
            Tensors given{random(DType::F32, 1),
                          random(b_type, 2),
                          random_tensor({C}, DType::F32, 3),
                          random(DType::F32, 4),
                          random(y_type, 5),
                          random_tensor({rows}, DType::F32, 6),
                          random(y_type, 7),
                          random(DType::F32, 8),
                          random(DType::F32, 9),
                          random(DType::BF16, 10),
                          random_tensor({C}, DType::F32, 11)};
            check_device_backend("add_rms_norm", given, [&](Tensors& t) {
              auto slice = [&](std::size_t n) { return t[n].slice(offset, {rows, C}); };
              Tensor u = slice(3), y = slice(4), da = slice(8), db;
              if (b_type == DType::BF16 && t[0].dtype() == DType::F32) db = slice(9);
              add_rms_norm(slice(0), slice(1), t[2], u, y, t[5]);
              add_rms_norm_backward(slice(6), with_du ? slice(7) : Tensor(), u, t[2], t[5], da, db, t[10], with_du);
              if (b_type == DType::BF16 && !db.defined()) slice(9).copy_from(da);  // the reference in double
            });
          }
}

// Rows of one warp, of two and of 32; blocks that have rows for their threads once, twice and not quite.
TEST_CASE("rms_norm on the device: wide rows and many rows") {
  for (auto [rows, C] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{4099, 9}, {2060, 264}, {2, 8191}, {2, 8192}}) {
    CAPTURE(rows);
    CAPTURE(C);
    Tensors given{random_tensor({rows, C}, DType::F32, 1), random_tensor({C}, DType::F32, 2),
                  random_tensor({rows, C}, DType::F32, 3), random_tensor({rows, C}, DType::F32, 4),
                  random_tensor({rows}, DType::F32, 5),    random_tensor({rows, C}, DType::F32, 6),
                  random_tensor({C}, DType::F32, 7)};
    check_device_backend("rms_norm", given, [&](Tensors& t) {
      rms_norm(t[0], t[1], t[2], t[4]);
      rms_norm_backward(t[3], t[0], t[1], t[4], t[5], true, t[6], true);
    });
  }
  Tensor wide = Tensor::zeros({2, 8193}, DType::F32, Device::cuda), y = Tensor::empty_like(wide);
  Tensor gain = wide.new_zeros({8193}, DType::F32), r = wide.new_zeros({2}, DType::F32);
  check_refused([&] { rms_norm(wide, gain, y, r); }, {"[norm]", "at most 8192", "8193"});
}
