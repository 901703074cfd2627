// Reordering between rows and heads, and the sum of heads.
#include "engine/ops/heads/heads.h"

#include <doctest/doctest.h>

#include "autograd/ops/add_node.h"
#include "autograd/ops/heads_node.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/gradients.h"

using namespace sink;

namespace {

// Tolerance 0, because values are only moved. The outputs start with other values, so an element that is not written is
// found.
void check_moved(const char* what, const Tensors& given, const std::function<void(Tensors&)>& run) {
  check_backends(what, given, run, 0, 0);
  if (given[0].dim(-1) % 8 == 0) check_unaligned_backends(what, given, run, 0, 0);
}

void check_heads(std::int64_t B, std::int64_t H, std::int64_t G, std::int64_t T, std::int64_t D, DType dtype) {
  Tensor qkv = random_tensor({B, T, (H + 2 * G) * D}, dtype, 1), rows = random_tensor({B, T, H * D}, dtype, 2);
  Tensor q = random_tensor({B, H, T, D}, dtype, 3), k = random_tensor({B, G, T, D}, dtype, 4);
  Tensor v = random_tensor({B, G, T, D}, dtype, 5), y = random_tensor({B, T, D}, dtype, 6);
  check_moved("split_heads", {qkv, q, k, v}, [](Tensors& t) { split_heads(t[0], t[1], t[2], t[3]); });
  check_moved("split_heads_backward", {qkv, q, k, v}, [](Tensors& t) { split_heads_backward(t[1], t[2], t[3], t[0]); });
  check_moved("merge_heads", {rows, q}, [](Tensors& t) { merge_heads(t[1], t[0]); });
  check_moved("merge_heads_backward", {rows, q}, [](Tensors& t) { merge_heads_backward(t[0], t[1]); });
  check_backends(
      "sum_heads", {q, y}, [](Tensors& t) { sum_heads(t[0], t[1]); }, 1e-6, 0x1p-8);
  check_moved("sum_heads_backward", {y, q}, [](Tensors& t) { sum_heads_backward(t[0], t[1]); });
}

}  // namespace

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

TEST_CASE("sum_heads: two heads by hand, and the gradient goes to both") {
  Tensor o = Tensor::from<float>({1, 2, 2, 2}, {1, 2, 3, 4, 10, 20, 30, 40}), y = Tensor::empty({1, 2, 2});
  sum_heads(o, y);
  check_close("y", y, Tensor::from<float>({1, 2, 2}, {11, 22, 33, 44}), 0);
  Tensor d_heads = Tensor::empty(o.shape());
  sum_heads_backward(y, d_heads);
  check_close("do", d_heads, Tensor::from<float>({1, 2, 2, 2}, {11, 22, 33, 44, 11, 22, 33, 44}), 0);
}

TEST_CASE("heads: every backend equals the double reference") {
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

TEST_CASE("gradient: split_heads, merge_heads and sum_heads") {
  Var x = random_var({2, 3, 3 * 2 * 4}, 1);
  check_gradient([&] { return merge_heads(split_heads(x, 2, 2).k_BGTD); }, {x});
  check_gradient(
      [&] {
        auto [q, k, v] = split_heads(x, 2, 2);
        return add(add(q, v), add(v, k));
      },
      {x});
  // Four query heads share one head of keys and values.
  check_gradient(
      [&] {
        auto [q, k, v] = split_heads(x, 4, 1);
        return add(sum_heads(q), add(merge_heads(k), merge_heads(v)));
      },
      {x});
}

TEST_CASE("heads: shapes and types that do not fit are named") {
  Tensor qkv = Tensor::zeros({2, 5, 24}), q = Tensor::zeros({2, 2, 5, 3}), rows = Tensor::zeros({2, 5, 6});
  check_refused([&] { split_heads(qkv, q, q, q); }, {"[heads]", "f32 (2, 5, 24)", "f32 (2, 2, 5, 3)"});
  check_refused([&] { merge_heads(q, qkv); }, {"[heads]", "f32 (2, 5, 24)", "f32 (2, 2, 5, 3)"});
  Tensor one_head = Tensor::zeros({2, 1, 5, 3});
  check_refused([&] { split_heads(qkv, q, one_head, q); }, {"[heads]", "f32 (2, 1, 5, 3)", "f32 (2, 2, 5, 3)"});
  check_refused([&] { sum_heads(q, rows); }, {"[heads]", "f32 (2, 2, 5, 3)", "f32 (2, 5, 6)"});
  check_refused([&] { sum_heads_backward(rows, q); }, {"[heads]", "f32 (2, 2, 5, 3)", "f32 (2, 5, 6)"});
  Tensor q_f64 = q.to(DType::F64);
  check_refused([&] { merge_heads(q_f64, rows); }, {"[heads]", "f64 (2, 2, 5, 3)", "f32 (2, 5, 6)"});
}
