// Reference: element-wise updates in double.
#include "engine/implementation.h"
#include "engine/ops/optimizer/updates.h"

namespace sink::ref {

template <class U, class... X>
void update_elements(const typename U::Settings& settings, const Tensor& step_scalars, const Tensor& input, Tensor& out,
                     X&... x) {
  const StepScalars& step = host_step_scalars(step_scalars);
  if (skips_update(step)) return;
  double scale = 1;
  if constexpr (HasClip<typename U::Settings>) scale = gradient_scale(settings.clip, step);
  const double* input_i = input.data<double>();
  for (std::int64_t i = 0; i < input.size(); ++i) {
    if constexpr (U::writes_copy) {
      U::reference(i, settings, step, scale * input_i[i], x.template data<double>()[i]...);
    } else {
      double y = U::reference(i, settings, step, scale * input_i[i], x.template data<double>()[i]...);
      if (out.defined()) out.data<double>()[i] = y;
    }
  }
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {
namespace {

template <class First, class... Others>
First& first_of(First& first, Others&...) {
  return first;
}

}  // namespace

template <class U, class... X>
void update_elements(const typename U::Settings& settings, const Tensor& step_scalars, const Tensor& input, Tensor& out,
                     X&... x) {
  Tensor& first = first_of(x...);
  if constexpr (U::writes_copy) {
    check_update(U::name, step_scalars, U::tensors, {&input, &x...});
    check_copy(U::name, first, out);
  } else {
    check_update(U::name, step_scalars, U::tensors, {&input, &x..., out.defined() ? &out : &first});
  }
  SINK_SELECT(first, update_elements<U, X...>)(settings, step_scalars, input, out, x...);
  // Of w as it is kept, for the reference computes in double. On a device the kernel that writes w has written the
  // copy.
  if (U::writes_copy && out.defined() && first.device() == Device::cpu) out.copy_from(first);
}

SINK_UPDATES(SINK_COMPILE_UPDATE)

}  // namespace sink
