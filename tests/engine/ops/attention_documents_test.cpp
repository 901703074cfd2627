// Several documents in a sequence: attention over all of them has the bits of attention over each one alone.
#include <doctest/doctest.h>

#include "engine/ops/attention/op/attention_ops.h"
#include "tests/engine/ops/attention_backend.h"
#include "tests/support/check_refused.h"

using namespace sink;
using namespace sink::test;

namespace {

// [begin, end) of every document of sequence b; both include the leading keys.
std::vector<Span> documents_of(const AttentionCase& c, std::int64_t b) {
  std::int64_t lead = c.config.range.lead, K = c.k.dim(2);
  KeyRange range = c.config.range_of(b);
  std::vector<Span> documents;
  for (std::int64_t j = lead; j < K; ++j) {
    if (j == lead || range.document_start(j) == j) documents.push_back({j, j});
    documents.back().end = j + 1;
  }
  return documents;
}

// Sequence b of x, positions [begin, end).
Tensor part_of(const Tensor& x, std::int64_t b, Span span) {
  return AttentionCase::positions(x.rows(b, b + 1), span.begin, span.end);
}

// One document of sequence b alone, without outputs.
AttentionCase alone(const AttentionCase& c, std::int64_t b, Span span) {
  AttentionCase part = c;
  for (Tensor* x : {&part.q, &part.k, &part.v, &part.upstream}) *x = part_of(*x, b, span);
  part.config.document_starts_BK = {};
  part.make_outputs();
  return part;
}

}  // namespace

TEST_CASE("attention over documents: the reference has the bits of each document alone") {
  auto check = [&]<class Op>(const Op& op) {
    for (KeyRange range : {KeyRange{}, KeyRange{.window = 3}}) {
      CAPTURE(operation_name<Op>());
      AttentionCase c(2, 2, 31, 5, DType::F64, range, 1, Extra::everything, 1);
      c.cut_into_documents();
      c.forward(op);
      c.backward(op);
      AttentionGradients sums;
      std::size_t documents = 0;
      for (std::int64_t b = 0; b < 2; ++b)
        for (Span span : documents_of(c, b)) {
          ++documents;
          AttentionCase one = alone(c, b, span);
          one.forward(op);
          one.backward(op);
          CHECK(same_bits(part_of(c.o, b, span), one.o));
          CHECK(same_bits(part_of(c.m, b, span), one.m));
          CHECK(same_bits(part_of(c.S, b, span), one.S));
          CHECK(same_bits(part_of(c.gradients.dq_BHTD, b, span), one.gradients.dq_BHTD));
          CHECK(same_bits(part_of(c.gradients.dk_BGKD, b, span), one.gradients.dk_BGKD));
          CHECK(same_bits(part_of(c.gradients.dv_BGKD, b, span), one.gradients.dv_BGKD));
          auto add = [](Tensor& sum, const Tensor& x) {
            if (!sum.defined()) sum = Tensor::zeros(x.shape(), DType::F64);
            AttentionCase::add(sum, x);
          };
          add(sums.dbias_HT, one.gradients.dbias_HT);
          add(sums.dextra_k_HD, one.gradients.dextra_k_HD);
          add(sums.dextra_v_HD, one.gradients.dextra_v_HD);
        }
      CHECK(documents > 8);
      CHECK(relative_error(c.gradients.dbias_HT, sums.dbias_HT) < 1e-12);
      CHECK(relative_error(c.gradients.dextra_k_HD, sums.dextra_k_HD) < 1e-12);
      CHECK(relative_error(c.gradients.dextra_v_HD, sums.dextra_v_HD) < 1e-12);
    }
  };
#define SINK_ATTENTION_OP(Op) check(Op{});
  SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
}

TEST_CASE("attention over documents: keys that lead are seen by all documents, and see themselves alone") {
  AttentionCase c(2, 1, 31, 4, DType::F64);
  c.cut_into_documents(1);
  c.forward<Softmax>();
  for (std::int64_t b = 0; b < 2; ++b) {
    Tensor a = c.map<Softmax>(b, 0);
    for (Span span : documents_of(c, b))
      for (std::int64_t i = span.begin; i < span.end; ++i)
        for (std::int64_t j = 0; j < 31; ++j) {
          bool seen = j == 0 || (span.begin <= j && j <= i);
          CHECK((a.item(i * 31 + j) > 0) == seen);
        }
    CHECK(a.item(0) == 1);
  }
}

TEST_CASE("attention over documents: the fast kernels equal the double reference") {
  auto check = [&]<class Op>(const Op& op, std::int64_t T, std::int64_t D, const KeyRange& range, Extra extra,
                             std::int64_t lead) {
    CAPTURE(operation_name<Op>());
    CAPTURE(T);
    CAPTURE(lead);
    AttentionCase expected = AttentionCase(3, 2, T, D, DType::BF16, range, 1, extra, 1).to(DType::F64);
    expected.cut_into_documents(lead);
    expected.forward(op);
    expected.backward(op);
    Conditions conditions = worst_conditions(expected, op);
    for (DType dtype : {DType::F32, DType::BF16}) check_backend(op, expected, conditions, dtype);
  };
  for (std::int64_t T : {2, 33, 64, 150})
    for (Extra extra : {Extra::none, Extra::everything}) {
#define SINK_ATTENTION_OP(Op)       \
  check(Op{}, T, 16, {}, extra, 0); \
  check(Op{}, T, 16, {.window = 7}, extra, 1);
      SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
    }
}

TEST_CASE("attention over documents: a list of another shape is refused") {
  AttentionCase c(2, 1, 8, 4, DType::F64);
  c.config.document_starts_BK = Tensor::zeros({2, 7}, DType::I32);
  check_refused([&] { c.forward<Softmax>(); }, {"[attention]", "document_starts must be i32 (B, K - 0)", "i32 (2, 7)"});
}
