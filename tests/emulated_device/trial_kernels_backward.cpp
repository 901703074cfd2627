// The backward kernels of fault_trial.
#include "engine/ops/attention/cuda/attention_backward_cuda.cuh"
#include "engine/ops/attention/op/attention_ops.h"

namespace sink::cuda {
template decltype(attention_backward<Softmax>) attention_backward<Softmax>;
template decltype(attention_backward<ClippedSoftmax>) attention_backward<ClippedSoftmax>;
}  // namespace sink::cuda
