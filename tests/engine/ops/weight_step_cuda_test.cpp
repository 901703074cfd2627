// A step of the weights on the CUDA device.
#include <doctest/doctest.h>

#include <cmath>

#include "engine/ops/optimizer/weight_step.h"
#include "tests/support/device_backend.h"

using namespace sink;

TEST_CASE("weight_step on the device: equals the double reference, its copy is w rounded, a bad step changes nothing") {
  for (std::int64_t n : {0, 1, 7, 256, 1003})
    for (bool by_learning_rate : {true, false})
      for (double loss : {1.0, static_cast<double>(NAN)}) {
        CAPTURE(n);
        WeightStepSettings settings{.weight_decay = 0.5, .scale = 3, .by_learning_rate = by_learning_rate};
        Tensors given{random_tensor({n}, DType::F32, 1), random_tensor({n}, DType::F32, 2), make_step_scalars(0.1, 1)};
        check_device_backend("weight_step", given, [&](Tensors& t) {
          loss_of(t[2]).fill(loss);
          Tensor copy = t[1].dtype() == DType::F32 ? t[1].new_zeros({n}, DType::BF16) : Tensor();
          weight_step(settings, t[2], t[0], t[1], copy);
          if (copy.defined() && std::isfinite(loss))
            check_close("copy", copy.to(Device::cpu), t[1].to(Device::cpu).to(DType::BF16), 0);
        });
      }
}
