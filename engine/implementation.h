// Selects the backend of an operation. sink::op of engine/ops checks its arguments and selects one of the backends that
// engine/ops/backends.h declares: ref::op computes in double in plain loops, cpu::op is what trains (F32 and BF16, all
// threads), and cuda::op runs on a GPU or the emulated one, in builds that have it.
#pragma once

#include <type_traits>

#include "engine/tensor.h"

namespace sink {

// The switch `--reference`. Set it before work starts; while it is true no operation runs its cpu:: backend.
inline bool& use_reference() {
  static bool on = false;
  return on;
}

// The type of sums, of per-row statistics, of master weights and their gradients, for elements of type `dtype`.
constexpr DType accumulate_type(DType dtype) { return dtype == DType::F64 ? DType::F64 : DType::F32; }

// Whether an operation on x, a tensor of the CPU, runs its ref:: backend: always for F64, which has no other, else by
// the switch.
inline bool runs_reference(const Tensor& x) { return x.dtype() == DType::F64 || use_reference(); }

// Converts an argument of an operation for its ref:: backend: scalars and settings are unchanged, F32 and BF16 tensors
// are copied to F64, and outputs are rounded back once after the call. A struct that holds tensors needs a
// specialisation with the same three members.
template <class T>
struct UpcastF64 {
  std::add_const_t<T>& given;
  explicit UpcastF64(std::add_const_t<T>& given) : given(given) {}
  std::add_const_t<T>& argument() const { return given; }
  void round_back() {}
};

template <>
struct UpcastF64<const Tensor> {
  Tensor wide;
  explicit UpcastF64(const Tensor& given)
      : wide(given.defined() && given.dtype() != DType::I32 ? given.to(DType::F64) : given) {}
  const Tensor& argument() const { return wide; }
  void round_back() {}
};

template <>
struct UpcastF64<Tensor> {
  Tensor &given, wide;  // with its contents: the operation may add to them
  explicit UpcastF64(Tensor& given) : given(given), wide(UpcastF64<const Tensor>(given).wide) {}
  Tensor& argument() { return wide; }
  void round_back() {
    if (wide.dtype() != given.dtype()) given.copy_from(wide);
  }
};

// One of the implementations, to be called like any of them.
template <class Result, class... Parameters>
class Selected {
 public:
  using Function = Result (*)(Parameters...);
  // Without `fast` it is the reference.
  Selected(Function ref, Function fast) : ref_(ref), fast_(fast) {}

  Result operator()(Parameters... given) const {
    if (fast_) return fast_(given...);
    return of_reference(widened<Parameters>(given)...);
  }

 private:
  // A function, as nvcc loses the dots of UpcastF64<...>(given)... where it is written out.
  template <class P>
  static UpcastF64<std::remove_reference_t<P>> widened(std::remove_reference_t<P>& given) {
    return UpcastF64<std::remove_reference_t<P>>(given);
  }

  // No std::apply here, nor a closure: a debugger shows this as one frame between the operation and its reference.
  Result of_reference(UpcastF64<std::remove_reference_t<Parameters>>... widened) const {
    if constexpr (std::is_void_v<Result>) {
      ref_(widened.argument()...);
      (widened.round_back(), ...);
    } else {
      Result result = ref_(widened.argument()...);
      (widened.round_back(), ...);
      return result;
    }
  }

  Function ref_, fast_;
};

template <class Result, class... Parameters>
Selected<Result, Parameters...> select(const Tensor& x, Result (*ref)(Parameters...), Result (*cpu)(Parameters...),
                                       Result (*cuda)(Parameters...)) {
  if (x.device() == Device::cuda) return {ref, cuda};
  return {ref, runs_reference(x) ? nullptr : cpu};
}

}  // namespace sink

// The implementation of an operation for the tensor x, from within namespace sink:
//   SINK_SELECT(x, rms_norm)(x, gain_C, y, r);
#ifdef SINK_CUDA
#define SINK_SELECT(x, ...) ::sink::select(x, &ref::__VA_ARGS__, &cpu::__VA_ARGS__, &cuda::__VA_ARGS__)
#else  // where no tensor is on the device
#define SINK_SELECT(x, ...) ::sink::select(x, &ref::__VA_ARGS__, &cpu::__VA_ARGS__, decltype(&cpu::__VA_ARGS__){})
#endif
