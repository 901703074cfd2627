// The constants of an update on the device: folded there, of numbers that the host has not read.
#pragma once

#include "engine/cuda/elements.cuh"

namespace sink::cuda {

// One thread, in double as on the host. Constants(settings, numbers) holds floats and a bool.
template <class Constants, class Settings>
Tensor folded(const Settings& settings, const Tensor& numbers) {
  Tensor constants = Tensor::empty({sizeof(Constants) / sizeof(float)}, DType::F32, Device::cuda);
  const double* of_step = numbers.device_data<double>();
  auto* out = reinterpret_cast<Constants*>(constants.device_data<float>());
  for_each_element(1, [=] __device__(std::int64_t) { *out = Constants(settings, of_step); });
  return constants;
}

inline bf16* copy_of(Tensor& copy) { return copy.defined() ? copy.device_data<bf16>() : nullptr; }

}  // namespace sink::cuda
