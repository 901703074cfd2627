// The token table: looking up rows and adding up their gradients.
#include "engine/ops/embedding/embedding.h"

#include <doctest/doctest.h>

#include "autograd/ops/embedding_node.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/gradients.h"

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
  check_backends("embedding", given, [&](Tensors& t) {
    embedding(t[0], t[1], t[2]);
    embedding_backward(t[3], t[0], t[4], accumulate);
  });
}

}  // namespace

TEST_CASE("embedding: rows by hand, and a repeated token gathers all its gradients") {
  Tensor tokens = Tensor::from<std::int32_t>({1, 3}, {2, 0, 2});
  Tensor w = Tensor::from<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  Tensor x = Tensor::empty({1, 3, 2});
  embedding(tokens, w, x);
  check_close("x", x, Tensor::from<float>({1, 3, 2}, {5, 6, 1, 2, 5, 6}), 0);
  Tensor dx = Tensor::from<float>({1, 3, 2}, {1, 10, 2, 20, 4, 40}), dw = Tensor::full({3, 2}, 100);
  embedding_backward(dx, tokens, dw, true);
  check_close("dw added", dw, Tensor::from<float>({3, 2}, {102, 120, 100, 100, 105, 150}), 0);
  embedding_backward(dx, tokens, dw, false);
  check_close("dw", dw, Tensor::from<float>({3, 2}, {2, 20, 0, 0, 5, 50}), 0);
}

// Lengths near the device's blocks of 32 places, at several distances from the start of a block.
TEST_CASE("embedding: the places of a token fill a block, end with one, or reach over many") {
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

TEST_CASE("embedding: every backend equals the double reference") {
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
}

TEST_CASE("embedding: the device adds the gradients of a token in the order of its places, in F32") {
  for (Device device : kAccelerators) {
    // 1e8 + 1 - 1e8 is 0, while 1e8 - 1e8 + 1 is 1.
    Tensor dx = Tensor::from<float>({1, 6, 1}, {1e8f, 1e8f, 1, -1e8f, -1e8f, 1}).to(device);
    Tensor tokens = Tensor::from<std::int32_t>({1, 6}, {1, 0, 1, 1, 0, 0}).to(device);
    Tensor dw = Tensor::full({2, 1}, 5, DType::F32, device);
    embedding_backward(dx, tokens, dw, false);
    check_close("dw", dw.to(Device::cpu), Tensor::from<float>({2, 1}, {1, 0}), 0);
  }
}

TEST_CASE("gradient: embedding, with a token that repeats") {
  const Parameter& w = random_parameter("w", {6, 4});
  Tensor tokens = Tensor::from<std::int32_t>({2, 3}, {1, 5, 1, 0, 1, 3});
  check_gradient([&] { return embedding(tokens, w); }, {w.var()});
}

TEST_CASE("embedding: shapes and types that do not fit are named") {
  Tensor tokens = Tensor::from<std::int32_t>({1, 2}, {0, 1}), w = Tensor::zeros({3, 4}), x = Tensor::zeros({1, 2, 5});
  check_refused([&] { embedding(tokens, w, x); }, {"[embedding]", "i32 (1, 2)", "f32 (3, 4)", "f32 (1, 2, 5)"});
  Tensor x_f64 = Tensor::zeros({1, 2, 4}, DType::F64);
  check_refused([&] { embedding(tokens, w, x_f64); }, {"[embedding]", "f32 (3, 4)", "f64 (1, 2, 4)"});
}
