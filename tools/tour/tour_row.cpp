// Chapter 4 of the tour: one row of attention, forward and backward, by softmax and by sigmoid.
#include "tools/tour/tour_row.h"

#include <cstdio>

#include "tools/tour/tour_chapters.h"

namespace sink::tour {
namespace {

void print_numbers(const char* name, const Tensor& x) {
  std::printf("  %-4s", name);
  for (std::int64_t n = 0; n < x.size(); ++n) std::printf(" %7.4f", x.item(n));
  std::printf("\n");
}

template <class Op>
void print_row(const Op& op) {
  TourRow row;
  row.forward(op);
  std::printf("%s: m = %.4f, S = %.4f\n", Op::name, row.m_BHT.item(), row.S_BHT.item());
  print_numbers("o", row.o_BHTD);  // which is a, since the values are unit vectors

  // The loss is the first number of o, which is a_1.
  Tensor do_BHTD = Tensor::from<double>({1, 1, 1, 4}, {1, 0, 0, 0});
  AttentionGradients gradients = row.backward(op, do_BHTD);
  print_numbers("dq", gradients.dq_BHTD);
  for (std::int64_t j = 0; j < 4; ++j)
    print_numbers(("dk_" + std::to_string(j + 1)).c_str(), gradients.dk_BGKD.slice(j * 4, {4}));
}

}  // namespace

void row_chapter() {
  print_row(Softmax{});
  print_row(Sigmoid{});
}

}  // namespace sink::tour
