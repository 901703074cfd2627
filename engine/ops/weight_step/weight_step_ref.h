// A step of the weights in double.
#pragma once

#include "engine/ops/weight_step/weight_step.h"

namespace sink::ref {

void weight_step(const WeightStepSettings& settings, const Tensor& numbers, const Tensor& u, Tensor& w, Tensor& copy);

}  // namespace sink::ref
