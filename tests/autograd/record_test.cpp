// record(): which operations the tape records, and which gradients their backward pass receives.
#include "autograd/record.h"

#include <doctest/doctest.h>

namespace sink {
namespace {

// (y, z) = (x, c x) with a constant c.
struct CopyAndScaleNode {
  static constexpr const char* name = "copy_and_scale";
  Gradient dx;
  double c;
  std::vector<bool>* defined;

  static bool allows_undefined_grad(std::size_t output) { return output == 1; }
  void backward(Tensor dy, const Tensor& dz) {
    *defined = {dy.defined(), dz.defined()};
    CHECK(dy.unique());  // handed over
    if (dz.defined())
      for (std::int64_t i = 0; i < dy.size(); ++i) dy.data<double>()[i] += c * dz.item(i);
    dx.accumulate(std::move(dy));
  }
};

std::array<Var, 2> copy_and_scale(const Var& x, double c, std::vector<bool>* defined) {
  Tensor z = x.value().clone();
  for (std::int64_t i = 0; i < z.size(); ++i) z.data<double>()[i] *= c;
  return record<CopyAndScaleNode>(std::array{x.value().clone(), z}, x.gradient(), c, defined);
}

Tensor ones() { return Tensor::full({3}, 1, DType::F64); }

}  // namespace

TEST_CASE("record: a node is made if a tape is alive and an input requires a gradient") {
  std::vector<bool> defined;
  Var x(ones(), /*requires_grad=*/true), constant(ones());
  CHECK_FALSE(copy_and_scale(x, 2, &defined)[0].requires_grad());
  Tape tape;
  CHECK_FALSE(copy_and_scale(constant, 2, &defined)[0].requires_grad());
  CHECK(tape.nodes().empty());
  auto [y, z] = copy_and_scale(x, 2, &defined);
  REQUIRE(tape.nodes().size() == 1);
  CHECK(std::string(tape.nodes()[0]->name()) == "copy_and_scale");
  CHECK(y.requires_grad());
  CHECK(z.value().item(0) == 2);
}

TEST_CASE("record: a gradient that did not arrive is zero, or undefined if the operation allows it") {
  std::vector<bool> defined;
  for (int arriving : {0, 1, 2}) {  // of y, of z, of both
    CAPTURE(arriving);
    Var x(ones(), /*requires_grad=*/true);
    Tape tape;
    auto [y, z] = copy_and_scale(x, 2, &defined);
    if (arriving != 1) y.gradient().accumulate(ones());
    if (arriving != 0) z.gradient().accumulate(ones());
    tape.backward_from_outputs();
    CHECK(defined == std::vector<bool>{true, arriving != 0});
    CHECK(x.grad().item(0) == (arriving != 1 ? 1 : 0) + (arriving != 0 ? 2 : 0));
    CHECK_FALSE(y.grad().defined());
  }
}

}  // namespace sink
