// What trains: AdamW on F32. The copy is left to the caller, as by the reference.
#pragma once

#include "engine/ops/adamw/adamw.h"

namespace sink::cpu {

void adamw(const AdamwSettings& settings, const Tensor& numbers, const Tensor& dw, Tensor& w, Tensor& m, Tensor& v,
           Tensor& copy);

}  // namespace sink::cpu
