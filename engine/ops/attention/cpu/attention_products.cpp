// Instantiates what does not depend on the operation.
#include "engine/ops/attention/cpu/attention_products.h"

namespace sink::cpu {

template class Panel<float>;
template class Panel<bf16>;
SINK_ATTENTION_PRODUCTS(, float)
SINK_ATTENTION_PRODUCTS(, bf16)

}  // namespace sink::cpu
