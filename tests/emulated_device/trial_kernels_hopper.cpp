// The forward kernels on Hopper of fault_trial.
#include "engine/ops/attention/cuda/attention_hopper_forward_cuda.cuh"
#include "engine/ops/attention/op/attention_ops.h"

namespace sink::cuda {
template decltype(attention_on_hopper<Softmax>) attention_on_hopper<Softmax>;
template decltype(attention_on_hopper<ClippedSoftmax>) attention_on_hopper<ClippedSoftmax>;
}  // namespace sink::cuda
