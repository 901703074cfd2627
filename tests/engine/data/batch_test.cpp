// Batches: what is counted, cut and refused.
#include "engine/data/batch.h"

#include <doctest/doctest.h>

#include "tests/engine/data/data_support.h"
#include "tests/support/check_refused.h"

using namespace sink;

namespace {

Tensor ids(const Shape& shape, const std::vector<std::int32_t>& values) { return Tensor::from(shape, values); }

}  // namespace

TEST_CASE("batch: targets of -1 are not counted, nor are those of other sequences") {
  Batch batch(ids({3, 2}, {0, 1, 2, 3, 4, 5}), ids({3, 2}, {-1, 2, 3, 4, -1, -1}), 6);
  CHECK(batch.sequences() == 3);
  CHECK(batch.context() == 2);
  CHECK(batch.predicted() == 3);
  Batch rest = batch.rows(1, 3);
  CHECK(values(rest.tokens_BT()) == std::vector<std::int32_t>{2, 3, 4, 5});
  CHECK(rest.predicted() == 2);
  CHECK(rest.vocabulary() == 6);
  Batch first = batch.first(1);
  CHECK(values(first.tokens_BT()) == std::vector<std::int32_t>{0, 2, 4});
  CHECK(values(first.targets_BT()) == std::vector<std::int32_t>{-1, 3, -1});
  CHECK(first.predicted() == 1);
}

TEST_CASE("batch: documents go with their tokens") {
  Tensor tokens = ids({2, 4}, {0, 1, 2, 3, 4, 5, 0, 1}), starts = ids({2, 4}, {0, 0, 2, 2, 0, 1, 1, 3});
  Batch batch(tokens, tokens, 6, {starts, ids({2, 4}, {0, 1, 0, 1, 0, 0, 1, 0})});
  CHECK(values(batch.rows(1, 2).documents().starts_BT) == std::vector<std::int32_t>{0, 1, 1, 3});
  CHECK(values(batch.first(2).documents().positions_BT) == std::vector<std::int32_t>{0, 1, 0, 0});
  CHECK(batch.documents().end(0, 0, 4) == 2);
  CHECK(batch.documents().end(0, 2, 4) == 4);
  CHECK(batch.documents().end(1, 2, 4) == 3);
  CHECK(Batch(tokens, tokens, 6).documents().end(1, 2, 4) == 4);
  Batch other(tokens, tokens, 6, {Tensor::zeros({2, 4}, DType::I32), Tensor::zeros({2, 4}, DType::I32)});
  other.copy_from(batch);
  CHECK(values(other.documents().starts_BT) == values(starts));
  for (const auto& bad :
       {std::vector<std::int32_t>{0, 0, 0, 0, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 2, 2, 2}, {0, 0, 1, 0, 0, 0, 0, 0}})
    check_refused([&] { Batch(tokens, tokens, 6, {ids({2, 4}, bad), {}}); }, {"[batch]", "document start"});
  check_refused(
      [&] {
        Batch(tokens, tokens, 6, {{}, ids({2, 4}, {0, 2, 0, 0, 0, 0, 0, 0})});
      },
      {"[batch]", "position 2 of sequence 1, token 2"});
}

TEST_CASE("batch: an id that the vocabulary does not have is named with its place") {
  Tensor good = ids({2, 2}, {0, 1, 2, 0});
  for (std::int32_t bad : {3, -1}) {
    Tensor tokens = ids({2, 2}, {0, 1, bad, 0});
    std::string token = "token " + std::to_string(bad) + " of sequence 2, position 1,";
    check_refused([&] { Batch(tokens, good, 3); }, {token, "[0, 2]"}, Exit::bad_input);
    check_refused([&] { check_tokens(tokens, 3); }, {token, "[0, 2]"}, Exit::bad_input);
  }
  for (std::int32_t bad : {3, -2})
    check_refused(
        [&] {
          Batch(good, ids({2, 2}, {0, bad, 1, 2}), 3);
        },
        {"target " + std::to_string(bad), "sequence 1, position 2", "[-1, 2]"}, Exit::bad_input);
}

TEST_CASE("batch: shapes and types that do not fit are named") {
  Tensor tokens = Tensor::zeros({2, 3}, DType::I32);
  check_refused(
      [&] {
        Batch(tokens, Tensor::zeros({2, 2}, DType::I32), 3);
      },
      {"i32 (2, 3)", "i32 (2, 2)"}, Exit::bad_input);
  check_refused([&] { Batch(tokens, Tensor::zeros({2, 3}), 3); }, {"i32 (2, 3)", "f32 (2, 3)"}, Exit::bad_input);
  check_refused([&] { check_tokens(Tensor::zeros({6}, DType::I32), 3); }, {"i32 (6)"}, Exit::bad_input);
  Batch batch(tokens, tokens, 3);
  check_refused([&] { batch.first(4); }, {"[batch]", "4 tokens", "i32 (2, 3)"});
}
