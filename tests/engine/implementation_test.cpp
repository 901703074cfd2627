// Which of an operation's backends runs, and what the reference gets and gives back.
#include "engine/implementation.h"

#include <doctest/doctest.h>

#include "tests/support/compare.h"
#include "tests/support/with_reference.h"

namespace sink {
namespace {

enum class Ran { nothing, ref, cpu, cuda };
Ran ran = Ran::nothing;
DType seen = DType::I32;

}  // namespace

// y += factor x, with a backend that says that it ran.
namespace ref {
static double add_scaled(const Tensor& x, const Tensor& index, double factor, Tensor& y) {
  ran = Ran::ref;
  seen = y.dtype();
  CHECK(index.dtype() == DType::I32);
  for (std::int64_t i = 0; i < x.size(); ++i) y.data<double>()[i] += factor * x.data<double>()[i];
  return factor;
}
}  // namespace ref
namespace cpu {
static double add_scaled(const Tensor& x, const Tensor&, double factor, Tensor& y) {
  ran = Ran::cpu;
  seen = y.dtype();
  with_real<float, bf16>(x.dtype(), [&](auto zero) {
    using X = decltype(zero);
    for (std::int64_t i = 0; i < x.size(); ++i)
      store(y.data<X>()[i], y.data<X>()[i] + static_cast<float>(factor) * x.data<X>()[i]);
  });
  return factor;
}
}  // namespace cpu

#ifdef SINK_CUDA
namespace cuda {
static double add_scaled(const Tensor& x, const Tensor&, double factor, Tensor& y) {
  ran = Ran::cuda;
  seen = x.dtype();
  y.fill(6);
  return factor;
}
}  // namespace cuda
#endif

static double add_scaled(const Tensor& x, const Tensor& index, double factor, Tensor& y) {
  return SINK_SELECT(x, add_scaled)(x, index, factor, y);
}

TEST_CASE("implementation: F64 runs the reference, F32 and BF16 only when the switch is on") {
  const Tensor index = Tensor::from<std::int32_t>({1}, {0});
  for (bool on : {false, true})
    for (DType dtype : {DType::F32, DType::BF16, DType::F64}) {
      CAPTURE(on);
      CAPTURE(name_of(dtype));
      use_reference() = on;
      Tensor x = Tensor::full({3}, 2, dtype), y = Tensor::full({3}, 5, dtype);
      CHECK(add_scaled(x, index, 0.5, y) == 0.5);
      use_reference() = false;
      bool reference = on || dtype == DType::F64;
      CHECK(ran == (reference ? Ran::ref : Ran::cpu));
      CHECK(seen == (reference ? DType::F64 : dtype));
      CHECK(y.dtype() == dtype);
      for (std::int64_t i = 0; i < 3; ++i) CHECK(y.item(i) == 6);  // with what was there before
    }
}

#ifdef SINK_CUDA
TEST_CASE("implementation: what is on the device runs there, whatever the switch says") {
  for (bool on : {false, true}) {
    use_reference() = on;
    Tensor x = Tensor::full({3}, 2, DType::F32, Device::cuda), y = Tensor::empty_like(x);
    CHECK(add_scaled(x, Tensor::from<std::int32_t>({1}, {0}), 0.5, y) == 0.5);
    use_reference() = false;
    CHECK(ran == Ran::cuda);
    CHECK(y.item(2) == 6);
  }
}
#endif

TEST_CASE("implementation: the reference rounds its result once") {
  const Tensor index = Tensor::from<std::int32_t>({1}, {0});
  // 1 + 2^-8 is the tie between 1 and the next bf16; 2^-30 more decides, and would be lost on the way by way of a
  // float.
  Tensor x = Tensor::full({1}, 1, DType::BF16), y = Tensor::full({1}, 1, DType::BF16);
  WithReference on;
  add_scaled(x, index, 0x1p-8 + 0x1p-30, y);
  CHECK(y.item() == 1 + 0x1p-7);
}

TEST_CASE("implementation: an argument that is also the result") {
  const Tensor index = Tensor::from<std::int32_t>({1}, {0});
  WithReference on;
  for (DType dtype : {DType::F32, DType::F64}) {
    Tensor y = Tensor::full({2}, 3, dtype);
    add_scaled(y, index, 2, y);
    CHECK(y.item() == 9);
  }
}

TEST_CASE("implementation: sums and master values are F32, but for F64") {
  CHECK(accumulate_type(DType::F32) == DType::F32);
  CHECK(accumulate_type(DType::BF16) == DType::F32);
  CHECK(accumulate_type(DType::F64) == DType::F64);
}

}  // namespace sink
