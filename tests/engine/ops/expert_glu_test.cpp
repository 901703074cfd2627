// The gated units of a mixture's experts, and their gradients.
#include "engine/ops/expert_glu/expert_glu.h"

#include <doctest/doctest.h>

#include <cmath>

#include "autograd/ops/expert_glu_node.h"
#include "autograd/ops/top_softmax_node.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/gradients.h"

using namespace sink;

namespace {

struct Units {
  Tensor y, dgate_up, dp;
  Units(const Tensor& gate_up, const Tensor& p, const Tensor& dy, ExpertUnit unit = ExpertUnit::clamped_swiglu)
      : y(Tensor::empty_like(dy)), dgate_up(Tensor::empty_like(gate_up)), dp(Tensor::empty_like(p)) {
    expert_glu(gate_up, p, unit, y);
    expert_glu_backward(dy, gate_up, p, unit, dgate_up, dp);
  }
};

constexpr ExpertUnit kUnits[] = {ExpertUnit::clamped_swiglu, ExpertUnit::swiglu};

}  // namespace

TEST_CASE("expert units: those of gpt-oss by PyTorch and its autograd in double, cut off and not") {
  const Tensor gate_up = Tensor::from<double>({1, 12}, {0.5, -1, 9, 2, -3, 8.5, 1.25, -7.5, 7.5, -9, -0.25, 0.75});
  const Tensor p = Tensor::from<double>({1, 2}, {0.75, 0.25}),
               dy = Tensor::from<double>({1, 6}, {1, -2, 0.5, 3, -1, 2});
  for (auto [type, tolerance] : {std::pair{DType::F64, 1e-15}, {DType::F32, 1e-6}}) {
    const Units units(gate_up.to(type), p.to(type), dy.to(type));
    check_close("y", units.y,
                Tensor::from<double>({1, 6}, {0, 15.749894538682465, -0.10842785824671582, -1.675401452164754,
                                              -10.499929692454977, -0.04322515316866505}),
                tolerance);
    check_close("dgate_up", units.dgate_up,
                Tensor::from<double>({1, 12}, {0, 0.2627913274547851, 0, -10.499929692454977, -0.07364497171695705, 0,
                                               -4.931622525374828, 0, 0, 0, 0.2568121141475165, -0.04940017504990291}),
                tolerance);
    check_close("dp", units.dp, Tensor::from<double>({1, 2}, {-42.07200400865105, 21.54910011849354}), tolerance);
  }
}

TEST_CASE("expert units: an expert that was not chosen gives zeros, whatever it computes") {
  const Tensor gate_up = Tensor::from<float>({1, 8}, {NAN, 1, INFINITY, 2, 1, 2, 3, 4});
  const Tensor p = Tensor::from<float>({1, 2}, {0, 1}), dy = Tensor::full({1, 4}, 1);
  const Units units(gate_up, p, dy);
  CHECK(units.y.item(0) == 0);
  CHECK(units.y.item(1) == 0);
  CHECK(units.y.item(2) != 0);
  const Units chosen(gate_up, Tensor::from<float>({1, 2}, {1, 0}), dy);
  CHECK(std::isnan(chosen.y.item(0)));
}

TEST_CASE("expert units: every backend equals the double reference") {
  for (auto [rows, unit] : {std::pair{0, kUnits[0]}, {1, kUnits[0]}, {33, kUnits[0]}, {33, kUnits[1]}})
    for (auto [E, F] : {std::pair{2, 1}, {3, 7}, {5, 33}})
      for (DType dtype : {DType::F32, DType::BF16}) {
        CAPTURE(rows);
        CAPTURE(F);
        Tensors given{random_tensor({rows, E * 2 * F}, dtype, 1, 4), random_tensor({rows, E}, dtype, 2),
                      random_tensor({rows, E * F}, dtype, 3),        random_tensor({rows, E * F}, dtype, 4),
                      random_tensor({rows, E * 2 * F}, dtype, 5),    random_tensor({rows, E}, dtype, 6)};
        check_backends("expert_glu", given, [unit](Tensors& t) {
          expert_glu(t[0], t[1], unit, t[3]);
          expert_glu_backward(t[2], t[0], t[1], unit, t[4], t[5]);
        });
      }
}

TEST_CASE("gradient: expert_glu, alone and with the weights of a router") {
  Var r = random_var({2, 3, 4}, 1), gate_up = random_var({2, 3, 4 * 2 * 5}, 2, 3), p = random_var({2, 3, 4}, 3);
  for (std::int64_t i = 0; i < gate_up.value().size(); ++i)
    REQUIRE(std::abs(std::abs(gate_up.value().item(i)) - 7) > 2e-3);
  for (ExpertUnit unit : kUnits) {
    check_gradient([&] { return expert_glu(gate_up, p, unit); }, {gate_up, p});
    check_gradient([&] { return expert_glu(gate_up, top_softmax(r, 2), unit); }, {gate_up, r});
  }
}

TEST_CASE("expert units: refuse shapes and types that do not fit, with all of them") {
  Tensor gate_up = Tensor::zeros({3, 12}), p = Tensor::zeros({3, 2}), y = Tensor::zeros({3, 6});
  check_refused(
      [&] {
        expert_glu(Tensor::zeros({3, 10}), p, kUnits[0], y);
      },
      {"[expert_glu]", "f32 (3, 10)", "f32 (3, 6)"});
  check_refused([&] { expert_glu(gate_up, Tensor::zeros({3, 4}), kUnits[0], y); }, {"f32 (3, 4)", "f32 (3, 6)"});
  check_refused([&] { expert_glu(gate_up, Tensor::zeros({2, 2}), kUnits[0], y); }, {"f32 (2, 2)"});
  check_refused([&] { expert_glu(gate_up, Tensor::zeros({3, 2}, DType::F64), kUnits[0], y); }, {"f64 (3, 2)"});
  Tensor wrong = Tensor::zeros({3, 11});
  check_refused([&] { expert_glu_backward(y, gate_up, p, kUnits[0], wrong, p); },
                {"[expert_glu_backward]", "f32 (3, 11)"});
}
