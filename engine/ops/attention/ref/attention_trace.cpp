#include "engine/ops/attention/ref/attention_trace.h"

#include <cmath>

namespace sink {

std::size_t AttentionTrace::strongest() const {
  std::size_t best = 0;
  for (std::size_t n = 1; n < keys.size(); ++n)
    if (std::abs(keys[n].a) > std::abs(keys[best].a)) best = n;
  return best;
}

}  // namespace sink
