// On the CUDA device: a step of F32 weights.
#pragma once

#include "engine/ops/weight_step/weight_step.h"

namespace sink::cuda {

void weight_step(const WeightStepSettings& settings, const Tensor& numbers, const Tensor& u, Tensor& w, Tensor& copy);

}  // namespace sink::cuda
