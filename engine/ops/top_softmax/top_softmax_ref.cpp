// Reference: in double.
#include "engine/ops/top_softmax/top_softmax.h"

#include "engine/implementation.h"
#include "engine/ops/check_like.h"
#include "engine/ops/top_softmax/top_softmax_math.h"

namespace sink::ref {

void top_softmax(const Tensor& x, std::int64_t k, Tensor& p) {
  const std::int64_t E = x.dim(-1);
  for (std::int64_t n = 0; n < x.size(); n += E)
    top_softmax_row<double>(x.data<double>() + n, E, k, p.data<double>() + n);
}

void keep_largest(const Tensor& s, std::int64_t k, Tensor& p) {
  const std::int64_t E = s.dim(-1);
  for (std::int64_t n = 0; n < s.size(); n += E)
    keep_largest_row<double>(s.data<double>() + n, E, k, p.data<double>() + n);
}

void top_softmax_backward(const Tensor& dp, const Tensor& p, const Tensor& s, Tensor& dx) {
  const std::int64_t E = p.dim(-1);
  for (std::int64_t n = 0; n < p.size(); n += E)
    top_softmax_row_backward<double>(dp.data<double>() + n, p.data<double>() + n, s.data<double>() + n, E,
                                     dx.data<double>() + n);
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {
namespace {

void check_choice(const char* op, const Tensor& x, std::int64_t k, const Tensor& p) {
  check_like(op, "p", p, x);
  SINK_CHECK(x.rank() > 0 && 1 <= k && k <= x.dim(-1), op,
             "expected rows of at least k = " + std::to_string(k) + " elements, k from 1, got x " + x.str());
}

}  // namespace

void top_softmax(const Tensor& x, std::int64_t k, Tensor& p) {
  check_choice("top_softmax", x, k, p);
  if (x.size() == 0) return;
  SINK_SELECT(x, top_softmax)(x, k, p);
}

void keep_largest(const Tensor& s, std::int64_t k, Tensor& p) {
  check_choice("keep_largest", s, k, p);
  if (s.size() == 0) return;
  SINK_SELECT(s, keep_largest)(s, k, p);
}

void top_softmax_backward(const Tensor& dp, const Tensor& p, const Tensor& s, Tensor& dx) {
  check_like("top_softmax_backward", "dp", dp, p);
  check_like("top_softmax_backward", "s", s, p);
  check_like("top_softmax_backward", "dx", dx, p);
  if (p.size() == 0) return;
  SINK_SELECT(p, top_softmax_backward)(dp, p, s, dx);
}

}  // namespace sink
