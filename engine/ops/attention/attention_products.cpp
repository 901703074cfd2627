// Compiles the parts of the fast kernels that no operation changes.
#include "engine/ops/attention/attention_products.h"

namespace sink::cpu {

SINK_ATTENTION_PRODUCTS(, float)
SINK_ATTENTION_PRODUCTS(, bf16)

}  // namespace sink::cpu
