// Reference: gathering in double.
#include "engine/ops/gather/gather.h"

#include "engine/implementation.h"

namespace sink::ref {

void gather(const Tensor& p, const Tensor& index, Tensor& y) {
  const double* p_i = p.data<double>();
  const std::int32_t* index_n = index.data<std::int32_t>();
  double* y_n = y.data<double>();
  for (std::int64_t n = 0; n < y.size(); ++n) y_n[n] = index_n[n] < 0 ? 0 : p_i[index_n[n]];
}

// Forward was: y_n = p_{index(n)}, or 0.
void gather_backward(const Tensor& dy, const Tensor& index, Tensor& dp, bool accumulate) {
  const double* dy_n = dy.data<double>();
  const std::int32_t* index_n = index.data<std::int32_t>();
  double* dp_i = dp.data<double>();
  if (!accumulate) dp.fill(0);
  for (std::int64_t n = 0; n < dy.size(); ++n)
    if (index_n[n] >= 0) dp_i[index_n[n]] += dy_n[n];
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {
namespace {

void check_gather(const char* tag, const Tensor& p, const Tensor& index, const Tensor& y) {
  bool fits = index.dtype() == DType::I32 && index.size() == y.size() && p.dtype() == y.dtype() &&
              p.dtype() == accumulate_type(p.dtype());
  SINK_CHECK(fits, tag,
             "expected f32 or f64 elements, one i32 index per position and a result of the elements' type, got " +
                 p.str() + ", " + index.str() + " and " + y.str());
  if (index.device() != Device::cpu) return;  // made and checked on the CPU; here the host cannot look
  const std::int32_t* places = index.data<std::int32_t>();
  for (std::int64_t n = 0; n < index.size(); ++n)
    SINK_CHECK(-1 <= places[n] && places[n] < p.size(), tag,
               "index " + std::to_string(places[n]) + " at place " + std::to_string(n) + " is neither -1 nor in [0, " +
                   std::to_string(p.size()) + ")");
}

}  // namespace

void gather(const Tensor& p, const Tensor& index, Tensor& y) {
  check_gather("gather", p, index, y);
  SINK_SELECT(p, gather)(p, index, y);
}

void gather_backward(const Tensor& dy, const Tensor& index, Tensor& dp, bool accumulate) {
  check_gather("gather_backward", dp, index, dy);
  SINK_SELECT(dp, gather_backward)(dy, index, dp, accumulate);
}

}  // namespace sink
