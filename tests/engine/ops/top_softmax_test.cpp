// Softmax over the largest elements of a row, and its gradient.
#include "engine/ops/top_softmax/top_softmax.h"

#include <doctest/doctest.h>

#include <cmath>

#include "autograd/ops/top_softmax_node.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/gradients.h"
#include "tests/support/with_reference.h"

using namespace sink;

namespace {

struct Chosen {
  Tensor p, dx;
  Chosen(const Tensor& x, std::int64_t k, const Tensor& dp) : p(Tensor::empty_like(x)), dx(Tensor::empty_like(x)) {
    top_softmax(x, k, p);
    top_softmax_backward(dp, p, p, dx);
  }
};

// The largest of the softmax of the row.
struct ChosenOfSoftmax {
  Tensor s, p, dx;
  ChosenOfSoftmax(const Tensor& x, std::int64_t k, const Tensor& dp)
      : s(Tensor::empty_like(x)), p(Tensor::empty_like(x)), dx(Tensor::empty_like(x)) {
    top_softmax(x, x.dim(-1), s);
    keep_largest(s, k, p);
    top_softmax_backward(dp, p, s, dx);
  }
};

}  // namespace

TEST_CASE("top softmax: that of PyTorch's topk, softmax and their autograd in double") {
  const Tensor x = Tensor::from<double>({2, 4}, {0.5, -1.25, 2, 0.75, 3, 3.5, -2, 0});
  const Tensor dp = Tensor::from<double>({2, 4}, {1, -2, 0.5, 3, -1, 2, 0.25, 4});
  const std::vector<double> p[] = {
      {0, 0, 1, 0, 0, 1, 0, 0},
      {0, 0, 0.7772998611746911, 0.2227001388253088, 0.37754066879814546, 0.6224593312018546, 0, 0},
      {0.14780404965619495, 0, 0.6624117938958736, 0.18978415644793137, 0.37057510088902634, 0.6109750512275837, 0,
       0.018449847883390033}};
  const std::vector<double> dx[] = {
      {0, 0, 0, 0, 0, 0, 0, 0},
      {0, 0, -0.4327619674812424, 0.4327619674812425, -0.7050111366047835, 0.7050111366047835, 0, 0},
      {-0.0071481609282607935, 0, -0.3632417316531408, 0.37038989258140165, -0.7134216949518918, 0.6566916302366288, 0,
       0.05673006471526295}};
  for (std::int64_t k : {1, 2, 3})
    for (auto [type, tolerance] : {std::pair{DType::F64, 1e-15}, {DType::F32, 1e-6}}) {
      CAPTURE(k);
      const Chosen chosen(x.to(type), k, dp.to(type));
      check_close("p", chosen.p, Tensor::from<double>({2, 4}, p[k - 1]), tolerance);
      check_close("dx", chosen.dx, Tensor::from<double>({2, 4}, dx[k - 1]), tolerance, 1e-7);
    }
}

TEST_CASE("top softmax: the largest of the softmax of a row are those of PyTorch, with their autograd in double") {
  const Tensor x = Tensor::from<double>({2, 4}, {0.5, -1.25, 2, 0.75, 3, 3.5, -2, 0});
  const Tensor dp = Tensor::from<double>({2, 4}, {1, -2, 0.5, 3, -1, 2, 0.25, 4});
  const std::vector<double> p[] = {
      {0, 0, 0.6458241288588027, 0, 0, 0.6094532979091751, 0, 0},
      {0, 0, 0.6458241288588027, 0.18503171084610048, 0.3696521108448921, 0.6094532979091751, 0, 0},
      {0.14410284129998482, 0.02504131899511203, 0.6458241288588027, 0.18503171084610048, 0.3696521108448921,
       0.6094532979091751, 0.002490696330972949, 0.018403894914959865}};
  const std::vector<double> dx[] = {
      {-0.046532545974320494, -0.008086144012746807, 0.11436766172128565, -0.05974897173421836, -0.45057139606701485,
       0.4760399511536107, -0.003035926186003492, -0.022432628900592375},
      {-0.1265233317648814, -0.021986458299272406, -0.2441261686840245, 0.39263595874817825, -0.6835808238598226,
       0.7013256491871181, -0.002115235029785714, -0.015629590297509887},
      {0.004030931098564663, -0.07442348619256146, -0.3048466845816783, 0.3752392396756751, -0.711023151061207,
       0.6560809006126831, -0.001677465893256966, 0.05661971634178096}};
  int n = 0;
  for (std::int64_t k : {1, 2, 4}) {
    for (auto [type, tolerance] : {std::pair{DType::F64, 2e-15}, {DType::F32, 1e-6}}) {
      CAPTURE(k);
      const ChosenOfSoftmax chosen(x.to(type), k, dp.to(type));
      check_close("p", chosen.p, Tensor::from<double>({2, 4}, p[n]), tolerance);
      check_close("dx", chosen.dx, Tensor::from<double>({2, 4}, dx[n]), tolerance, 1e-7);
      const ChosenOfSoftmax reference = in_reference([&] { return ChosenOfSoftmax(x.to(type), k, dp.to(type)); });
      check_close("reference dx", reference.dx, Tensor::from<double>({2, 4}, dx[n]), tolerance, 1e-7);
    }
    ++n;
  }
}

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
