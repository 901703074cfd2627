#include "engine/ops/top_softmax/top_softmax_ref.h"

#include "engine/ops/top_softmax/top_softmax_math.h"

namespace sink::ref {

void top_softmax(const Tensor& x, std::int64_t k, Tensor& p) {
  const std::int64_t E = x.dim(-1);
  for (std::int64_t n = 0; n < x.size(); n += E)
    top_softmax_row<double>(x.data<double>() + n, E, k, p.data<double>() + n);
}

void top_softmax_backward(const Tensor& dp, const Tensor& p, Tensor& dx) {
  const std::int64_t E = p.dim(-1);
  for (std::int64_t n = 0; n < p.size(); n += E)
    top_softmax_row_backward<double>(dp.data<double>() + n, p.data<double>() + n, E, dx.data<double>() + n);
}

}  // namespace sink::ref
