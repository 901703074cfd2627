// A larger tensor made of a few values, and the sums of its gradient.
#include "engine/ops/gather/gather.h"

#include <doctest/doctest.h>

#include "autograd/ops/add_node.h"
#include "autograd/ops/gather_node.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/gradients.h"

using namespace sink;

TEST_CASE("gather: repeated, missing and unused places by hand") {
  Tensor p = Tensor::from<float>({2, 2}, {1, 2, 3, 4});
  Tensor index = Tensor::from<std::int32_t>({2, 3}, {3, 0, -1, -1, 3, 1}), y = Tensor::empty({2, 3});
  gather(p, index, y);
  check_close("y", y, Tensor::from<float>({2, 3}, {4, 1, 0, 0, 4, 2}), 0);
  Tensor dy = Tensor::from<float>({2, 3}, {1, 2, 4, 8, 16, 32}), dp = Tensor::full({2, 2}, 100);
  gather_backward(dy, index, dp, true);
  check_close("dp added", dp, Tensor::from<float>({2, 2}, {102, 132, 100, 117}), 0);
  gather_backward(dy, index, dp, false);
  check_close("dp", dp, Tensor::from<float>({2, 2}, {2, 32, 0, 17}), 0);
}

TEST_CASE("gather: sizes, types and indices outside the numbers are named") {
  Tensor p = Tensor::zeros({3}), index = Tensor::from<std::int32_t>({2}, {0, 2}), y = Tensor::zeros({3});
  check_refused([&] { gather(p, index, y); }, {"[gather]", "f32 (3)", "i32 (2)"});
  Tensor y_f64 = Tensor::zeros({2}, DType::F64);
  check_refused([&] { gather(p, index, y_f64); }, {"[gather]", "f32 (3)", "f64 (2)"});
  y = Tensor::zeros({2});
  for (std::int32_t bad : {3, -2}) {
    index.data<std::int32_t>()[1] = bad;
    check_refused([&] { gather(p, index, y); }, {"[gather]", "index " + std::to_string(bad) + " at place 1", "[0, 3)"});
    check_refused([&] { gather_backward(y, index, p, false); }, {"[gather_backward]", "index " + std::to_string(bad)});
  }
}

TEST_CASE("gather: every backend equals the double reference, with missing and unused places") {
  for (std::int64_t P : {1, 7, 33, 300})
    for (std::int64_t N : {0, 1, 7, 128, 129, 1000, 20000})
      for (bool accumulate : {false, true}) {
        CAPTURE(P);
        CAPTURE(N);
        CAPTURE(accumulate);
        Tensor index = Tensor::empty({N}, DType::I32);
        Rng rng(0, "places");
        for (std::int64_t n = 0; n < N; ++n)
          index.data<std::int32_t>()[n] =
              static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(P + 1))) -
              1;
        Tensors given{index, random_tensor({P}, DType::F32, 1), random_tensor({N}, DType::F32, 2),
                      random_tensor({N}, DType::F32, 3), random_tensor({P}, DType::F32, 4)};
        auto run = [&](Tensors& t) {
          gather(t[1], t[0], t[2]);
          gather_backward(t[3], t[0], t[4], accumulate);
        };
        check_backends("gather", given, run, 1e-7);  // sums in double, rounded once
      }
}

TEST_CASE("gradient: gather, with repeated, missing and unused places") {
  const Parameter& p = random_parameter("p", {2, 3});
  Tensor index = Tensor::from<std::int32_t>({7}, {5, 0, -1, 5, 2, -1, 1});
  check_gradient([&] { return gather(p, index, {7, 1}); }, {p.var()});
  check_gradient([&] { return add(gather(p, index, {7}), gather(p, index, {7})); }, {p.var()});
}
