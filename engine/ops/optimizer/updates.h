// The element-wise updates, one row each: its struct and the tensors that it changes in place. Every backend compiles
// its loop for each row, and tests/engine/ops/update_test.cpp compares the backends.
#pragma once

#include "engine/ops/optimizer/adamw.h"
#include "engine/ops/optimizer/lion.h"
#include "engine/ops/optimizer/momentum.h"
#include "engine/ops/optimizer/weight_step.h"

#define SINK_UPDATES(UPDATE)                     \
  UPDATE(Adamw, Tensor& w, Tensor& m, Tensor& v) \
  UPDATE(Lion, Tensor& w, Tensor& m)             \
  UPDATE(Momentum, Tensor& m)                    \
  UPDATE(WeightStep, Tensor& w)

// In the namespace of a backend: SINK_UPDATES(SINK_COMPILE_UPDATE).
#define SINK_COMPILE_UPDATE(U, ...) \
  template void update_elements<U>(const U::Settings&, const Tensor&, const Tensor&, Tensor&, __VA_ARGS__);
