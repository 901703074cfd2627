// The forward kernels of fault_trial. Each trial_kernels_*.cpp is compiled alone, so that a planted fault compiles one.
#include "engine/ops/attention/cuda/attention_forward_cuda.cuh"
#include "engine/ops/attention/op/attention_ops.h"

namespace sink::cuda {
template decltype(attention<Softmax>) attention<Softmax>;
template decltype(attention<ClippedSoftmax>) attention<ClippedSoftmax>;
}  // namespace sink::cuda
