#include "engine/ops/adamw/adamw.h"

#include "engine/implementation.h"
#include "engine/ops/adamw/adamw_cpu.h"
#include "engine/ops/adamw/adamw_cuda.h"
#include "engine/ops/adamw/adamw_ref.h"

namespace sink {

Tensor adamw_numbers(double learning_rate, std::int64_t update) {
  return Tensor::from<double>({AdamwNumber::count}, {0, 0, learning_rate, static_cast<double>(update)});
}

void adamw(const AdamwSettings& settings, const Tensor& numbers, const Tensor& dw, Tensor& w, Tensor& m, Tensor& v,
           Tensor& copy) {
  bool fits = w.shape() == dw.shape() && w.shape() == m.shape() && w.shape() == v.shape() && w.dtype() == dw.dtype() &&
              w.dtype() == m.dtype() && w.dtype() == v.dtype() && w.dtype() == accumulate_type(w.dtype());
  SINK_CHECK(fits, "adamw",
             "w, dw, m and v must be alike, f32 or f64: w is " + w.str() + ", dw is " + dw.str() + ", m is " + m.str() +
                 ", v is " + v.str());
  SINK_CHECK(!copy.defined() || (copy.shape() == w.shape() && copy.dtype() == DType::BF16 && w.dtype() == DType::F32),
             "adamw", "expected a copy in bf16 of w, " + w.str() + ", which must be f32, got " + copy.str());
  SINK_CHECK(numbers.size() == AdamwNumber::count && numbers.dtype() == DType::F64, "adamw",
             "expected the numbers of the step as adamw_numbers() makes them, f64 (4), got " + numbers.str());
  SINK_SELECT(w, adamw)(settings, numbers, dw, w, m, v, copy);
  if (copy.defined() && w.device() == Device::cpu) copy.copy_from(w);  // of w as kept: the reference computes in double
}

void adamw(const AdamwSettings& settings, const Tensor& numbers, const Tensor& dw, Tensor& w, Tensor& m, Tensor& v) {
  Tensor no_copy;
  adamw(settings, numbers, dw, w, m, v, no_copy);
}

}  // namespace sink
