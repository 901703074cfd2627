// AdamW in double.
#pragma once

#include "engine/ops/adamw/adamw.h"

namespace sink::ref {

void adamw(const AdamwSettings& settings, const Tensor& numbers, const Tensor& dw, Tensor& w, Tensor& m, Tensor& v,
           Tensor& copy);

}  // namespace sink::ref
