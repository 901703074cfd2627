// The root-mean-square norm and its gradients.
#include "engine/ops/rms_norm/rms_norm.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "autograd/ops/add_node.h"
#include "autograd/ops/rms_norm_node.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/gradients.h"
#include "tests/support/with_reference.h"

using namespace sink;

namespace {

// One norm with its gradients. dx and dgain start with values, which `accumulate` keeps.
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

  // Copies the data, too.
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

TEST_CASE("rms_norm: every backend equals the double reference") {
  for (std::int64_t rows : {1, 3, 21})
    for (std::int64_t C : {7, 33, 128, 264})
      for (DType y_type : {DType::F32, DType::BF16})
        for (bool accumulate : {false, true}) {
          CAPTURE(rows);
          CAPTURE(C);
          CAPTURE(accumulate);
          Tensors given{random_tensor({rows, C}, DType::F32, 1, 3), random_tensor({C}, DType::F32, 2),
                        random_tensor({rows, C}, y_type, 3),        random_tensor({rows, C}, y_type, 4),
                        random_tensor({rows}, DType::F32, 5),       random_tensor({rows, C}, DType::F32, 6),
                        random_tensor({C}, DType::F32, 7)};
          check_backends("rms_norm", given, [&](Tensors& t) {
            rms_norm(t[0], t[1], t[2], t[4]);
            rms_norm_backward(t[3], t[0], t[1], t[4], t[5], accumulate, t[6], accumulate);
          });
          if (rows != 3 || C != 264) continue;
          check_unaligned_backends("rms_norm", given, [&](Tensors& t) {
            rms_norm(t[0], t[1], t[2], t[4]);
            rms_norm_backward(t[3], t[0], t[1], t[4], t[5], accumulate, t[6], accumulate);
          });
        }
}

// With an offset of 1 the rows are not aligned to vectors.
TEST_CASE("rms_norm of a sum: every backend equals the double reference") {
  for (std::int64_t rows : {1, 7, 9})
    for (std::int64_t C : {24, 33, 264})
      for (auto [b_type, y_type] : kPairsOfTypes)
        for (std::int64_t offset : {0, 1})
          for (bool with_du : {false, true}) {
            if (b_type != y_type && rows != 7) continue;
            CAPTURE(rows);
            CAPTURE(C);
            CAPTURE(offset);
            CAPTURE(with_du);
            auto random = [&](DType type, std::uint64_t seed) {
              return random_tensor({rows * C + offset}, type, seed, 3);
            };
            Tensors given{random(DType::F32, 1),
                          random(b_type, 2),
                          random_tensor({C}, DType::F32, 3),
                          random(DType::F32, 4),
                          random(y_type, 5),
                          random_tensor({rows}, DType::F32, 6),
                          random(y_type, 7),
                          random(DType::F32, 8),
                          random(DType::F32, 9),
                          random(DType::BF16, 10),
                          random_tensor({C}, DType::F32, 11)};
            check_backends("add_rms_norm", given, [&](Tensors& t) {
              auto slice = [&](std::size_t n) { return t[n].slice(offset, {rows, C}); };
              Tensor u = slice(3), y = slice(4), da = slice(8), db;
              if (b_type == DType::BF16 && t[0].dtype() == DType::F32) db = slice(9);
              add_rms_norm(slice(0), slice(1), t[2], u, y, t[5]);
              add_rms_norm_backward(slice(6), with_du ? slice(7) : Tensor(), u, t[2], t[5], da, db, t[10], with_du);
              if (b_type == DType::BF16 && !db.defined()) slice(9).copy_from(da);  // the reference in double
            });
          }
}

// Rows of one warp, of two and of 32; blocks that have rows for their threads once, twice and not quite.
TEST_CASE("rms_norm: wide rows and many rows, and rows too wide for the device") {
  for (auto [rows, C] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{4099, 9}, {2060, 264}, {2, 8191}, {2, 8192}}) {
    CAPTURE(rows);
    CAPTURE(C);
    Tensors given{random_tensor({rows, C}, DType::F32, 1), random_tensor({C}, DType::F32, 2),
                  random_tensor({rows, C}, DType::F32, 3), random_tensor({rows, C}, DType::F32, 4),
                  random_tensor({rows}, DType::F32, 5),    random_tensor({rows, C}, DType::F32, 6),
                  random_tensor({C}, DType::F32, 7)};
    check_backends("rms_norm", given, [&](Tensors& t) {
      rms_norm(t[0], t[1], t[2], t[4]);
      rms_norm_backward(t[3], t[0], t[1], t[4], t[5], true, t[6], true);
    });
  }
  for (Device device : kAccelerators) {
    Tensor wide = Tensor::zeros({2, 8193}, DType::F32, device), y = Tensor::empty_like(wide);
    Tensor gain = wide.new_zeros({8193}, DType::F32), r = wide.new_zeros({2}, DType::F32);
    check_refused([&] { rms_norm(wide, gain, y, r); }, {"CUDA device", "at most 8192", "8193", "--d-model"},
                  Exit::usage);
  }
}

TEST_CASE("gradient: rms_norm, alone and with a residual connection") {
  Var x = random_var({2, 3, 8}, 1);
  const Parameter& gain = random_parameter("gain", {8});
  check_gradient([&] { return rms_norm(x, gain, DType::F64); }, {x, gain.var()});
  check_gradient([&] { return add(x, rms_norm(x, gain, DType::F64)); }, {x, gain.var()});
}

TEST_CASE("gradient: add_rms_norm, of the sum, of the norm and of both") {
  Var a = random_var({3, 4, 5}, 1), b = random_var({3, 4, 5}, 2);
  const Parameter& gain = random_parameter("gain", {5});
  check_normed_sum([&](const Var& a, const Var& b) { return add_rms_norm(a, b, gain, DType::F64); }, a, b,
                   {a, b, gain.var()});
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
