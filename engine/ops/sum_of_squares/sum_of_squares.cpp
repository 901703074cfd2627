#include "engine/ops/sum_of_squares/sum_of_squares.h"

#include <vector>

#include "engine/ops/sum_of_squares/sum_of_squares_ref.h"
#include "engine/threads.h"

namespace sink {

double sum_of_squares(const Tensor& x) {
  constexpr std::int64_t kBlock = 1 << 14;  // summed alone, then in order
  std::int64_t blocks = (x.size() + kBlock - 1) / kBlock;
  std::vector<double> partial(static_cast<std::size_t>(blocks));
  with_real(x.dtype(), [&](auto zero) {
    using R = decltype(zero);
    parallel_chunks(blocks, 2, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t block = first; block < last; ++block)
        partial[static_cast<std::size_t>(block)] =
            ref::sum_of_squares(x.data<R>(), block * kBlock, std::min(x.size(), (block + 1) * kBlock));
    });
  });
  double sum = 0;
  for (double part : partial) sum += part;
  return sum;
}

}  // namespace sink
