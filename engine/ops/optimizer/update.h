// Element-wise updates of weights and of an optimizer's state: one loop for all of them, and the scalars of a step. All
// that differs from step to step is read from a tensor on the weights' device, so an update can be launched before the
// host knows the loss. Nothing changes if the loss or the norm of the gradients is NaN or infinite.
#pragma once

#include "engine/ops/backends.h"
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

// U is the struct of an update: lion.h has an example, updates.h the list. Changes the tensors x element by element
// from `input`, a gradient or a direction. `out` may be undefined; it receives the first of x rounded to BF16 or, if
// not U::writes_copy, what U returns.
template <class U, class... X>
void update_elements(const typename U::Settings& settings, const Tensor& step_scalars, const Tensor& input, Tensor& out,
                     X&... x);
SINK_DECLARE_BACKENDS(template <class U, class... X> void update_elements(const typename U::Settings& settings,
                                                                          const Tensor& step_scalars,
                                                                          const Tensor& input, Tensor& out, X&... x))

// Throws Error unless `step_scalars` is such a tensor and all of `alike` have one shape and type, F32 or F64. They are
// named in order by `names`, as in "w, dw and m".
void check_update(const char* op, const Tensor& step_scalars, const char* names,
                  std::initializer_list<const Tensor*> alike);
// Throws Error unless `copy` is undefined or can be w rounded to BF16.
void check_copy(const char* op, const Tensor& w, const Tensor& copy);

}  // namespace sink
