// Compiles the parts of the fast kernels that no operation changes.
#include "engine/ops/attention/cpu/attention_products.h"

namespace sink::cpu {

template class Pack<float>;
template class Pack<bf16>;
SINK_ATTENTION_PRODUCTS(, float)
SINK_ATTENTION_PRODUCTS(, bf16)

}  // namespace sink::cpu
