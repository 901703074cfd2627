// Elementwise functions and their gradients.
#include "engine/ops/activation/activation.h"

#include <doctest/doctest.h>

#include <cmath>

#include "autograd/ops/activation_node.h"
#include "autograd/ops/add_node.h"
#include "engine/threads.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/gradients.h"
#include "tests/support/with_reference.h"

using namespace sink;

namespace {

// y = F(x), dx for the upstream gradient dy, all of x's type.
template <class F>
struct Activation {
  Tensor x, dy, y, dx;

  Activation(const Tensor& x_in, const Tensor& dy_in)
      : x(x_in), dy(dy_in), y(Tensor::empty(x.shape(), x.dtype())), dx(Tensor::empty(x.shape(), x.dtype())) {
    activation<F>(x, y);
    activation_backward<F>(dy, x, dx);
  }
};

// Against F.relu, F.gelu, F.silu and F.elu + 1 of PyTorch 2.15 in double, and their autograd.
template <class F>
void check_table(const std::vector<double>& y, const std::vector<double>& dx) {
  std::vector<double> x = {-6, -2.5, -1, -0.3, 0.2, 0.75, 1.5, 4}, dy = {1, -2, 0.5, 3, -1, 2, 1, -0.25};
  for (DType dtype : {DType::F64, DType::F32}) {
    double tolerance = dtype == DType::F64 ? 1e-15 : 1e-7;
    Activation<F> a(Tensor::from<double>({8}, x).to(dtype), Tensor::from<double>({8}, dy).to(dtype));
    check_close("y", a.y, Tensor::from<double>({8}, y), tolerance);
    check_close("dx", a.dx, Tensor::from<double>({8}, dx), tolerance);
  }
}

// y = F(x) and dx for the upstream gradient dy.
template <class F>
void check_function(const Tensor& x, const Tensor& dy) {
  Tensors given{x, dy, random_tensor(x.shape(), x.dtype(), 3), random_tensor(x.shape(), x.dtype(), 4)};
  auto run = [](Tensors& t) {
    activation<F>(t[0], t[2]);
    activation_backward<F>(t[1], t[0], t[3]);
  };
  check_backends("activation", given, run);
  if (x.size() == 256) check_unaligned_backends("activation", given, run);
}

}  // namespace

TEST_CASE("activation: relu, gelu, silu and elu + 1 equal PyTorch") {
  check_table<ReluFunction>({0, 0, 0, 0, 0.2, 0.75, 1.5, 4}, {0, 0, 0, 0, -1, 2, 1, -0.25});
  check_table<GeluFunction>({-5.919525869479969e-09, -0.015524163314440398, -0.15865525393145702, -0.1146265733433142,
                             0.11585194188782061, 0.5800294857173489, 1.399789198096713, 3.9998733150326675},
                            {-3.546870945402639e-08, 0.07522217181629039, -0.04165773529384317, 0.8030166995186704,
                             -0.6574682482341941, 1.9984514434784704, 1.1274691922299795, -0.25012591241530663});
  check_table<GeluTanhFunction>(
      {-8.43964670076231e-11, -0.01508426608999857, -0.15880800939172326, -0.11462907645724074, 0.11585142978210629,
       0.5799605551656203, 1.3995715769802328, 3.9999297540518075},
      {-7.709973930953707e-10, 0.0759031524253323, -0.041482041922891275, 0.8031136450835945, -0.6574581491956994,
       1.9978765122748285, 1.127710793151433, -0.2500837807992808});
  check_table<SiluFunction>({-0.014835738939808647, -0.18964545005310887, -0.2689414213699951, -0.1276672449565023,
                             0.1099667994624956, 0.5093840243815447, 1.2263617142904655, 3.928055160151634},
                            {-0.012326432591525513, 0.19880222268305367, 0.036164744064256626, 1.0566599690433518,
                             -0.59933731185485, 1.6851998889935071, 1.041294154299143, -0.2631661537227682});
  check_table<EluPlusOneFunction>(
      {0.0024787521766663767, 0.08208499862389873, 0.36787944117144233, 0.7408182206817179, 1.2, 1.75, 2.5, 5},
      {0.0024787521766663585, -0.1641699972477976, 0.18393972058572117, 2.2224546620451537, -1, 2, 1, -0.25});
}

TEST_CASE_TEMPLATE("activation: F32 and bf16 equal F64, on any number of threads and in the reference", F, ReluFunction,
                   GeluFunction, GeluTanhFunction, SiluFunction, EluPlusOneFunction) {
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t size : {1, 7, 16, 33, 40000}) {
      double tolerance = dtype == DType::F32 ? 1e-6 : 0x1p-8;
      double cancelled = 3e-7;  // 1 + erf(x) for x far below 0
      Tensor x = random_tensor({size}, dtype, 1, 3), dy = random_tensor({size}, dtype, 2);
      Activation<F> fast(x, dy), exact(x.to(DType::F64), dy.to(DType::F64));
      check_close("y", fast.y, exact.y, tolerance, cancelled);
      check_close("dx", fast.dx, exact.dx, tolerance, cancelled);
      Activation<F> reference = in_reference([&] { return Activation<F>(x, dy); });
      check_close("reference y", reference.y, exact.y.to(dtype), 0);
      check_close("reference dx", reference.dx, exact.dx.to(dtype), 0);
      int threads = thread_count();
      set_thread_count(3);
      Activation<F> threaded(x, dy);
      set_thread_count(threads);
      check_close("y of 3 threads", threaded.y, fast.y, 0);
      check_close("dx of 3 threads", threaded.dx, fast.dx, 0);
    }
}

TEST_CASE("activation: far from 0 the functions are x or x + 1, and 0") {
  for (DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    Tensor x = Tensor::from<float>({4}, {0x1p70f, 1024, -1024, -0x1p70f}).to(dtype), ones = Tensor::full({4}, 1, dtype);
    Tensor identity = Tensor::from<float>({4}, {0x1p70f, 1024, 0, 0});
    Tensor slope = Tensor::from<float>({4}, {1, 1, 0, 0});
    auto check_function = [&](const char* name, const auto& a) {
      check_close(name, a.y, identity, 0, 1);  // + 1 of elu, which bf16 rounds away
      check_close(name, a.dx, slope, 0, 1e-30);
    };
    check_function("relu", Activation<ReluFunction>(x, ones));
    check_function("gelu", Activation<GeluFunction>(x, ones));
    check_function("silu", Activation<SiluFunction>(x, ones));
    check_function("elu + 1", Activation<EluPlusOneFunction>(x, ones));
  }
}

TEST_CASE_TEMPLATE("activation: a NaN stays a NaN", F, ReluFunction, GeluFunction, GeluTanhFunction, SiluFunction,
                   EluPlusOneFunction) {
  for (DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    Tensor x = Tensor::full({40}, NAN, dtype), y = Tensor::empty({40}, dtype);
    activation<F>(x, y);
    for (std::int64_t i = 0; i < 40; ++i) CHECK(std::isnan(y.item(i)));
  }
}

TEST_CASE_TEMPLATE("activation: every backend equals the double reference", F, ReluFunction, GeluFunction,
                   GeluTanhFunction, SiluFunction, EluPlusOneFunction) {
  for (DType dtype : {DType::F32, DType::BF16})
    for (Shape shape : {Shape{1}, Shape{7}, Shape{3, 11}, Shape{65}, Shape{256}, Shape{2, 5, 130}, Shape{0}}) {
      CAPTURE(shape.str());
      double scale = shape.size() == 1 ? 1 : 3;  // keeps the only element from where 1 + erf(x) cancels
      check_function<F>(random_tensor(shape, dtype, 1, scale), random_tensor(shape, dtype, 2));
    }
}

TEST_CASE_TEMPLATE("activation: every backend far from 0 and at NaN", F, ReluFunction, GeluFunction, GeluTanhFunction,
                   SiluFunction, EluPlusOneFunction) {
  for (DType dtype : {DType::F32, DType::BF16}) {
    Tensor x = Tensor::from<float>({6}, {NAN, 1024, -1024, 0x1p70f, -0x1p70f, 0}).to(dtype);
    check_function<F>(x, Tensor::full({6}, 1, dtype));
  }
}

TEST_CASE_TEMPLATE("gradient: activation", F, ReluFunction, GeluFunction, GeluTanhFunction, SiluFunction,
                   EluPlusOneFunction) {
  // Every x is further from the kink of a function at 0 than the differences reach.
  Var x = random_var({2, 3, 10}, 1, 2);
  for (std::int64_t i = 0; i < x.value().size(); ++i) REQUIRE(std::abs(x.value().item(i)) > 2e-3);
  check_gradient([&] { return activate<F>(x); }, {x});
  check_gradient([&] { return add(activate<F>(x), x); }, {x});
}

TEST_CASE("activation: shapes and types that do not fit are named") {
  Tensor x = Tensor::zeros({3, 8}), short_y = Tensor::zeros({3, 7}), y_f64 = Tensor::zeros({3, 8}, DType::F64);
  check_refused([&] { activation<ReluFunction>(x, short_y); }, {"[activation]", "f32 (3, 8)", "f32 (3, 7)"});
  check_refused([&] { activation<ReluFunction>(x, y_f64); }, {"[activation]", "f32 (3, 8)", "f64 (3, 8)"});
  check_refused([&] { activation_backward<ReluFunction>(short_y, x, x); },
                {"[activation_backward]", "expected dy", "f32 (3, 7)"});
  check_refused([&] { activation_backward<ReluFunction>(x, x, y_f64); },
                {"[activation_backward]", "expected dx", "f64 (3, 8)"});
}
