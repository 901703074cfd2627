// Reordering between rows and heads.
#include "engine/ops/heads/heads.h"

#include <doctest/doctest.h>

#include "tests/support/check_refused.h"
#include "tests/support/compare.h"

using namespace sink;

TEST_CASE("heads: two positions and two heads by hand") {
  // Row t holds q of heads 0 and 1, then k, then v; D = 1.
  Tensor qkv = Tensor::from<float>({1, 2, 6}, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15});
  Tensor q = Tensor::empty({1, 2, 2, 1}), k = q.clone(), v = q.clone(), rows = Tensor::empty({1, 2, 2});
  split_heads(qkv, q, k, v);
  check_close("q", q, Tensor::from<float>({1, 2, 2, 1}, {0, 10, 1, 11}), 0);
  check_close("k", k, Tensor::from<float>({1, 2, 2, 1}, {2, 12, 3, 13}), 0);
  check_close("v", v, Tensor::from<float>({1, 2, 2, 1}, {4, 14, 5, 15}), 0);
  merge_heads(q, rows);
  check_close("merged", rows, Tensor::from<float>({1, 2, 2}, {0, 1, 10, 11}), 0);
}

TEST_CASE("heads: merging undoes splitting, gathering undoes splitting, in every type and size") {
  for (DType dtype : {DType::F32, DType::BF16, DType::F64})
    for (std::int64_t B : {1, 3})
      for (std::int64_t H : {1, 4})
        for (std::int64_t T : {1, 2, 33})
          for (std::int64_t D : {1, 7, 32}) {
            Tensor qkv = random_tensor({B, T, 3 * H * D}, dtype, 1), back = Tensor::zeros(qkv.shape(), dtype);
            Tensor q = Tensor::empty({B, H, T, D}, dtype), k = q.clone(), v = q.clone(), again = q.clone();
            split_heads(qkv, q, k, v);
            split_heads_backward(q, k, v, back);
            check_close("qkv", back, qkv, 0);
            Tensor rows = Tensor::empty({B, T, H * D}, dtype);
            merge_heads(v, rows);
            merge_heads_backward(rows, again);
            check_close("v", again, v, 0);
            // Element (b, h, t, d) of part 0, 1 or 2 is element (b, t, part H D + h D + d) of the rows.
            std::int64_t wrong = 0;
            for (std::int64_t i = 0; i < q.size(); ++i) {
              std::int64_t d = i % D, t = i / D % T, h = i / (D * T) % H, row = i / (D * T * H) * T + t;
              wrong += q.item(i) != qkv.item((row * 3 * H + h) * D + d);
              wrong += k.item(i) != qkv.item(((row * 3 + 1) * H + h) * D + d);
              wrong += v.item(i) != qkv.item(((row * 3 + 2) * H + h) * D + d);
              wrong += v.item(i) != rows.item((row * H + h) * D + d);
            }
            CHECK(wrong == 0);
          }
}

TEST_CASE("heads: shapes and types that do not fit are named") {
  Tensor qkv = Tensor::zeros({2, 5, 24}), q = Tensor::zeros({2, 2, 5, 3}), rows = Tensor::zeros({2, 5, 6});
  check_refused([&] { split_heads(qkv, q, q, q); }, {"[heads]", "f32 (2, 5, 24)", "f32 (2, 2, 5, 3)"});
  check_refused([&] { merge_heads(q, qkv); }, {"[heads]", "f32 (2, 5, 24)", "f32 (2, 2, 5, 3)"});
  Tensor q_f64 = q.to(DType::F64);
  check_refused([&] { merge_heads(q_f64, rows); }, {"[heads]", "f64 (2, 2, 5, 3)", "f32 (2, 5, 6)"});
}
