// What the updates of weights share (adamw, lion, momentum, weight_step): the scalars of a step, and the BF16 copy of
// the weights. All that differs from step to step is read from a tensor on the weights' device, so an update can be
// launched before the host knows the loss. Nothing changes if the loss or the norm of the gradients is NaN or infinite.
#pragma once

#include "engine/tensor.h"

namespace sink {

// The scalars of a training step, in the order in which they are in a tensor F64 (4), on the host or on a device.
struct StepScalars {
  double loss;          // the mean over the targets of the step; the step adds to it
  double squared_norm;  // of all gradients; the step adds to it
  double learning_rate;
  double update;  // 1 at the first update of the weights
};

// The tensor at the beginning of a step: loss and squared norm are 0.
Tensor make_step_scalars(double learning_rate, std::int64_t update);
// The scalars of a tensor in host memory.
const StepScalars& host_step_scalars(const Tensor& step_scalars);
// Views of one element, to add to or to fill.
Tensor loss_of(const Tensor& step_scalars);
Tensor squared_norm_of(const Tensor& step_scalars);

// Throws Error unless `step_scalars` is such a tensor and all of `alike` have one shape and type, F32 or F64. They are
// named in order by `names`, as in "w, dw and m".
void check_update(const char* op, const Tensor& step_scalars, const char* names,
                  std::initializer_list<const Tensor*> alike);
// Throws Error unless `copy` is undefined or can be w rounded to BF16.
void check_copy(const char* op, const Tensor& w, const Tensor& copy);
// The copy, where there is one, after an update of the CPU: of w as it is kept, for the reference computes in double.
// On a device the kernel that writes w has written it.
void refresh_copy(const Tensor& w, Tensor& copy);

}  // namespace sink
