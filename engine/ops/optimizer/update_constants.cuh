// The constants of an update on the device: folded there, of scalars that the host has not read.
#pragma once

#include "engine/cuda/elements.cuh"
#include "engine/ops/optimizer/update.h"

namespace sink::cuda {

// One thread, in double as on the host. Constants(settings, step) holds floats and a bool.
template <class Constants, class Settings>
Tensor folded(const Settings& settings, const Tensor& step_scalars) {
  Tensor constants = Tensor::empty({sizeof(Constants) / sizeof(float)}, DType::F32, Device::cuda);
  const auto* step = reinterpret_cast<const StepScalars*>(step_scalars.device_data<double>());
  auto* out = reinterpret_cast<Constants*>(constants.device_data<float>());
  for_each_element(1, [=] __device__(std::int64_t) { *out = Constants(settings, *step); });
  return constants;
}

inline bf16* copy_of(Tensor& copy) { return copy.defined() ? copy.device_data<bf16>() : nullptr; }

}  // namespace sink::cuda
