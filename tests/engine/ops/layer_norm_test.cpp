// The layer norm and its gradients.
#include "engine/ops/layer_norm/layer_norm.h"

#include <doctest/doctest.h>

#include "autograd/ops/add_node.h"
#include "autograd/ops/layer_norm_node.h"
#include "engine/threads.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/gradients.h"
#include "tests/support/with_reference.h"

using namespace sink;

namespace {

// One norm with its gradients. dx, dgain and dbias start with values, which `accumulate` keeps.
struct Norm {
  Tensor x, gain, bias, dy, y, mean, r, dx, dgain, dbias;

  Norm(std::int64_t rows, std::int64_t C, DType dtype, DType y_type)
      : x(random_tensor({rows, C}, dtype, 1, 3)),
        gain(random_tensor({C}, dtype, 2)),
        bias(random_tensor({C}, dtype, 3)),
        dy(random_tensor({rows, C}, y_type, 4)),
        y(Tensor::empty({rows, C}, y_type)),
        mean(Tensor::empty({rows}, dtype)),
        r(Tensor::empty({rows}, dtype)),
        dx(random_tensor({rows, C}, dtype, 5)),
        dgain(random_tensor({C}, dtype, 6)),
        dbias(random_tensor({C}, dtype, 7)) {}

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
    layer_norm(x, gain, bias, y, mean, r);
    backward(accumulate);
  }
  void backward(bool accumulate) {
    layer_norm_backward(dy, x, gain, mean, r, {dx, accumulate}, {dgain, accumulate}, {dbias, accumulate});
  }

 private:
  std::vector<Tensor*> tensors() { return {&x, &gain, &bias, &dy, &y, &mean, &r, &dx, &dgain, &dbias}; }
};

// `which` says, bit by bit, which of the gradients of x, gain and bias are added to.
void check_layer_norm(const Shape& shape, DType y_type, unsigned which) {
  std::int64_t C = shape[shape.rank() - 1], rows = shape.size() / C;
  Tensor x = random_tensor(shape, DType::F32, 1, 3);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] += 5;  // a mean that is not nearly 0
  Tensors given{x,
                random_tensor({C}, DType::F32, 2),
                random_tensor({C}, DType::F32, 3),
                random_tensor(shape, y_type, 4),
                random_tensor({rows}, DType::F32, 5),
                random_tensor({rows}, DType::F32, 6),
                random_tensor(shape, y_type, 7),
                random_tensor(shape, DType::F32, 8),
                random_tensor({C}, DType::F32, 9),
                random_tensor({C}, DType::F32, 10)};
  auto run = [&](Tensors& t) {
    layer_norm(t[0], t[1], t[2], t[3], t[4], t[5]);
    layer_norm_backward(t[6], t[0], t[1], t[4], t[5], {t[7], (which & 1) != 0}, {t[8], (which & 2) != 0},
                        {t[9], (which & 4) != 0});
  };
  check_backends("layer_norm", given, run);
  if (rows == 3 && C == 264) check_unaligned_backends("layer_norm", given, run);
}

}  // namespace

TEST_CASE("layer_norm: equals PyTorch") {
  // torch.nn.functional.layer_norm(x, (5,), gain, bias, 1e-5) of PyTorch 2.15 in double and its autograd.
  for (DType dtype : {DType::F64, DType::F32}) {
    double tolerance = dtype == DType::F64 ? 1e-15 : 4e-7;
    Norm n(2, 5, dtype, dtype);
    n.x = Tensor::from<double>({2, 5}, {1, -2, 0.5, 3, 2, -1, 4, 1.5, -0.25, 0.1}).to(dtype);
    n.gain = Tensor::from<double>({5}, {1, 0.5, -2, 1.5, 0.25}).to(dtype);
    n.bias = Tensor::from<double>({5}, {0.1, -0.2, 0.3, 0, 1}).to(dtype);
    n.dy = Tensor::from<double>({2, 5}, {1, -1, 0.5, 2, -0.5, 0.25, 1, -3, 1, 0.75}).to(dtype);
    n.run();
    check_close(
        "y", n.y,
        Tensor::from<double>({2, 5}, {0.15933897843975214, -1.0604151873764065, 0.7747118275180174, 1.8691778208521934,
                                      1.1631821907093185, -0.9607873971491051, 0.6877712708761228, -0.4147551446031405,
                                      -0.9530068594708538, 0.890801297352298}),
        tolerance);
    check_close(
        "dx", n.dx,
        Tensor::from<double>({2, 5}, {0.27762923064164385, 0.4045567390570116, -0.7396483073181245, 0.7864006760955868,
                                      -0.7289383384761181, -0.6070070855180444, -1.0225108343379339, 2.3761122213360304,
                                      0.018477362342549708, -0.7650716638226018}),
        tolerance);
    check_close("dgain", n.dgain,
                Tensor::from<double>({5}, {-0.20585787084752416, 3.4963729165050585, -1.1908106737842152,
                                           1.8568991881556882, -0.6539604893617429}),
                tolerance);
    check_close("dbias", n.dbias, Tensor::from<double>({5}, {1.25, 0, -2.5, 3, 0.25}), tolerance);
  }
}

TEST_CASE("layer_norm: F32 equals F64 and the reference, bf16 output within its rounding") {
  for (std::int64_t rows : {1, 3, 65, 300})
    for (std::int64_t C : {3, 7, 16, 33, 128})
      for (DType y_type : {DType::F32, DType::BF16})
        for (bool accumulate : {false, true}) {
          Norm n(rows, C, DType::F32, y_type), reference = n.copy(), expected = n.in_f64(), exact = n.in_f64();
          n.run(accumulate);
          in_reference([&] { reference.run(accumulate); });
          expected.run(accumulate);
          check_close("reference y", reference.y, expected.y.to(y_type), 0);
          check_close("reference mean", reference.mean, expected.mean.to(DType::F32), 0);
          exact.mean = reference.mean.to(DType::F64);  // as it was saved, rounded
          exact.r = reference.r.to(DType::F64);
          exact.backward(accumulate);
          check_close("reference dx", reference.dx, exact.dx.to(DType::F32), 0);
          check_close("reference dgain", reference.dgain, exact.dgain.to(DType::F32), 0);
          check_close("reference dbias", reference.dbias, exact.dbias.to(DType::F32), 0);
          check_close("y", n.y, expected.y, y_type == DType::F32 ? 1e-5 : 0x1p-8);
          check_close("mean", n.mean, expected.mean, 1e-6);
          check_close("r", n.r, expected.r, 1e-5);
          check_close("dx", n.dx, expected.dx, 1e-5);
          check_close("dgain", n.dgain, expected.dgain, 1e-5);
          check_close("dbias", n.dbias, expected.dbias, 1e-5);
        }
}

TEST_CASE("layer_norm: the same bits on any number of threads") {
  int threads = thread_count();
  Norm one(1000, 33, DType::F32, DType::F32), many = one.copy();
  set_thread_count(1);
  one.run();
  set_thread_count(3);
  many.run();
  set_thread_count(threads);
  check_close("y", many.y, one.y, 0);
  check_close("dx", many.dx, one.dx, 0);
  check_close("dgain", many.dgain, one.dgain, 0);
  check_close("dbias", many.dbias, one.dbias, 0);
}

TEST_CASE("layer_norm: gain 1 and bias 0 give rows of mean 0 and variance 1, wherever x lies") {
  Norm n(5, 64, DType::F64, DType::F64);
  n.gain.fill(1);
  n.bias.fill(0);
  n.run();
  for (std::int64_t row = 0; row < 5; ++row) {
    double mean = 0, mean_square = 0;
    for (std::int64_t c = 0; c < 64; ++c) {
      mean += n.y.item(row * 64 + c) / 64;
      mean_square += n.y.item(row * 64 + c) * n.y.item(row * 64 + c) / 64;
    }
    CHECK(std::abs(mean) < 1e-14);
    CHECK(mean_square == doctest::Approx(1).epsilon(1e-5));
  }
  Tensor y = n.y.clone();
  for (std::int64_t i = 0; i < n.x.size(); ++i) n.x.data<double>()[i] = 1000 * n.x.item(i) + 1e6;
  n.run();
  check_close("y of 1000 x + 1e6", n.y, y, 1e-5);
}

TEST_CASE("layer_norm: a mean far above the deviation does not swamp the variance") {
  // x = 4096 +- 1/2, exact in F32: the mean of squares is 2^24 + 1/4, where F32 would lose the variance of 1/4.
  Norm n(1, 64, DType::F32, DType::F32);
  for (std::int64_t c = 0; c < 64; ++c) n.x.data<float>()[c] = 4096 + (c % 2 ? 0.5f : -0.5f);
  n.run();
  CHECK(n.mean.item() == 4096);
  CHECK(n.r.item() == doctest::Approx(1 / std::sqrt(0.25 + 1e-5)));
}

TEST_CASE("layer_norm: dx is orthogonal to ones and to x, since shift and length do not matter") {
  Norm n(4, 96, DType::F64, DType::F64);
  for (std::int64_t i = 0; i < n.x.size(); ++i) n.x.data<double>()[i] *= 1000;  // epsilon's share falls to 1e-12
  n.run();
  for (std::int64_t row = 0; row < 4; ++row) {
    double sum = 0, dot = 0, size = 0, dot_size = 0;
    for (std::int64_t i = row * 96; i < (row + 1) * 96; ++i) {
      sum += n.dx.item(i);
      size += std::abs(n.dx.item(i));
      dot += n.dx.item(i) * n.x.item(i);
      dot_size += std::abs(n.dx.item(i) * n.x.item(i));
    }
    CHECK(std::abs(sum) < 1e-13 * size);
    CHECK(std::abs(dot) < 1e-9 * dot_size);
  }
}

TEST_CASE("layer_norm: a constant row becomes the bias") {
  Norm n(1, 8, DType::F32, DType::F32);
  n.x.fill(3);
  n.run();
  check_close("y", n.y, n.bias.reshape({1, 8}), 0);
  CHECK(n.r.item() == doctest::Approx(1 / std::sqrt(1e-5)));
}

TEST_CASE("layer_norm: the epsilon that is asked for") {
  // x = (1, 5): mean 3, variance 4, and 12 more make 16.
  for (DType dtype : {DType::F32, DType::F64}) {
    Norm n(1, 2, dtype, dtype);
    n.x = Tensor::from<double>({1, 2}, {1, 5}).to(dtype);
    layer_norm(n.x, n.gain, n.bias, n.y, n.mean, n.r, 12);
    CHECK(n.mean.item() == 3);
    CHECK(n.r.item() == 0.25);
  }
}

TEST_CASE("layer_norm: every backend equals the double reference") {
  for (std::int64_t rows : {1, 3, 21})
    for (std::int64_t C : {7, 33, 128, 264})
      for (DType y_type : {DType::F32, DType::BF16})
        for (unsigned which : {0u, 7u}) {
          CAPTURE(rows);
          CAPTURE(C);
          CAPTURE(which);
          check_layer_norm({rows, C}, y_type, which);
        }
  for (unsigned which : {1u, 2u, 4u}) check_layer_norm({2, 3, 40}, DType::F32, which);
  check_layer_norm({4099, 9}, DType::F32, 0);  // blocks that have rows for their threads once, twice and not quite
  check_layer_norm({2, 2056}, DType::F32, 0);
}

TEST_CASE("layer_norm of a sum: every backend equals the double reference") {
  for (std::int64_t rows : {1, 7, 9})
    for (std::int64_t C : {24, 33, 264})
      for (auto [b_type, y_type] : kPairsOfTypes)
        for (bool with_du : {false, true}) {
          if (b_type != y_type && rows != 7) continue;
          CAPTURE(rows);
          CAPTURE(C);
          CAPTURE(with_du);
          auto random = [&](DType type, std::uint64_t seed) { return random_tensor({rows, C}, type, seed, 3); };
          auto of_columns = [&](std::uint64_t seed) { return random_tensor({C}, DType::F32, seed); };
          Tensors given{random(DType::F32, 1),
                        random(b_type, 2),
                        of_columns(3),
                        of_columns(4),
                        random(DType::F32, 5),
                        random(y_type, 6),
                        random_tensor({rows}, DType::F32, 7),
                        random_tensor({rows}, DType::F32, 8),
                        random(y_type, 9),
                        random(DType::F32, 10),
                        random(DType::F32, 11),
                        random(DType::BF16, 12),
                        of_columns(13),
                        of_columns(14)};
          check_backends("add_layer_norm", given, [&](Tensors& t) {
            Tensor db;
            if (b_type == DType::BF16 && t[0].dtype() == DType::F32) db = t[11];
            add_layer_norm(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7]);
            add_layer_norm_backward(t[8], with_du ? t[9] : Tensor(), t[4], t[2], t[6], t[7], t[10], db,
                                    {t[12], with_du}, {t[13], with_du});
            if (b_type == DType::BF16 && !db.defined()) t[11].copy_from(t[10]);  // the reference in double
          });
        }
}

TEST_CASE("gradient: layer_norm, alone and with a residual connection") {
  Var x = random_var({2, 3, 8}, 1);
  const Parameter &gain = random_parameter("gain", {8}), &bias = random_parameter("bias", {8});
  check_gradient([&] { return layer_norm(x, gain, bias, DType::F64); }, {x, gain.var(), bias.var()});
  check_gradient([&] { return add(x, layer_norm(x, gain, bias, DType::F64)); }, {x, gain.var(), bias.var()});
  check_gradient([&] { return layer_norm(layer_norm(x, gain, bias, DType::F64), gain, bias, DType::F64); },
                 {x, gain.var(), bias.var()});
}

TEST_CASE("gradient: add_layer_norm, of the sum, of the norm and of both") {
  Var a = random_var({3, 4, 5}, 1), b = random_var({3, 4, 5}, 2);
  const Parameter &gain = random_parameter("gain", {5}), &bias = random_parameter("bias", {5});
  check_normed_sum([&](const Var& a, const Var& b) { return add_layer_norm(a, b, gain, bias, DType::F64); }, a, b,
                   {a, b, gain.var(), bias.var()});
}

TEST_CASE("layer_norm: shapes and types that do not fit are named") {
  Norm n(3, 8, DType::F32, DType::F32);
  Tensor seven = Tensor::zeros({7}), f64 = Tensor::zeros({8}, DType::F64);
  check_refused([&] { layer_norm(n.x, seven, n.bias, n.y, n.mean, n.r); }, {"[layer_norm]", "f32 (3, 8)", "f32 (7)"});
  check_refused([&] { layer_norm(n.x, n.gain, seven, n.y, n.mean, n.r); }, {"[layer_norm]", "bias", "f32 (7)"});
  check_refused([&] { layer_norm(n.x, f64, n.bias, n.y, n.mean, n.r); }, {"[layer_norm]", "f32 (3, 8)", "f64 (8)"});
  check_refused([&] { layer_norm(n.x, n.gain, n.bias, n.y, seven, n.r); }, {"[layer_norm]", "mean is f32 (7)"});
  Tensor dx = Tensor::zeros({3, 7});
  check_refused(
      [&] {
        layer_norm_backward(n.dy, n.x, n.gain, n.mean, n.r, {dx, false}, {n.dgain, false}, {n.dbias, false});
      },
      {"[layer_norm_backward]", "dx", "f32 (3, 7)"});
}
