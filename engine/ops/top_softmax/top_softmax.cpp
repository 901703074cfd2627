#include "engine/ops/top_softmax/top_softmax.h"

#include "engine/implementation.h"
#include "engine/ops/check_like.h"
#include "engine/ops/top_softmax/top_softmax_cpu.h"
#include "engine/ops/top_softmax/top_softmax_cuda.h"
#include "engine/ops/top_softmax/top_softmax_ref.h"

namespace sink {

void top_softmax(const Tensor& x, std::int64_t k, Tensor& p) {
  check_like("top_softmax", "p", p, x);
  SINK_CHECK(x.rank() > 0 && 1 <= k && k <= x.dim(-1), "top_softmax",
             "expected rows of at least k = " + std::to_string(k) + " numbers, k from 1, got x " + x.str());
  if (x.size() == 0) return;
  SINK_SELECT(x, top_softmax)(x, k, p);
}

void top_softmax_backward(const Tensor& dp, const Tensor& p, Tensor& dx) {
  check_like("top_softmax_backward", "dp", dp, p);
  check_like("top_softmax_backward", "dx", dx, p);
  if (p.size() == 0) return;
  SINK_SELECT(p, top_softmax_backward)(dp, p, dx);
}

}  // namespace sink
