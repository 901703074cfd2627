// The gated unit and its gradients.
#include "engine/ops/glu/glu.h"

#include <doctest/doctest.h>

#include <cmath>

#include "autograd/ops/glu_node.h"
#include "engine/threads.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/gradients.h"
#include "tests/support/with_reference.h"

using namespace sink;

namespace {

// y and dgate_up of gate_up and the upstream gradient dy, all of one type.
template <class F>
struct Glu {
  Tensor y, dgate_up;

  Glu(const Tensor& gate_up, const Tensor& dy)
      : y(Tensor::empty(dy.shape(), dy.dtype())), dgate_up(Tensor::empty(gate_up.shape(), gate_up.dtype())) {
    glu<F>(gate_up, y);
    glu_backward<F>(dy, gate_up, dgate_up);
  }
};

// Against f(gate) * up of PyTorch 2.15 in double and its autograd, (gate, up) = gate_up.chunk(2, -1).
template <class F>
void check_table(const std::vector<double>& y, const std::vector<double>& dgate_up) {
  Tensor gate_up =
      Tensor::from<double>({2, 8}, {-6, -2.5, -1, -0.3, 2, -1.5, 0.5, 3, 0.2, 0.75, 1.5, 4, -0.25, 1.25, -2, 0.1});
  Tensor dy = Tensor::from<double>({2, 4}, {1, -2, 0.5, 3, -1, 2, 1, -0.25});
  for (DType dtype : {DType::F64, DType::F32}) {
    double tolerance = dtype == DType::F64 ? 1e-15 : 1e-7;
    Glu<F> u(gate_up.to(dtype), dy.to(dtype));
    check_close("y", u.y, Tensor::from<double>({2, 4}, y), tolerance);
    check_close("dgate_up", u.dgate_up, Tensor::from<double>({2, 8}, dgate_up), tolerance);
  }
}

}  // namespace

TEST_CASE("glu: silu, a row by hand") {
  // gate = ln 3: logistic 3/4, silu 0.75 ln 3. up = 2: y = 1.5 ln 3.
  // dy = 1: dup = 0.75 ln 3, dgate = 2 * 0.75 * (1 + ln 3 / 4).
  double ln3 = std::log(3.0);
  for (DType dtype : {DType::F32, DType::F64}) {
    Glu<SiluFunction> u(Tensor::from<double>({1, 2}, {ln3, 2}).to(dtype), Tensor::full({1, 1}, 1, dtype));
    check_close("y", u.y, Tensor::from<double>({1, 1}, {1.5 * ln3}), 1e-6);
    check_close("dgate_up", u.dgate_up, Tensor::from<double>({1, 2}, {1.5 * (1 + ln3 / 4), 0.75 * ln3}), 1e-6);
  }
}

TEST_CASE("glu: SwiGLU, ReGLU, GeGLU and elu + 1 equal PyTorch") {
  check_table<SiluFunction>({-0.029671477879617294, 0.2844681750796633, -0.13447071068499755, -0.38300173486950695,
                             -0.0274916998656239, 0.6367300304769309, -2.452723428580931, 0.3928055160151634},
                            {-0.024652865183051025, -0.2982033340245805, 0.018082372032128313, 3.169979907130055,
                             -0.014835738939808647, 0.37929090010621774, -0.13447071068499755, -0.38300173486950695,
                             0.1498343279637125, 2.106499861241884, -2.082588308598286, -0.026316615372276822,
                             -0.1099667994624956, 1.0187680487630895, 1.2263617142904655, -0.9820137900379085});
  check_table<ReluFunction>({0, 0, 0, 0, -0.05, 0.9375, -3, 0.4},
                            {0, 0, 0, 0, 0, 0, 0, 0, 0.25, 2.5, -2, -0.025, -0.2, 1.5, 1.5, -1});
  check_table<GeluFunction>({-1.1839051738959938e-08, 0.023286244971660597, -0.07932762696572851, -0.3438797200299426,
                             -0.028962985471955152, 0.7250368571466861, -2.799578396193426, 0.39998733150326676},
                            {-7.093741890805278e-08, -0.11283325772443559, -0.020828867646921587, 2.409050098556011,
                             -5.919525869479969e-09, 0.031048326628880796, -0.07932762696572851, -0.3438797200299426,
                             0.16436706205854854, 2.498064304348088, -2.254938384459959, -0.025012591241530664,
                             -0.11585194188782061, 1.1600589714346978, 1.399789198096713, -0.9999683287581669});
  check_table<EluPlusOneFunction>(
      {0.004957504353332753, -0.1231274979358481, 0.18393972058572117, 2.2224546620451537, -0.3, 2.1875, -5, 0.5},
      {0.004957504353332717, 0.2462549958716964, 0.09196986029286058, 6.667363986135461, 0.0024787521766663767,
       -0.16416999724779746, 0.18393972058572117, 2.2224546620451537, 0.25, 2.5, -2, -0.025, -1.2, 3.5, 2.5, -1.25});
}

TEST_CASE_TEMPLATE("glu: F32 and bf16 equal F64, on any number of threads and in the reference", F, ReluFunction,
                   GeluFunction, GeluTanhFunction, SiluFunction, EluPlusOneFunction) {
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t rows : {1, 3, 100})
      for (std::int64_t width : {1, 7, 16, 33, 256}) {
        double tolerance = dtype == DType::F32 ? 1e-6 : 0x1p-8;
        double cancelled = 1e-6;  // 1 + erf(x) for x far below 0
        Tensor gate_up = random_tensor({rows, 2 * width}, dtype, 1, 3), dy = random_tensor({rows, width}, dtype, 2);
        Glu<F> fast(gate_up, dy), exact(gate_up.to(DType::F64), dy.to(DType::F64));
        check_close("y", fast.y, exact.y, tolerance, cancelled);
        check_close("dgate_up", fast.dgate_up, exact.dgate_up, tolerance, cancelled);
        Glu<F> reference = in_reference([&] { return Glu<F>(gate_up, dy); });
        check_close("reference y", reference.y, exact.y.to(dtype), 0);
        check_close("reference dgate_up", reference.dgate_up, exact.dgate_up.to(dtype), 0);
        int threads = thread_count();
        set_thread_count(3);
        Glu<F> threaded(gate_up, dy);
        set_thread_count(threads);
        check_close("y of 3 threads", threaded.y, fast.y, 0);
        check_close("dgate_up of 3 threads", threaded.dgate_up, fast.dgate_up, 0);
      }
}

TEST_CASE("glu: a silu gate of zero shuts, huge gates are the identity and zero") {
  for (DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    Tensor gate_up = Tensor::from<float>({4, 2}, {0, 5, 1024, 5, -1024, 5, -100, 5}).to(dtype);
    Glu<SiluFunction> u(gate_up, Tensor::full({4, 1}, 1, dtype));
    check_close("y", u.y, Tensor::from<float>({4, 1}, {0, 5120, 0, 0}), 0, 1e-30);
    // dgate = up l (1 + gate (1 - l)): up/2 at 0, up at +oo, 0 at -oo. dup = silu(gate).
    check_close("dgate_up", u.dgate_up, Tensor::from<float>({4, 2}, {2.5, 0, 5, 1024, 0, 0, 0, 0}), 0, 1e-30);
  }
}

TEST_CASE_TEMPLATE("glu: a NaN stays a NaN", F, ReluFunction, GeluFunction, GeluTanhFunction, SiluFunction,
                   EluPlusOneFunction) {
  Tensor gate_up = Tensor::from<float>({1, 4}, {NAN, 1, 2, NAN}), y = Tensor::empty({1, 2});
  glu<F>(gate_up, y);
  CHECK(std::isnan(y.item(0)));
  CHECK(std::isnan(y.item(1)));
}

TEST_CASE_TEMPLATE("glu: every backend equals the double reference", Function, ReluFunction, GeluFunction,
                   GeluTanhFunction, SiluFunction, EluPlusOneFunction) {
  for (std::int64_t rows : {0, 1, 3, 65})
    for (std::int64_t F : {1, 7, 33, 128})
      for (DType dtype : {DType::F32, DType::BF16}) {
        CAPTURE(rows);
        CAPTURE(F);
        double scale = rows * F == 1 ? 1 : 3;  // the only gate does not lie where 1 + erf(x) cancels
        Tensors given{random_tensor({rows, 2 * F}, dtype, 1, scale), random_tensor({rows, F}, dtype, 2),
                      random_tensor({rows, F}, dtype, 3), random_tensor({rows, 2 * F}, dtype, 4)};
        auto run = [](Tensors& t) {
          glu<Function>(t[0], t[2]);
          glu_backward<Function>(t[1], t[0], t[3]);
        };
        check_backends("glu", given, run);
        if (rows == 3 && F == 128) check_unaligned_backends("glu", given, run);
      }
}

TEST_CASE_TEMPLATE("gradient: glu", F, ReluFunction, GeluFunction, GeluTanhFunction, SiluFunction, EluPlusOneFunction) {
  // Every x is further from the kink of a function at 0 than the differences reach.
  Var x = random_var({2, 3, 10}, 1, 2);
  for (std::int64_t i = 0; i < x.value().size(); ++i) REQUIRE(std::abs(x.value().item(i)) > 2e-3);
  check_gradient([&] { return glu<F>(x); }, {x});
}

TEST_CASE("glu: shapes and types that do not fit are named") {
  Tensor gate_up = Tensor::zeros({3, 8}), y = Tensor::zeros({3, 5}), y_f64 = Tensor::zeros({3, 4}, DType::F64);
  check_refused([&] { glu<SiluFunction>(gate_up, y); }, {"[glu]", "f32 (3, 8)", "f32 (3, 5)"});
  check_refused([&] { glu<SiluFunction>(gate_up, y_f64); }, {"[glu]", "f32 (3, 8)", "f64 (3, 4)"});
  check_refused([&] { glu_backward<SiluFunction>(y, gate_up, gate_up); },
                {"[glu_backward]", "f32 (3, 8)", "dy is f32 (3, 5)"});
  Tensor dy = Tensor::zeros({3, 4}), dgate_up = Tensor::zeros({3, 7});
  check_refused([&] { glu_backward<SiluFunction>(dy, gate_up, dgate_up); },
                {"[glu_backward]", "f32 (3, 8)", "f32 (3, 7)"});
}

TEST_CASE("glu: leading axes must agree too") {
  Tensor gate_up = Tensor::zeros({4, 3, 8}), y = Tensor::zeros({3, 4, 4});
  check_refused([&] { glu<SiluFunction>(gate_up, y); }, {"[glu]", "f32 (4, 3, 8)", "f32 (3, 4, 4)"});
}
