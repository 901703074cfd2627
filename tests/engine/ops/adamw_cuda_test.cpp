// The AdamW update on the CUDA device.
#include <doctest/doctest.h>

#include <limits>

#include "engine/ops/optimizer/adamw.h"
#include "tests/support/device_backend.h"

using namespace sink;

namespace {

constexpr AdamwSettings kSettings{.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1, .clip = 2};

// Two gradients by turns, w, m, v and the numbers of the step, which are changed where they are, as a training step
// does it. Slices that begin at `first` of their tensors. Beside F32 there is a copy in BF16, which the CPU checks.
void check_adamw(std::int64_t n, std::int64_t first, double squared_norm) {
  auto random = [&](std::uint64_t seed) { return random_tensor({n + first}, DType::F32, seed); };
  Tensors given{random(1),
                random(2),
                random(3),
                Tensor::zeros({n + first}),
                Tensor::zeros({n + first}),
                make_step_scalars(0.1, 1)};
  check_device_backend("adamw", given, [&](Tensors& t) {
    Tensor& step_scalars = t[5];
    squared_norm_of(step_scalars).fill(squared_norm);
    for (std::int64_t update = 1; update <= 4; ++update) {
      step_scalars.rows(3, 4).fill(static_cast<double>(update));
      auto slice = [&](std::size_t which) { return t[which].slice(first, {n}); };
      Tensor dw = slice(static_cast<std::size_t>(update % 2)), w = slice(2), m = slice(3), v = slice(4);
      if (w.dtype() == DType::F64) {
        adamw(kSettings, step_scalars, dw, w, m, v);
        continue;
      }
      Tensor copy = w.new_zeros({n + first}, DType::BF16).slice(first, {n});
      adamw(kSettings, step_scalars, dw, w, m, v, copy);
      check_close("copy", copy.to(Device::cpu), w.to(Device::cpu).to(DType::BF16), 0);
    }
  });
}

}  // namespace

TEST_CASE("adamw on the device: equals the double reference over several steps, with and without clipping") {
  for (std::int64_t n : {0, 1, 7, 65, 256, 1003, 1100})
    for (std::int64_t first : {0, 1, 8})
      for (double squared_norm : {1.0, 4.0, 64.0}) {
        CAPTURE(n);
        CAPTURE(first);
        CAPTURE(squared_norm);
        check_adamw(n, first, squared_norm);
      }
}

TEST_CASE("adamw on the device: a loss or a norm that is NaN or infinite leaves every bit as it is") {
  double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (std::int64_t n : {7, 256})
    for (auto [squared_norm, loss] : std::vector<std::pair<double, double>>{{nan, 1}, {inf, 1}, {1, nan}, {1, -inf}}) {
      Tensors before{random_tensor({n}, DType::F32, 1), random_tensor({n}, DType::F32, 2),
                     random_tensor({n}, DType::F32, 3), random_tensor({n}, DType::BF16, 4)};
      Tensor step_scalars = make_step_scalars(0.1, 3).to(Device::cuda),
             dw = Tensor::full({n}, nan, DType::F32, Device::cuda);
      loss_of(step_scalars).fill(loss);
      squared_norm_of(step_scalars).fill(squared_norm);
      Tensors after;
      for (const Tensor& x : before) after.push_back(x.to(Device::cuda));
      adamw(kSettings, step_scalars, dw, after[0], after[1], after[2], after[3]);
      for (std::size_t i = 0; i < 4; ++i) check_close("kept", after[i].to(Device::cpu), before[i], 0);
    }
}
