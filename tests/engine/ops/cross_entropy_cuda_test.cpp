// Cross-entropy and the gradient of the logits on the CUDA device.
#include <doctest/doctest.h>

#include <cmath>

#include "engine/ops/cross_entropy/cross_entropy.h"
#include "tests/support/device_backend.h"

using namespace sink;

namespace {

// Targets below V, the last among them, with -1 at every fifth row but the first.
Tensor some_targets(std::int64_t N, std::int64_t V) {
  Tensor targets = Tensor::empty({N}, DType::I32);
  for (std::int64_t n = 0; n < N; ++n)
    targets.data<std::int32_t>()[n] = n % 5 == 4 ? -1 : static_cast<std::int32_t>((V - 1 + n * 7) % V);
  return targets;
}

void check_cross_entropy(const Tensor& logits, const Tensor& targets) {
  Tensor loss = random_tensor({logits.dim(0)}, DType::F32, 2);
  auto run = [](Tensors& t) {
    cross_entropy(t[0], t[1], t[2]);
    cross_entropy_to_gradient(t[0], t[1], 0.25, t[3]);
  };
  check_device_backend("cross_entropy", {logits, targets, loss, loss}, run);
  if (logits.dim(1) == 256 && logits.dim(0) == 1)
    check_unaligned_backend("cross_entropy", {logits, targets, loss, loss}, run);
}

// What is not a number, at any place of a row, is not lost.
void check_nan(std::int64_t place) {
  Tensor logits = random_tensor({1, 300}, DType::F32, 4);
  logits.data<float>()[place] = NAN;
  check_cross_entropy(logits, some_targets(1, 300));
}

}  // namespace

TEST_CASE("cross_entropy on the device: equals the double reference, large logits and NaN too") {
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t N : {0, 1, 7})
      for (std::int64_t V : {1, 2, 65, 256, 300, 1000}) {
        CAPTURE(N);
        CAPTURE(V);
        // Of scale 1: where a target is nearly certain, the loss is a small difference of logits.
        check_cross_entropy(random_tensor({N, V}, dtype, 1), some_targets(N, V));
      }
  // More logits than a block takes at once, in vectors and one by one, the last pass full or not.
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t V : {1101, 2048, 4104, 9000})
      check_cross_entropy(random_tensor({2, V}, dtype, 1), some_targets(2, V));
  Tensor large = Tensor::from<float>({3, 3}, {1e4f, -1e4f, 0, 1e4f, -1e4f, 0, -1e4f, -1e4f, -1e4f});
  check_cross_entropy(large, Tensor::from<std::int32_t>({3}, {0, 1, 2}));
  for (std::int64_t place : {0, 7, 33, 299}) check_nan(place);
}
