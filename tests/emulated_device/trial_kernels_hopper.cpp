// The Hopper kernels of fault_trial.
#include "engine/ops/attention/cuda/attention_hopper_backward_cuda.cuh"
#include "engine/ops/attention/cuda/attention_hopper_forward_cuda.cuh"

namespace sink::cuda {
SINK_HOPPER_KERNEL_TEMPLATES(Softmax)
SINK_HOPPER_KERNEL_TEMPLATES(ClippedSoftmax)
}  // namespace sink::cuda
