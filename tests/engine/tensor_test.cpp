// Tensors: shapes, sharing, conversion and their errors.
#include "engine/tensor.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/support/check_refused.h"
#include "tests/support/compare.h"

using namespace sink;

TEST_CASE("tensor: shape, size and text") {
  Tensor x = Tensor::zeros({2, 8, 64}, DType::BF16);
  CHECK(x.str() == "bf16 (2, 8, 64)");
  CHECK(x.rank() == 3);
  CHECK(x.size() == 1024);
  CHECK(x.bytes() == 2048);
  CHECK(x.dim(-1) == 64);
  CHECK(Tensor::empty({}).size() == 1);
  CHECK(Tensor::empty({3, 0}).size() == 0);
  CHECK_FALSE(Tensor().defined());
  CHECK(Tensor().str() == "undefined");
}

TEST_CASE("tensor: copies, reshape and rows share the numbers, clone does not") {
  Tensor x = Tensor::from<float>({3, 2}, {0, 1, 2, 3, 4, 5});
  Tensor copy = x, flat = x.reshape({6}), row = x.rows(1, 2), clone = x.clone();
  CHECK_FALSE(x.unique());
  CHECK(clone.unique());
  row.data<float>()[1] = 30;
  CHECK(x.item(3) == 30);
  CHECK(copy.item(3) == 30);
  CHECK(flat.item(3) == 30);
  CHECK(clone.item(3) == 3);
  CHECK(row.str() == "f32 (1, 2)");
  CHECK(row.rows(0, 1).reshape({2}).item(1) == 30);
  CHECK(x.rows(3, 3).size() == 0);
}

TEST_CASE("tensor: a view keeps the numbers alive") {
  Tensor row;
  {
    Tensor x = Tensor::full({4, 16}, 7);
    row = x.rows(2, 3);
  }
  Tensor other = Tensor::full({4, 16}, 8);  // would get the block if it were free
  CHECK(row.item(15) == 7);
  CHECK(row.unique());
}

TEST_CASE("tensor: memory of another library is shared, and neither freed nor taken over") {
  const AllocatorStats before = allocator_stats();
  std::vector<float> theirs{1, 2, 3, 4, 5, 6};
  {
    Tensor x = Tensor::from_blob(theirs.data(), {3, 2}, DType::F32);
    CHECK(x.raw() == theirs.data());
    CHECK(x.str() == "f32 (3, 2)");
    CHECK_FALSE(x.unique());
    CHECK_FALSE(x.slice(2, {2}).unique());
    x.rows(1, 2).data<float>()[1] = 40;
  }
  CHECK(theirs[3] == 40);
  CHECK(allocator_stats().bytes_in_use == before.bytes_in_use);
  release_cached_memory();  // would free it
  CHECK(theirs == std::vector<float>{1, 2, 3, 40, 5, 6});
  check_refused([] { Tensor::from_blob(nullptr, {2}, DType::F32); }, {"the address of (2) elements is null"});
}

TEST_CASE("tensor: conversion rounds, and keeps the numbers where the type is the same") {
  Tensor x = Tensor::from<double>({3}, {1 + 0x1p-30, -0.1, 1e300});
  CHECK(x.to(DType::F64).raw() == x.raw());
  Tensor narrow = x.to(DType::F32);
  CHECK(narrow.item(0) == 1);
  CHECK(narrow.item(1) == double{-0.1f});
  CHECK(std::isinf(narrow.item(2)));
  CHECK(Tensor::from<float>({1}, {1 + 0x1p-8f}).to(DType::BF16).item() == 1);
  Tensor large = random_tensor({100003}, DType::BF16, 1);
  check_close("bf16 to f32 and back", large.to(DType::F32).to(DType::BF16), large, 0);
}

TEST_CASE("tensor: fill and copy_from, at sizes for two threads") {
  for (DType dtype : {DType::F32, DType::BF16, DType::F64, DType::I32}) {
    Tensor x = Tensor::full({100003}, -3, dtype), y = Tensor::zeros({100003}, dtype);
    CHECK(y.item(100002) == 0);
    y.copy_from(x);
    for (std::int64_t i : {0, 50001, 100002}) CHECK(y.item(i) == -3);
  }
  CHECK(Tensor::full({1}, 0.1, DType::F64).item() == 0.1);
}

TEST_CASE("tensor: what does not fit is named") {
  Tensor x = Tensor::zeros({3, 4}), y = Tensor::zeros({3, 5});
  check_refused([&] { x.reshape({5, 2}); }, {"[reshape]", "(3, 4)", "(5, 2)"});
  check_refused([&] { x.rows(2, 4); }, {"[rows]", "[2, 4)", "(3, 4)"});
  check_refused([&] { x.rows(2, 1); }, {"[rows]", "(3, 4)"});
  check_refused([&] { Tensor::empty({}).rows(0, 0); }, {"[rows]", "()"});
  check_refused([&] { x.copy_from(y); }, {"[copy]", "f32 (3, 4)", "f32 (3, 5)"});
  check_refused([&] { x.item(12); }, {"[item]", "12", "f32 (3, 4)"});
  check_refused([&] { x.data<double>(); }, {"[tensor]", "f32 (3, 4)", "f64"});
  check_refused([&] { x.to(DType::I32); }, {"i32"});
  check_refused([&] { Tensor::from<float>({2, 2}, {1, 2, 3}); }, {"(2, 2)", "4", "3"});
  check_refused([&] { Tensor::empty({1, 1, 1, 1, 1, 1}); }, {"[shape]", "5 axes"});
  check_refused([&] { Tensor::empty({2, -1}); }, {"[shape]", "-1"});
}

TEST_CASE("tensor: a size beyond 64 bits is refused, not wrapped around") {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  CHECK_THROWS_AS(Tensor::empty({kHuge, kHuge}), Error);  // 2^80 elements are 0 modulo 2^64
}
