#include "engine/ops/adamw/adamw.h"

#include <cmath>

#include "engine/ops/adamw/adamw_ref.h"
#include "engine/threads.h"

namespace sink {

void adamw(const AdamwStep& s, const Tensor& dw, Tensor& w, Tensor& m, Tensor& v) {
  bool fits = w.shape() == dw.shape() && w.shape() == m.shape() && w.shape() == v.shape() && w.dtype() == dw.dtype() &&
              w.dtype() == m.dtype() && w.dtype() == v.dtype() && (w.dtype() == DType::F32 || w.dtype() == DType::F64);
  SINK_CHECK(fits, "adamw",
             "w, dw, m and v must be alike, f32 or f64: w is " + w.str() + ", dw is " + dw.str() + ", m is " + m.str() +
                 ", v is " + v.str());
  auto update = [&](auto zero) {
    using R = decltype(zero);
    double step = static_cast<double>(s.step);
    ref::AdamwConstants<R> constants{
        static_cast<R>(s.gradient_scale),
        static_cast<R>(s.beta1),
        static_cast<R>(s.beta2),
        static_cast<R>(1 - s.beta1),
        static_cast<R>(1 - s.beta2),
        static_cast<R>(1 - s.learning_rate * s.weight_decay),
        static_cast<R>(s.learning_rate / (1 - std::pow(s.beta1, step))),
        static_cast<R>(1 / std::sqrt(1 - std::pow(s.beta2, step))),
        static_cast<R>(s.epsilon),
    };
    parallel_chunks(w.size(), 1 << 13, [&](std::int64_t begin, std::int64_t end) {
      ref::adamw(constants, dw.data<R>(), w.data<R>(), m.data<R>(), v.data<R>(), begin, end);
    });
  };
  if (w.dtype() == DType::F32)
    update(float{});
  else
    update(double{});
}

}  // namespace sink
