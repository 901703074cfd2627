// Chapter 9 of the tour: what single policies make of the row of chapter 4.
#include <cstdio>

#include "tools/tour/tour_chapters.h"
#include "tools/tour/tour_row.h"

namespace sink::tour {
namespace {

template <class Op>
void print_weights(const char* ablation, const Op& op, TourRow row = {}) {
  row.forward(op);
  double mass = 0;
  std::printf("%-16s", ablation);
  for (std::int64_t j = 0; j < 4; ++j) {
    std::printf(" %.4f", row.o_BHTD.item(j));
    mass += row.o_BHTD.item(j);
  }
  std::printf("   row mass %.4f\n", mass);
}

}  // namespace

void policy_chapter() {
  print_weights("baseline", Softmax{});
  print_weights("op_sigmoid_none", Sigmoid{});
  TourRow with_key;  // one key more, of score 0 and value 0
  with_key.config.extra_key.logit_H = Tensor::zeros({1}, DType::F64);
  print_weights("op_softmax1", Softmax{}, with_key);
  TourRow with_bias;  // by distance 0 ... 3, of slope 1/2
  with_bias.config.bias_HT = Tensor::from<double>({1, 4}, {0, -0.5, -1, -1.5});
  print_weights("pos_alibi", Softmax{}, with_bias);
  TourRow with_window;
  with_window.config.range.window = 2;
  print_weights("--window 2", Softmax{}, with_window);
}

}  // namespace sink::tour
