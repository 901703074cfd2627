// CUDA backend: the Newton-Schulz iteration in F32.
#include "engine/ops/optimizer/orthogonalize.h"

#include <cmath>

#include "engine/cuda/elements.cuh"
#include "engine/ops/optimizer/newton_schulz.h"
#include "engine/ops/reductions/sum_of_squares.h"

namespace sink::cuda {

void orthogonalize(const Tensor& x_MN, Tensor& y_MN) {
  Tensor squares = Tensor::empty({1}, DType::F64, Device::cuda);
  sink::sum_of_squares(x_MN, {{0, x_MN.size()}}, squares);
  const double* sum = squares.device_data<double>();
  const float* x_i = x_MN.device_data<float>();
  float* y_i = y_MN.device_data<float>();
  for_each_element(y_MN.size(), [=] __device__(std::int64_t i) {
    y_i[i] = x_i[i] / (std::sqrt(static_cast<float>(*sum)) + static_cast<float>(NewtonSchulz::epsilon));
  });
  newton_schulz(y_MN, [](double a, const Tensor& from, double b, Tensor& to) {
    auto a_f = static_cast<float>(a), b_f = static_cast<float>(b);
    const float* from_i = from.device_data<float>();
    float* to_i = to.device_data<float>();
    for_each_element(to.size(), [=] __device__(std::int64_t i) { to_i[i] = a_f * from_i[i] + b_f * to_i[i]; });
  });
}

}  // namespace sink::cuda
