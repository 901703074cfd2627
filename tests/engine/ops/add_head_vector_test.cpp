// One vector per head added at every position, and its gradient.
#include "engine/ops/add_head_vector/add_head_vector.h"

#include <doctest/doctest.h>

#include "autograd/ops/add_bias_node.h"
#include "autograd/ops/add_head_vector_node.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/gradients.h"

using namespace sink;

namespace {

void check_head_vectors(const Shape& shape_BHTD, DType dtype, bool accumulate) {
  Shape shape_HD{shape_BHTD[1], shape_BHTD[3]};
  Tensors given{random_tensor(shape_BHTD, dtype, 1), random_tensor(shape_HD, DType::F32, 2),
                random_tensor(shape_BHTD, dtype, 3), random_tensor(shape_BHTD, dtype, 4),
                random_tensor(shape_HD, DType::F32, 5)};
  auto run = [&](Tensors& t) {
    add_head_vector(t[0], t[1], t[2]);
    add_head_vector_backward(t[3], t[4], accumulate);
  };
  check_backends("add_head_vector", given, run, 1e-6, 0x1p-8);
}

}  // namespace

TEST_CASE("add_head_vector: two heads and two positions by hand, in every type") {
  for (DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    DType master = accumulate_type(dtype);
    Tensor o = Tensor::from<float>({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}).to(dtype);
    Tensor v = Tensor::from<float>({2, 2}, {10, 20, -1, 0.5}).to(master), y = Tensor::empty(o.shape(), dtype);
    add_head_vector(o, v, y);
    check_close("y", y, Tensor::from<float>({1, 2, 2, 2}, {11, 22, 13, 24, 4, 6.5, 6, 8.5}), 0);
    Tensor dv = Tensor::full({2, 2}, 100, master);
    add_head_vector_backward(o, dv, true);
    check_close("dv added", dv, Tensor::from<float>({2, 2}, {104, 106, 112, 114}), 0);
    add_head_vector_backward(o, dv, false);
    check_close("dv", dv, Tensor::from<float>({2, 2}, {4, 6, 12, 14}), 0);
  }
}

TEST_CASE("add_head_vector: every backend equals the double reference") {
  for (DType dtype : {DType::F32, DType::BF16})
    for (bool accumulate : {false, true}) {
      CAPTURE(accumulate);
      for (std::int64_t B : {1, 5})
        for (std::int64_t H : {1, 3})
          for (std::int64_t T : {1, 7, 65})
            for (std::int64_t D : {1, 33, 65}) {
              CAPTURE(B);
              CAPTURE(H);
              CAPTURE(T);
              CAPTURE(D);
              check_head_vectors({B, H, T, D}, dtype, accumulate);
            }
      check_head_vectors({2, 3, 0, 7}, dtype, accumulate);
      check_head_vectors({300, 2, 33, 2}, dtype, accumulate);  // chunks of more than 32 positions
    }
}

TEST_CASE("gradient: add_head_vector") {
  Var o = random_var({2, 3, 4, 5}, 1), v = random_var({3, 5}, 2);
  check_gradient([&] { return add_head_vector(o, v); }, {o, v});
  check_gradient([&] { return add_head_vector(add_head_vector(o, v), v); }, {o, v});
}

TEST_CASE("gradient: add_bias, of any width, alone and twice") {
  for (std::int64_t C : {1, 7, 96, 130}) {
    CAPTURE(C);
    Var x = random_var({2, 3, C}, 1);
    const Parameter& b = random_parameter("b", {C});
    Var y = add_bias(x, b);
    for (std::int64_t n = 0; n < x.value().size(); ++n)
      REQUIRE(y.value().item(n) == x.value().item(n) + b.master().item(n % C));
    check_gradient([&] { return add_bias(x, b); }, {x, b.var()});
    check_gradient([&] { return add_bias(add(x, add_bias(x, b)), b); }, {x, b.var()});
  }
}

TEST_CASE("add_head_vector: shapes and types that do not fit are named") {
  Tensor o = Tensor::zeros({2, 3, 5, 4}), v = Tensor::zeros({3, 5}), y = Tensor::zeros({2, 3, 5, 4});
  check_refused([&] { add_head_vector(o, v, y); }, {"[add_head_vector]", "f32 (2, 3, 5, 4)", "f32 (3, 5)"});
  check_refused([&] { add_head_vector_backward(o, v, false); }, {"[add_head_vector_backward]", "f32 (3, 5)"});
  Tensor v_bf16 = Tensor::zeros({3, 4}, DType::BF16), fits = Tensor::zeros({3, 4}), other = Tensor::zeros({2, 3, 5, 5});
  check_refused([&] { add_head_vector(o, v_bf16, y); }, {"[add_head_vector]", "bf16 (3, 4)"});
  check_refused([&] { add_head_vector(o, fits, other); }, {"[add_head_vector]", "f32 (2, 3, 5, 5)"});
}
