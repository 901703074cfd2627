// Specs that must not compile, each with a sentence that says why: CTest compiles this file once a case and looks for
// it.
#include "model/ablations.h"
#include "model/layer/attention_layer.h"

namespace sink::ablations {

#ifdef SINK_KEY_WITHOUT_DIVISOR
struct illegal : bias_k {
  using Attention = Sigmoid;
};
#elif defined(SINK_GATE_ON_ADDED_HEADS)
struct illegal : head_add {
  using Gate = HeadGate;
};
#elif defined(SINK_UNLISTED_OPERATION)
struct Unlisted : Softmax {};
struct illegal : baseline {
  using Attention = Unlisted;
};
#else
using illegal = bias_k;  // compiles: the cases above fail for their own reason
#endif

}  // namespace sink::ablations

template class sink::AttentionLayer<sink::ablations::illegal>;
