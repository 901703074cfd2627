// The token table on the CUDA device.
#include <doctest/doctest.h>

#include "engine/ops/embedding/embedding.h"
#include "tests/support/device_backend.h"

using namespace sink;

namespace {

Tensor random_tokens(std::int64_t B, std::int64_t T, std::int64_t V) {
  Tensor tokens = Tensor::empty({B, T}, DType::I32);
  Rng rng(0, "tokens");
  for (std::int64_t n = 0; n < B * T; ++n)
    tokens.data<std::int32_t>()[n] =
        static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(V)));
  return tokens;
}

void check_embedding(const Tensor& tokens, std::int64_t V, std::int64_t C, bool accumulate) {
  std::int64_t B = tokens.dim(0), T = tokens.dim(1);
  Tensors given{tokens, random_tensor({V, C}, DType::F32, 1), Tensor::zeros({B, T, C}),
                random_tensor({B, T, C}, DType::F32, 3), random_tensor({V, C}, DType::F32, 4)};
  check_device_backend("embedding", given, [&](Tensors& t) {
    embedding(t[0], t[1], t[2]);
    embedding_backward(t[3], t[0], t[4], accumulate);
  });
}

// In F32 1e8 + 1 - 1e8 is 0, while 1e8 - 1e8 + 1 is 1.
void check_order_of_sums() {
  Tensor dx = Tensor::from<float>({1, 6, 1}, {1e8f, 1e8f, 1, -1e8f, -1e8f, 1});
  Tensor tokens = Tensor::from<std::int32_t>({1, 6}, {1, 0, 1, 1, 0, 0}).to(Device::cuda);
  Tensor dw = Tensor::full({2, 1}, 5, DType::F32, Device::cuda);
  embedding_backward(dx.to(Device::cuda), tokens, dw, false);
  check_close("dw", dw.to(Device::cpu), Tensor::from<float>({2, 1}, {1, 0}), 0);
}

}  // namespace

// Runs of one token of every length about that of a piece of 32 places, and at every distance from where one begins.
TEST_CASE("embedding on the device: a token's places fill pieces, end with them, or reach over many") {
  for (std::int64_t offset : {0, 1, 31, 32, 33})
    for (std::int64_t length : {1, 31, 32, 33, 63, 64, 65, 97, 130}) {
      CAPTURE(offset);
      CAPTURE(length);
      Tensor tokens = Tensor::empty({1, offset + length + 40}, DType::I32);
      for (std::int64_t n = 0; n < tokens.size(); ++n)
        tokens.data<std::int32_t>()[n] = n < offset ? 0 : n < offset + length ? 1 : 2;
      check_embedding(tokens, 3, 5, length % 2 == 0);
    }
}

TEST_CASE("embedding on the device: equals the double reference, gradients are added in the order of the tokens") {
  for (std::int64_t T : {1, 7, 65})
    for (std::int64_t V : {1, 5, 300})
      for (std::int64_t C : {1, 33, 128, 300})
        for (bool accumulate : {false, true}) {
          CAPTURE(T);
          CAPTURE(V);
          CAPTURE(C);
          CAPTURE(accumulate);
          check_embedding(random_tokens(3, T, V), V, C, accumulate);
        }
  // Sorted in tiles of 256, then merged two and two: 1 to 5 tiles, the last one full or not.
  for (std::int64_t T : {85, 86, 171, 256, 300, 427})
    for (std::int64_t V : {1, 3, 40, 2000}) check_embedding(random_tokens(3, T, V), V, 4, true);
  check_embedding(Tensor::from<std::int32_t>({2, 3}, {9, 0, 9, 0, 9, 9}), 10, 5, true);
  for (bool accumulate : {false, true}) check_embedding(Tensor::empty({0, 4}, DType::I32), 10, 5, accumulate);
  check_order_of_sums();
}
