// The layer norm and its gradients.
#include "engine/ops/layer_norm/layer_norm.h"

#include <doctest/doctest.h>

#include "engine/threads.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/with_reference.h"

using namespace sink;

namespace {

// One norm with its gradients; dx, dgain and dbias start out holding numbers, which `accumulate` keeps.
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
    layer_norm(x, gain, bias, y, mean, r);
    backward(accumulate);
  }
  void backward(bool accumulate) {
    layer_norm_backward(dy, x, gain, mean, r, {dx, accumulate}, {dgain, accumulate}, {dbias, accumulate});
  }

 private:
  std::vector<Tensor*> tensors() { return {&x, &gain, &bias, &dy, &y, &mean, &r, &dx, &dgain, &dbias}; }
};

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
