// What trains: a step of F32 weights. The copy is left to the caller, as by the reference.
#pragma once

#include "engine/ops/weight_step/weight_step.h"

namespace sink::cpu {

void weight_step(const WeightStepSettings& settings, const Tensor& numbers, const Tensor& u, Tensor& w, Tensor& copy);

}  // namespace sink::cpu
