// Softmax over the largest elements of a row, and its gradient.
#include "engine/ops/top_softmax/top_softmax.h"

#include <doctest/doctest.h>

#include <cmath>

#include "autograd/ops/top_softmax_node.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/gradients.h"

using namespace sink;

namespace {

struct Chosen {
  Tensor p, dx;
  Chosen(const Tensor& x, std::int64_t k, const Tensor& dp) : p(Tensor::empty_like(x)), dx(Tensor::empty_like(x)) {
    top_softmax(x, k, p);
    top_softmax_backward(dp, p, p, dx);
  }
};

}  // namespace

TEST_CASE("top softmax: k numbers of every row, which sum to 1; of equal ones the first; of huge ones no overflow") {
  const Tensor x = Tensor::from<float>({3, 4}, {1, 1, 1, 1, -9e9f, 9e9f, 9e9f, -9e9f, 2, 5, 5, 2});
  const Chosen chosen(x, 2, x);
  check_close("p", chosen.p, Tensor::from<double>({3, 4}, {0.5, 0.5, 0, 0, 0, 0.5, 0.5, 0, 0, 0.5, 0.5, 0}), 1e-7);
  const Chosen all(x, 4, x);
  CHECK(all.p.item(0) == doctest::Approx(0.25));
}

TEST_CASE("top softmax: a NaN stays one") {
  const Tensor x = Tensor::from<float>({1, 3}, {1, NAN, 0});
  CHECK(std::isnan(Chosen(x, 2, x).p.item(1)));
}

TEST_CASE("top softmax: every backend equals the double reference") {
  for (std::int64_t rows : {0, 1, 65})
    for (std::int64_t E : {2, 7, 32})
      for (DType dtype : {DType::F32, DType::BF16}) {
        CAPTURE(rows);
        CAPTURE(E);
        Tensors given{random_tensor({rows, E}, dtype, 1, 3), random_tensor({rows, E}, dtype, 2),
                      random_tensor({rows, E}, dtype, 3),    random_tensor({rows, E}, dtype, 4),
                      random_tensor({rows, E}, dtype, 5),    random_tensor({rows, E}, dtype, 6),
                      random_tensor({rows, E}, dtype, 7)};
        // p is random: with a rounded softmax, dp minus its mean may have no correct digits.
        check_backends("top_softmax", given, [](Tensors& t) {
          top_softmax(t[0], 2, t[2]);
          top_softmax_backward(t[1], t[3], t[3], t[4]);
          keep_largest(t[0], 2, t[5]);
          top_softmax_backward(t[1], t[5], t[3], t[6]);
        });
      }
}

TEST_CASE("gradient: top_softmax") {
  Var r = random_var({2, 3, 4}, 1);
  check_gradient([&] { return top_softmax(r, 2); }, {r});
  check_gradient([&] { return top_of_softmax(r, 2); }, {r});
}

TEST_CASE("top softmax: refuses shapes, types and numbers that do not fit") {
  Tensor x = Tensor::zeros({3, 4}), p = Tensor::zeros({3, 5}), wide = Tensor::zeros({3, 4}, DType::F64);
  check_refused([&] { top_softmax(x, 2, p); }, {"[top_softmax]", "f32 (3, 4)", "f32 (3, 5)"});
  check_refused([&] { top_softmax(x, 2, wide); }, {"f32 (3, 4)", "f64 (3, 4)"});
  Tensor q = Tensor::zeros({3, 4});
  check_refused([&] { top_softmax(x, 5, q); }, {"k = 5", "f32 (3, 4)"});
  check_refused([&] { top_softmax(x, 0, q); }, {"k = 0"});
  check_refused([&] { keep_largest(x, 5, q); }, {"[keep_largest]", "k = 5"});
  check_refused([&] { top_softmax_backward(p, x, x, q); }, {"[top_softmax_backward]", "f32 (3, 5)"});
  check_refused([&] { top_softmax_backward(x, x, p, q); }, {"[top_softmax_backward]", "f32 (3, 5)"});
}
