// What trains: AdamW on F32.
#pragma once

#include "engine/ops/adamw/adamw.h"

namespace sink::cpu {

void adamw(const AdamwSettings& settings, const Tensor& numbers, const Tensor& dw, Tensor& w, Tensor& m, Tensor& v);

}  // namespace sink::cpu
