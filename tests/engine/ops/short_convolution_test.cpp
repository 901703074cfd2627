// The short convolution and its gradients.
#include "engine/ops/short_convolution/short_convolution.h"

#include <doctest/doctest.h>

#include "autograd/ops/short_convolution_node.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/gradients.h"

using namespace sink;

TEST_CASE("short convolution: by hand, the last weight for the token itself") {
  const Tensor x = Tensor::from<double>({1, 3, 2}, {1, 10, 2, 20, 3, 30}),
               w = Tensor::from<double>({2, 2}, {5, 1, 7, 0});
  Tensor y = Tensor::zeros({1, 3, 2}, DType::F64);
  short_convolution(x, {}, w, y);
  check_close("from the first token", y, Tensor::from<double>({1, 3, 2}, {1, 0, 7, 70, 13, 140}), 0);
  short_convolution(x, Tensor::from<double>({1, 1, 2}, {4, 40}), w, y);
  check_close("after another", y, Tensor::from<double>({1, 3, 2}, {21, 280, 7, 70, 13, 140}), 0);
}

TEST_CASE("short convolution: every backend equals the double reference") {
  for (std::int64_t T : {0, 1, 3, 33})
    for (std::int64_t K : {1, 4})
      for (DType dtype : {DType::F32, DType::BF16}) {
        CAPTURE(T);
        CAPTURE(K);
        const Shape x{2, T, 19};
        Tensors given{random_tensor(x, dtype, 1),
                      random_tensor({2, K - 1, 19}, dtype, 2),
                      random_tensor({19, K}, DType::F32, 3),
                      random_tensor(x, dtype, 4),
                      random_tensor(x, dtype, 5),
                      random_tensor(x, dtype, 6),
                      random_tensor({19, K}, DType::F32, 7),
                      random_tensor({19, K}, DType::F32, 8)};
        check_backends("short_convolution", given, [](Tensors& t) {
          short_convolution(t[0], t[1], t[2], t[3]);
          short_convolution_backward(t[4], t[0], t[2], t[5], t[6], /*accumulate=*/true);
          short_convolution_backward(t[4], t[0], t[2], t[5], t[7], /*accumulate=*/false);
        });
      }
}

TEST_CASE("gradient: short convolution") {
  const Parameter& w = random_parameter("w", {3, 4});
  Var x = random_var({2, 6, 3}, 1);
  check_gradient([&] { return short_convolution(x, {}, w); }, {x, w.var()});
}

TEST_CASE("short convolution: refuses shapes and types that do not fit") {
  const Tensor x = Tensor::zeros({1, 2, 3}), w = Tensor::zeros({3, 4});
  Tensor y = Tensor::zeros({1, 2, 3});
  check_refused([&] { short_convolution(x, {}, x, y); }, {"[short_convolution]", "f32 (1, 2, 3)"});
  check_refused([&] { short_convolution(x, {}, w.to(DType::F64), y); }, {"w is f64 (3, 4)"});
  check_refused([&] { short_convolution(x, x, w, y); }, {"expected before to be f32 (1, 3, 3)"});
}
