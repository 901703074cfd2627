#include "engine/ops/attention/cpu/attention_partial_gradients.h"

namespace sink::cpu {

template struct PartialGradients<float>;
template struct PartialGradients<bf16>;

}  // namespace sink::cpu
