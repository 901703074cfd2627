#include "engine/ops/optimizer/update.h"

#include "engine/implementation.h"

namespace sink {

Tensor update_numbers(double learning_rate, std::int64_t update) {
  return Tensor::from<double>({UpdateNumber::count}, {0, 0, learning_rate, static_cast<double>(update)});
}

void check_update(const char* op, const Tensor& numbers, const char* names,
                  std::initializer_list<const Tensor*> alike) {
  const Tensor& first = **alike.begin();
  bool fits = first.dtype() == accumulate_type(first.dtype()) && first.dtype() != DType::I32;
  std::string came;
  for (const Tensor* x : alike) {
    fits = fits && x->shape() == first.shape() && x->dtype() == first.dtype();
    came += (came.empty() ? "" : ", ") + x->str();
  }
  SINK_CHECK(fits, op, std::string(names) + " must be alike, f32 or f64: they are " + came);
  SINK_CHECK(numbers.size() == UpdateNumber::count && numbers.dtype() == DType::F64, op,
             "expected the numbers of the step as update_numbers() makes them, f64 (4), got " + numbers.str());
}

void check_copy(const char* op, const Tensor& w, const Tensor& copy) {
  SINK_CHECK(!copy.defined() || (copy.shape() == w.shape() && copy.dtype() == DType::BF16 && w.dtype() == DType::F32),
             op, "expected a copy in bf16 of w, " + w.str() + ", which must be f32, got " + copy.str());
}

void refresh_copy(const Tensor& w, Tensor& copy) {
  if (copy.defined() && w.device() == Device::cpu) copy.copy_from(w);
}

}  // namespace sink
