// Chapter 1 of the tour: where a tensor's numbers lie, and who shares them.
#include <cstdio>

#include "engine/tensor.h"
#include "tools/tour/tour_chapters.h"

namespace sink::tour {

void tensor_chapter() {
  // Two texts of three tokens, four numbers each: 0, 1, ... 23, in the order in which they lie in memory.
  std::vector<double> numbers;
  for (int n = 0; n < 24; ++n) numbers.push_back(n);
  Tensor x_BTC = Tensor::from<double>({2, 3, 4}, numbers);
  std::printf("x is %s: %d numbers, %d bytes\n", x_BTC.str().c_str(), int(x_BTC.size()), int(x_BTC.bytes()));

  std::int64_t T = x_BTC.dim(1), C = x_BTC.dim(2), b = 1, t = 2, c = 3;
  std::int64_t place = (b * T + t) * C + c;
  std::printf("x(1, 2, 3) lies at place %d: %g\n", int(place), x_BTC.item(place));

  Tensor flat = x_BTC.reshape({6, 4}), second = x_BTC.rows(1, 2), copy = x_BTC.clone();
  std::printf("flat is %s, second is %s and begins with %g\n", flat.str().c_str(), second.str().c_str(), second.item());
  second.fill(-1);
  std::printf("after second.fill(-1): x has %g at place 12, flat %g, copy %g\n", x_BTC.item(12), flat.item(12),
              copy.item(12));

  for (DType type : {DType::F64, DType::F32, DType::BF16}) {
    Tensor third = Tensor::full({1}, 1.0 / 3, DType::F64).to(type);
    std::printf("1/3 in %d bytes: %.17f\n", int(third.bytes()), third.item());
  }
}

}  // namespace sink::tour
