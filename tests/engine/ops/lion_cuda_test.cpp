// The Lion update on the CUDA device.
#include <doctest/doctest.h>

#include <cmath>

#include "engine/ops/optimizer/lion.h"
#include "tests/support/device_backend.h"

using namespace sink;

TEST_CASE("lion on the device: equals the double reference over two steps, its copy is w rounded, a bad step is none") {
  constexpr LionSettings kSettings{.beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0.5, .clip = 2};
  for (std::int64_t n : {0, 1, 7, 256, 1003})
    for (double squared_norm : {1.0, 64.0, static_cast<double>(NAN)}) {
      CAPTURE(n);
      Tensors given{random_tensor({n}, DType::F32, 1), random_tensor({n}, DType::F32, 2),
                    random_tensor({n}, DType::F32, 3), make_step_scalars(0.1, 1)};
      check_device_backend("lion", given, [&](Tensors& t) {
        squared_norm_of(t[3]).fill(squared_norm);
        for (int step = 0; step < 2; ++step) {
          Tensor copy = t[1].dtype() == DType::F32 ? t[1].new_zeros({n}, DType::BF16) : Tensor();
          lion(kSettings, t[3], t[0], t[1], t[2], copy);
          if (copy.defined() && std::isfinite(squared_norm))
            check_close("copy", copy.to(Device::cpu), t[1].to(Device::cpu).to(DType::BF16), 0);
        }
      });
    }
}
