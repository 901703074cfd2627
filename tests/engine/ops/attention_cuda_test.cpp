// Attention on the CUDA device against the reference in double, for every operation of attention_ops.h.
#include <doctest/doctest.h>

#include <cstring>

#include "engine/ops/attention/op/attention_ops.h"
#include "tests/engine/ops/attention_backend.h"
#include "tests/support/schedules.h"

using namespace sink;
using namespace sink::test;

namespace {

struct Case {
  std::int64_t T, D;
  KeyRange range = {};
  Extra extra = Extra::none;
  std::int64_t G = 0;
  DType dtype = DType::F32;
  std::int64_t documents = -1;  // the number of leading keys that all documents see; -1: one document
};

template <class Op>
void check(const Case& c) {
  CAPTURE(c.T);
  CAPTURE(c.D);
  CAPTURE(c.range.prefix);
  CAPTURE(c.range.window);
  CAPTURE(std::string(name_of(c.extra)));
  Op op;
  CAPTURE(c.documents);
  AttentionCase expected =
      AttentionCase(c.documents < 0 ? 1 : 2, 2, c.T, c.D, DType::BF16, c.range, 1, c.extra, c.G).to(DType::F64);
  if (c.documents >= 0) expected.cut_into_documents(c.documents);
  expected.forward(op);
  expected.backward(op);
  check_backend(op, expected, worst_conditions(expected, op), c.dtype, Device::cuda);
}

void check_all(const Case& c) {
#define SINK_ATTENTION_OP(Op) check<Op>(c);
  SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
}

// The bytes of all outputs, gradients and statistics of a case.
template <class Op>
std::vector<std::string> all_bytes(AttentionCase c) {
  Op op;
  c.forward(op);
  c.backward(op);
  AttentionStatistics statistics = c.statistics(5, op);
  AttentionCase on_cpu = c.to(Device::cpu);
  std::vector<const Tensor*> tensors = on_cpu.all_gradients();
  Tensor columns = statistics.column_proxy_BHX.to(Device::cpu), entropy = statistics.entropy_BH.to(Device::cpu);
  for (const Tensor* x : {&on_cpu.o, &on_cpu.m, &on_cpu.S, &columns, &entropy}) tensors.push_back(x);
  std::vector<std::string> bytes;
  for (const Tensor* x : tensors) bytes.emplace_back(static_cast<const char*>(x->raw()), x->bytes());
  return bytes;
}

}  // namespace

TEST_CASE("attention on the device: equals the double reference for every operation, mask, bias and extra key") {
  for (const KeyRange& mask : {KeyRange{}, KeyRange{.prefix = 5}, KeyRange{.prefix = 3, .window = 20}})
    for (Extra extra : {Extra::none, Extra::bias, Extra::everything})
      check_all({.T = 40, .D = 16, .range = mask, .extra = extra});
}

TEST_CASE("attention on the device: equals the double reference at ragged lengths and every head size") {
  for (std::int64_t T : {1, 31, 33, 70}) check_all({.T = T, .D = 8, .extra = Extra::key});
  for (std::int64_t D : {1, 33, 64, 96, 128, 192}) check_all({.T = 34, .D = D});
}

TEST_CASE("attention on the device: equals the double reference with several documents") {
  for (std::int64_t T : {1, 40, 70}) check_all({.T = T, .D = 8, .extra = Extra::everything, .G = 1, .documents = 0});
  check_all({.T = 41, .D = 16, .range = {.window = 7}, .extra = Extra::bias, .documents = 1});
}

TEST_CASE("attention on the device: kernels have no races") {
  cuda::FindRaces on;
  check_all({.T = 37, .D = 8, .extra = Extra::everything, .G = 1, .documents = 0});
  check_all({.T = 37, .D = 8, .range = {.prefix = 3, .window = 20}, .extra = Extra::everything, .G = 1});
  check_all({.T = 34, .D = 33, .extra = Extra::logit, .dtype = DType::BF16});
  AttentionCase c = AttentionCase(2, 2, 35, 8, DType::F32, {}, 1, Extra::everything).to(Device::cuda);
  all_bytes<Softpick>(c);
  AttentionCase in_tiles =
      AttentionCase(2, 2, 70, 8, DType::BF16, {.prefix = 3, .window = 20}, 1, Extra::everything, 1);
  all_bytes<Softpick>(in_tiles.to(Device::cuda));
}

TEST_CASE("attention on the device: equals the double reference in bf16, with shared key heads and other extra keys") {
  check_all({.T = 37, .D = 32, .dtype = DType::BF16});
  check_all({.T = 37, .D = 32, .range = {.window = 9}, .extra = Extra::everything, .G = 1, .dtype = DType::BF16});
  check_all({.T = 37, .D = 16, .extra = Extra::everything, .G = 1});
  check_all({.T = 37, .D = 16, .extra = Extra::key_only});
  check_all({.T = 37, .D = 16, .extra = Extra::logit});
}

TEST_CASE("attention on the device: a chunk of queries has the bits of all queries") {
  AttentionCase whole(1, 2, 40, 16, DType::F32, {.prefix = 2, .window = 12}, 1, Extra::everything, 1);
  AttentionCase chunk = whole.chunk(23, 40).to(Device::cuda);
  whole.forward<EluNorm>();
  chunk.forward<EluNorm>();
  CHECK(relative_error(chunk.o.to(Device::cpu), AttentionCase::positions(whole.o, 23, 40)) < 1e-5);
}

TEST_CASE("attention on the device: the same bits under every schedule") {
  AttentionCase c = AttentionCase(2, 2, 45, 16, DType::F32, {.window = 30}, 1, Extra::everything, 1).to(Device::cuda);
  std::vector<std::string> first = all_bytes<ClippedSoftmax>(c);
  for (unsigned schedule : {1u, 7u}) {
    cuda::Schedule only(schedule);
    CHECK(all_bytes<ClippedSoftmax>(c.to(Device::cpu).to(Device::cuda)) == first);
  }
}

TEST_CASE("attention on the device: statistics equal those of the double reference") {
  // More queries and columns than a block has, and not a multiple.
  AttentionCase cases[] = {{1, 3, 41, 16, DType::F32, {.prefix = 3, .window = 20}, 1, Extra::none, 1},
                           {1, 3, 41, 16, DType::F32, {.prefix = 3, .window = 20}, 1, Extra::everything, 1},
                           {1, 1, 70, 8, DType::F32, {}, 1, Extra::logit, 1},
                           {1, 3, 70, 16, DType::BF16, {.prefix = 3, .window = 20}, 1, Extra::none, 1},
                           {1, 3, 70, 16, DType::BF16, {.prefix = 3, .window = 20}, 1, Extra::everything, 1},
                           {2, 1, 45, 72, DType::BF16, {}, 1, Extra::logit, 1},
                           {1, 1, 33, 128, DType::BF16, {}, 1, Extra::bias, 1}};
  for (AttentionCase& c : cases) {
    auto check_statistics = [&](auto op) {
      CAPTURE(operation_name<std::decay_t<decltype(op)>>());
      CAPTURE(c.q.dim(2));
      std::int64_t X = c.q.dim(2) - 4;
      AttentionCase wide = c.to(DType::F64), there = c.to(Device::cuda);
      wide.forward(op);
      there.forward(op);
      double conditions = worst_conditions(wide, op).weights;
      AttentionStatistics expected = wide.statistics(X, op), found = there.statistics(X, op);
      auto same = [&](const char* what, const Tensor& x, const Tensor& y) {
        CAPTURE(std::string(what));
        CHECK(relative_error(x.to(Device::cpu), y) < 1e-5 * conditions);
      };
      same("column_raw", found.column_raw_BHX, expected.column_raw_BHX);
      same("column_proxy", found.column_proxy_BHX, expected.column_proxy_BHX);
      same("extra_raw", found.extra_raw_BH, expected.extra_raw_BH);
      same("extra_proxy", found.extra_proxy_BH, expected.extra_proxy_BH);
      same("row_sum", found.row_sum_BH, expected.row_sum_BH);
      same("entropy", found.entropy_BH, expected.entropy_BH);
      same("key1_dot", found.key1_dot_BH, expected.key1_dot_BH);
      same("key1_norms", found.key1_norms_BH, expected.key1_norms_BH);
      same("key1_cosine", found.key1_cosine_BH, expected.key1_cosine_BH);
      same("other_dot", found.other_dot_BH, expected.other_dot_BH);
      same("other_norms", found.other_norms_BH, expected.other_norms_BH);
      same("other_cosine", found.other_cosine_BH, expected.other_cosine_BH);
      same("value_share", found.value_share_BH, expected.value_share_BH);
    };
#define SINK_ATTENTION_OP(Op) check_statistics(Op{});
    SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
  }
}
