// What the updates of weights share (adamw, lion, momentum, weight_step): the numbers of a step, and the BF16 copy of
// the weights. All that differs from step to step is read from a tensor beside the weights, so an update can be
// launched on a device before the host knows the loss. Nothing changes where the loss or the norm of the gradients is
// NaN or infinite.
#pragma once

#include "engine/tensor.h"

namespace sink {

// What stands where in the numbers of a step, F64 (4); `update` is 1 at the first update.
struct UpdateNumber {
  static constexpr std::int64_t loss = 0, squared_norm = 1, learning_rate = 2, update = 3, count = 4;
};
// Those that are known before a step; loss and squared norm are 0 and are to be added to.
Tensor update_numbers(double learning_rate, std::int64_t update);

// Throws Error unless `numbers` are those of a step and all of `alike` have one shape and type, F32 or F64. They are
// named in order by `names`, as in "w, dw and m".
void check_update(const char* op, const Tensor& numbers, const char* names, std::initializer_list<const Tensor*> alike);
// Throws Error unless `copy` is undefined or can be w rounded to BF16.
void check_copy(const char* op, const Tensor& w, const Tensor& copy);
// The copy, where there is one, after an update of the CPU: of w as it is kept, for the reference computes in double.
// On a device the kernel that writes w has written it.
void refresh_copy(const Tensor& w, Tensor& copy);

}  // namespace sink
