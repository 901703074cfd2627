// Reordering between rows and heads, and the sum of heads, on the CUDA device.
#include <doctest/doctest.h>

#include "engine/ops/heads/heads.h"
#include "tests/support/device_backend.h"

using namespace sink;

namespace {

// Tolerance 0: moved numbers are the same. What is written begins as other numbers, so none may be left out.
void check_moved(const char* what, const Tensors& given, const std::function<void(Tensors&)>& run) {
  check_device_backend(what, given, run, 0, 0);
  if (given[0].dim(-1) % 8 == 0) check_unaligned_backend(what, given, run, 0, 0);
}

void check_heads(std::int64_t B, std::int64_t H, std::int64_t G, std::int64_t T, std::int64_t D, DType dtype) {
  Tensor qkv = random_tensor({B, T, (H + 2 * G) * D}, dtype, 1), rows = random_tensor({B, T, H * D}, dtype, 2);
  Tensor q = random_tensor({B, H, T, D}, dtype, 3), k = random_tensor({B, G, T, D}, dtype, 4);
  Tensor v = random_tensor({B, G, T, D}, dtype, 5), y = random_tensor({B, T, D}, dtype, 6);
  check_moved("split_heads", {qkv, q, k, v}, [](Tensors& t) { split_heads(t[0], t[1], t[2], t[3]); });
  check_moved("split_heads_backward", {qkv, q, k, v}, [](Tensors& t) { split_heads_backward(t[1], t[2], t[3], t[0]); });
  check_moved("merge_heads", {rows, q}, [](Tensors& t) { merge_heads(t[1], t[0]); });
  check_moved("merge_heads_backward", {rows, q}, [](Tensors& t) { merge_heads_backward(t[0], t[1]); });
  check_device_backend("sum_heads", {q, y}, [](Tensors& t) { sum_heads(t[0], t[1]); });
  check_moved("sum_heads_backward", {y, q}, [](Tensors& t) { sum_heads_backward(t[0], t[1]); });
}

}  // namespace

TEST_CASE("heads on the device: equal the double reference") {
  const std::pair<std::int64_t, std::int64_t> heads[]{{1, 1}, {4, 4}, {6, 2}};
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t B : {1, 3})
      for (auto [H, G] : heads)
        for (std::int64_t T : {1, 9})
          for (std::int64_t D : {1, 7, 65, 72}) {
            CAPTURE(B);
            CAPTURE(H);
            CAPTURE(T);
            CAPTURE(D);
            check_heads(B, H, G, T, D, dtype);
          }
  check_heads(2, 3, 1, 0, 8, DType::F32);
  check_heads(1, 20, 1, 2, 64, DType::F32);  // more vectors than a block has threads
}
