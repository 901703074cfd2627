// Chapter 2 of the tour: an operation that records itself, and the way back of its gradient.
#include <cstdio>

#include "autograd/grad_check.h"
#include "autograd/ops/add_node.h"
#include "autograd/record.h"
#include "tools/tour/tour_chapters.h"

namespace sink::tour {

// y = x^2, so dy/dx = 2x.
struct SquareNode {
  Var x;

  static constexpr const char* name = "square";
  void backward(const Tensor& dy) {
    Tensor dx = Tensor::empty_like(x.value());
    for (std::int64_t i = 0; i < dx.size(); ++i) dx.data<double>()[i] = 2 * x.value().item(i) * dy.item(i);
    x.gradient().accumulate(dx);
  }
};

Var square(const Var& x) {
  Tensor y = Tensor::empty_like(x.value());
  for (std::int64_t i = 0; i < y.size(); ++i) y.data<double>()[i] = x.value().item(i) * x.value().item(i);
  return record<SquareNode>(y, x);
}

void tape_chapter() {
  Var x(Tensor::from<double>({1}, {3}), /*requires_grad=*/true);
  {
    Tape tape;
    Var u = square(x), loss = add(u, x);
    std::printf("x = %g, u = x^2 = %g, loss = u + x = %g\n", x.value().item(), u.value().item(), loss.value().item());
    for (std::size_t n = 0; n < tape.nodes().size(); ++n) std::printf("tape %d: %s\n", int(n), tape.nodes()[n]->name());
    tape.backward(loss);
    std::printf("after backward: %d nodes on the tape, d loss / dx = %g\n", int(tape.nodes().size()), x.grad().item());
  }
  GradCheckResult check = check_gradients([&] { return add(square(x), x); }, {x});
  std::printf("finite differences say the same: %s\n", check.worst < 1e-9 ? "yes" : check.where.c_str());
}

}  // namespace sink::tour
