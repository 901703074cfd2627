// The root-mean-square norm and its gradients.
#include "engine/ops/rms_norm/rms_norm.h"

#include <doctest/doctest.h>

#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/with_reference.h"

using namespace sink;

namespace {

// One norm with its gradients; dx and dgain start out holding numbers, which `accumulate` keeps.
struct Norm {
  Tensor x, gain, dy, y, r, dx, dgain;

  Norm(std::int64_t rows, std::int64_t C, DType dtype, DType y_type)
      : x(random_tensor({rows, C}, dtype, 1, 3)),
        gain(random_tensor({C}, dtype, 2)),
        dy(random_tensor({rows, C}, y_type, 3)),
        y(Tensor::empty({rows, C}, y_type)),
        r(Tensor::empty({rows}, dtype)),
        dx(random_tensor({rows, C}, dtype, 4)),
        dgain(random_tensor({C}, dtype, 5)) {}

  // With numbers of its own.
  Norm copy() const {
    Norm other = *this;
    for (Tensor* t : other.tensors()) *t = t->clone();
    return other;
  }
  Norm in_f64() const {
    Norm other = copy();
    for (Tensor* t : other.tensors()) *t = t->to(DType::F64);
    return other;
  }
  void run(bool accumulate = false) {
    rms_norm(x, gain, y, r);
    backward(accumulate);
  }
  void backward(bool accumulate) { rms_norm_backward(dy, x, gain, r, dx, accumulate, dgain, accumulate); }

 private:
  std::vector<Tensor*> tensors() { return {&x, &gain, &dy, &y, &r, &dx, &dgain}; }
};

}  // namespace

TEST_CASE("rms_norm: a row by hand") {
  // x = (3, 4): mean square 12.5, r = 1 / sqrt(12.5) = 0.2828427 (epsilon moves it by 4e-7 of itself).
  // gain (1, 2): y = (3 r, 8 r). Backward of dy = (1, 0): dx^ = (1, 0), mean(dx^ x) = 1.5, r^2 = 0.08,
  // dx = r (1 - 3 * 0.08 * 1.5, -4 * 0.08 * 1.5) = r (0.64, -0.48), dgain = (3 r, 0).
  Norm n(1, 2, DType::F64, DType::F64);
  n.x = Tensor::from<double>({1, 2}, {3, 4});
  n.gain = Tensor::from<double>({2}, {1, 2});
  n.dy = Tensor::from<double>({1, 2}, {1, 0});
  n.run();
  check_close("r", n.r, Tensor::from<double>({1}, {0.2828427}), 1e-6);
  check_close("y", n.y, Tensor::from<double>({1, 2}, {0.8485281, 2.2627417}), 1e-6);
  check_close("dx", n.dx, Tensor::from<double>({1, 2}, {0.1810193, -0.1357645}), 2e-6);
  check_close("dgain", n.dgain, Tensor::from<double>({2}, {0.8485281, 0}), 1e-6);
}

TEST_CASE("rms_norm: F32 equals F64, bf16 output within its rounding") {
  for (std::int64_t rows : {1, 3, 65, 300})
    for (std::int64_t C : {1, 7, 16, 33, 128})
      for (DType y_type : {DType::F32, DType::BF16})
        for (bool accumulate : {false, true}) {
          Norm n(rows, C, DType::F32, y_type), reference = n.copy(), expected = n.in_f64(), exact = n.in_f64();
          n.run(accumulate);
          in_reference([&] { reference.run(accumulate); });
          expected.run(accumulate);
          check_close("reference y", reference.y, expected.y.to(y_type), 0);
          check_close("reference r", reference.r, expected.r.to(DType::F32), 0);
          exact.r = reference.r.to(DType::F64);  // as it was saved, rounded
          exact.backward(accumulate);
          check_close("reference dx", reference.dx, exact.dx.to(DType::F32), 0);
          check_close("reference dgain", reference.dgain, exact.dgain.to(DType::F32), 0);
          // For C = 1 dx cancels to epsilon's share: dy g r (1 - x^2 r^2), so rounding is measured against dy g r.
          double cancelled = C == 1 ? 1e-5 : 0;
          check_close("y", n.y, expected.y, y_type == DType::F32 ? 1e-5 : 2e-2);
          check_close("r", n.r, expected.r, 1e-5);
          check_close("dx", n.dx, expected.dx, 1e-5, cancelled);
          check_close("dgain", n.dgain, expected.dgain, 1e-5);
        }
}

TEST_CASE("rms_norm: gain 1 gives rows of mean square 1, whatever the scale of x") {
  Norm n(5, 64, DType::F64, DType::F64);
  n.gain.fill(1);
  n.run();
  for (std::int64_t row = 0; row < 5; ++row) {
    double mean_square = 0;
    for (std::int64_t c = 0; c < 64; ++c) mean_square += n.y.item(row * 64 + c) * n.y.item(row * 64 + c) / 64;
    CHECK(mean_square == doctest::Approx(1).epsilon(1e-5));
  }
  Tensor y = n.y.clone();
  for (std::int64_t i = 0; i < n.x.size(); ++i) n.x.data<double>()[i] *= 1000;
  n.run();
  check_close("y of 1000 x", n.y, y, 1e-5);
}

TEST_CASE("rms_norm: dx is orthogonal to x, since length does not matter") {
  Norm n(4, 96, DType::F64, DType::F64);
  for (std::int64_t i = 0; i < n.x.size(); ++i) n.x.data<double>()[i] *= 1000;  // epsilon's share falls to 1e-12
  n.run();
  for (std::int64_t row = 0; row < 4; ++row) {
    double dot = 0, size = 0;
    for (std::int64_t i = row * 96; i < (row + 1) * 96; ++i) {
      dot += n.dx.item(i) * n.x.item(i);
      size += std::abs(n.dx.item(i) * n.x.item(i));
    }
    CHECK(std::abs(dot) < 1e-9 * size);
  }
}

TEST_CASE("rms_norm: a row of zeros stays zero") {
  Norm n(1, 8, DType::F32, DType::F32);
  n.x.fill(0);
  n.run();
  check_close("y", n.y, Tensor::zeros({1, 8}), 0);
  CHECK(n.r.item() == doctest::Approx(1 / std::sqrt(1e-5)));
}

TEST_CASE("rms_norm: the epsilon that is asked for") {
  // x = (3, 4): mean square 12.5, and 3.5 more make 16.
  for (DType dtype : {DType::F32, DType::F64}) {
    Tensor x = Tensor::from<double>({1, 2}, {3, 4}).to(dtype), gain = Tensor::full({2}, 1, dtype);
    Tensor y = Tensor::empty_like(x), r = Tensor::empty({1}, dtype);
    rms_norm(x, gain, y, r, 3.5);
    check_close("r", r, Tensor::from<double>({1}, {0.25}), 0);
    check_close("y", y, Tensor::from<double>({1, 2}, {0.75, 1}), 0);
  }
}

TEST_CASE("rms_norm: shapes and types that do not fit are named") {
  Norm n(3, 8, DType::F32, DType::F32);
  Tensor gain = Tensor::zeros({7});
  check_refused([&] { rms_norm(n.x, gain, n.y, n.r); }, {"[rms_norm]", "f32 (3, 8)", "f32 (7)"});
  Tensor gain_f64 = Tensor::zeros({8}, DType::F64);
  check_refused([&] { rms_norm(n.x, gain_f64, n.y, n.r); }, {"[rms_norm]", "f32 (3, 8)", "f64 (8)"});
  Tensor dx = Tensor::zeros({3, 7});
  check_refused([&] { rms_norm_backward(n.dy, n.x, n.gain, n.r, dx, false, n.dgain, false); },
                {"[rms_norm_backward]", "f32 (3, 7)"});
}
