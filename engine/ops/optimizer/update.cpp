#include "engine/ops/optimizer/update.h"

#include <cstddef>

#include "engine/implementation.h"

namespace sink {

namespace {

constexpr std::int64_t kScalars = sizeof(StepScalars) / sizeof(double);
static_assert(kScalars == 4 && offsetof(StepScalars, squared_norm) == sizeof(double));

}  // namespace

Tensor make_step_scalars(double learning_rate, std::int64_t update) {
  return Tensor::from<double>({kScalars}, {0, 0, learning_rate, static_cast<double>(update)});
}

const StepScalars& host_step_scalars(const Tensor& step_scalars) {
  return *reinterpret_cast<const StepScalars*>(step_scalars.data<double>());
}

Tensor loss_of(const Tensor& step_scalars) { return step_scalars.rows(0, 1); }

Tensor squared_norm_of(const Tensor& step_scalars) { return step_scalars.rows(1, 2); }

void check_update(const char* op, const Tensor& step_scalars, const char* names,
                  std::initializer_list<const Tensor*> alike) {
  const Tensor& first = **alike.begin();
  bool fits = first.dtype() == accumulate_type(first.dtype()) && first.dtype() != DType::I32;
  std::string came;
  for (const Tensor* x : alike) {
    fits = fits && x->shape() == first.shape() && x->dtype() == first.dtype();
    came += (came.empty() ? "" : ", ") + x->str();
  }
  SINK_CHECK(fits, op, std::string(names) + " must be alike, f32 or f64: they are " + came);
  SINK_CHECK(step_scalars.size() == kScalars && step_scalars.dtype() == DType::F64, op,
             "expected the scalars of a step as make_step_scalars() makes them, f64 (4), got " + step_scalars.str());
}

void check_copy(const char* op, const Tensor& w, const Tensor& copy) {
  SINK_CHECK(!copy.defined() || (copy.shape() == w.shape() && copy.dtype() == DType::BF16 && w.dtype() == DType::F32),
             op, "expected a copy in bf16 of w, " + w.str() + ", which must be f32, got " + copy.str());
}

}  // namespace sink
