#include "engine/ops/gather/gather.h"

#include "engine/ops/gather/gather_ref.h"
#include "engine/threads.h"

namespace sink {
namespace {

void check(const char* tag, const Tensor& p, const Tensor& index, const Tensor& y) {
  bool fits = index.dtype() == DType::I32 && index.size() == y.size() && p.dtype() == y.dtype() &&
              (p.dtype() == DType::F32 || p.dtype() == DType::F64);
  SINK_CHECK(fits, tag,
             "expected f32 or f64 numbers, an i32 index a place and a result of the numbers' type, got " + p.str() +
                 ", " + index.str() + " and " + y.str());
  const std::int32_t* places = index.data<std::int32_t>();
  for (std::int64_t n = 0; n < index.size(); ++n)
    SINK_CHECK(-1 <= places[n] && places[n] < p.size(), tag,
               "index " + std::to_string(places[n]) + " at place " + std::to_string(n) + " is neither -1 nor in [0, " +
                   std::to_string(p.size()) + ")");
}

template <class F>
void with_master_type(const Tensor& p, F&& f) {
  if (p.dtype() == DType::F32)
    f(float{});
  else
    f(double{});
}

}  // namespace

void gather(const Tensor& p, const Tensor& index, Tensor& y) {
  check("gather", p, index, y);
  with_master_type(p, [&](auto zero) {
    using R = decltype(zero);
    parallel_chunks(y.size(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
      ref::gather(p.data<R>(), index.data<std::int32_t>(), y.data<R>(), begin, end);
    });
  });
}

// On one thread: a table of H T entries takes microseconds, and its order is the order of the sums.
void gather_backward(const Tensor& dy, const Tensor& index, Tensor& dp, bool accumulate) {
  check("gather_backward", dp, index, dy);
  Tensor sums = Tensor::zeros({dp.size()}, DType::F64);
  with_master_type(dp, [&](auto zero) {
    using R = decltype(zero);
    ref::gather_backward(dy.data<R>(), index.data<std::int32_t>(), sums.data<double>(), dy.size());
    for (std::int64_t i = 0; i < dp.size(); ++i) {
      double sum = sums.data<double>()[i];
      dp.data<R>()[i] = static_cast<R>(accumulate ? dp.data<R>()[i] + sum : sum);
    }
  });
}

}  // namespace sink
