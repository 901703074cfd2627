// The trace of a row, for every operation: against outputs and gradients of the CPU kernels, against finite
// differences, and its values against each other.
#include "engine/ops/attention/ref/attention_trace.h"

#include <doctest/doctest.h>

#include "engine/ops/attention/op/attention_ops.h"
#include "engine/ops/attention/op/attention_row.h"
#include "tests/engine/ops/attention_case.h"

using namespace sink;
using namespace sink::test;

namespace {

using Key = AttentionTrace::Key;

// The sums over all rows of a case.
template <class Op>
AttentionGradients sum_of_traces(const AttentionCase& c, const Op& op) {
  AttentionGradients sum;
  sum.dq_BHTD = Tensor::zeros(c.q.shape(), DType::F64);
  for (Tensor* x : {&sum.dk_BGKD, &sum.dv_BGKD}) *x = Tensor::zeros(c.k.shape(), DType::F64);
  std::int64_t B = c.q.dim(0), H = c.q.dim(1), T = c.q.dim(2), D = c.q.dim(3), G = c.k.dim(1);
  sum.dbias_HT = Tensor::zeros({H, T + 3}, DType::F64);
  sum.dextra_k_HD = Tensor::zeros({H, D}, DType::F64);
  sum.dextra_v_HD = Tensor::zeros({H, D}, DType::F64);
  sum.dextra_logit_H = Tensor::zeros({H}, DType::F64);
  auto add = [](Tensor& to, std::int64_t row, const std::vector<double>& x) {
    for (std::size_t d = 0; d < x.size(); ++d)
      to.data<double>()[row * static_cast<std::int64_t>(x.size()) + static_cast<std::int64_t>(d)] += x[d];
  };
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t h = 0; h < H; ++h)
      for (std::int64_t i = 0; i < T; ++i) {
        AttentionTrace t = attention_trace(op, c.q, c.k, c.v, c.config, c.upstream, b, h, i);
        REQUIRE(t.backward);
        add(sum.dq_BHTD, (b * H + h) * T + i, t.dq);
        for (const Key& key : t.keys) {
          if (key.j == AttentionTrace::kExtraKey) {
            add(sum.dextra_k_HD, h, key.dk);
            add(sum.dextra_v_HD, h, key.dv);
            if (key.k.empty()) sum.dextra_logit_H.data<double>()[h] += key.ds;
            continue;
          }
          add(sum.dk_BGKD, (b * G + t.key_head) * T + key.j, key.dk);
          add(sum.dv_BGKD, (b * G + t.key_head) * T + key.j, key.dv);
          sum.dbias_HT.data<double>()[h * (T + 3) + std::max<std::int64_t>(0, i - key.j)] += key.ds;
        }
      }
  return sum;
}

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t d = 0; d < x.size(); ++d) sum += x[d] * y[d];
  return sum;
}

// The values of one row are consistent.
void check_parts(const AttentionTrace& t, bool threshold) {
  double a_sum = 0, shares = 0, D_i = 0;
  std::vector<double> o(t.q.size(), 0.0), dq(t.q.size(), 0.0);
  for (const Key& key : t.keys) {
    if (!key.k.empty())
      CHECK(key.s == doctest::Approx(t.scale * std::sqrt(dot(t.q, t.q) * dot(key.k, key.k)) * key.cosine + key.bias));
    CHECK(key.x == key.s - t.m);
    CHECK(key.ds == doctest::Approx(key.ds_by_g + key.ds_by_S));
    CHECK(key.mixed_norm == doctest::Approx(std::abs(key.a) * std::sqrt(dot(key.v, key.v))));
    a_sum += key.a, shares += key.share, D_i += (threshold ? key.dg : key.w) * key.dw;
    for (std::size_t d = 0; d < key.v.size(); ++d) o[d] += key.a * key.v[d];
    for (std::size_t d = 0; d < key.k.size(); ++d) dq[d] += t.scale * key.ds * key.k[d];
    if (!key.v.empty()) CHECK(key.da == doctest::Approx(dot(t.do_i, key.v)));
  }
  CHECK(t.row_sum == doctest::Approx(a_sum));
  CHECK(t.D == doctest::Approx(D_i));
  if (t.o_norm > 0) CHECK(shares == doctest::Approx(1));
  for (std::size_t d = 0; d < o.size(); ++d) {
    CHECK(t.o[d] == doctest::Approx(o[d]));
    CHECK(std::abs(t.dq[d] - dq[d]) < 1e-12);
  }
}

// dq_i against central differences of do_i . o_i of the reference.
template <class Op>
void check_differences(AttentionCase c, const Op& op, const AttentionTrace& t, std::int64_t h) {
  constexpr double kStep = 1e-6;
  std::int64_t H = c.q.dim(1), T = c.q.dim(2), D = c.q.dim(3), row = h * T + t.i;
  CAPTURE(H);
  auto moved = [&](std::int64_t d, double by) {
    AttentionCase other = c;
    other.q = c.q.clone();
    other.q.template data<double>()[row * D + d] += by;
    other.make_outputs();
    other.forward(op);
    double sum = 0;
    for (std::int64_t e = 0; e < D; ++e) sum += c.upstream.item(row * D + e) * other.o.item(row * D + e);
    return sum;
  };
  for (std::int64_t d = 0; d < D; ++d) {
    double slope = (moved(d, kStep) - moved(d, -kStep)) / (2 * kStep);
    CHECK(std::abs(slope - t.dq[static_cast<std::size_t>(d)]) < 1e-6 * std::max(1.0, std::abs(slope)));
  }
}

template <class Op>
void check_operation(const Op& op) {
  INFO(operation_name<Op>());
  const KeyRange range{.prefix = 2, .window = 4};
  for (Extra extra : {Extra::everything, Extra::logit, Extra::key_only}) {
    AttentionCase fast(1, 4, 9, 5, DType::F32, range, 1, extra, 2), wide = fast.to(DType::F64);
    fast.forward(op);
    fast.gradients = attention_backward(op, fast.upstream, fast.q, fast.k, fast.v, fast.o, fast.m, fast.S, fast.config);
    AttentionGradients sum = sum_of_traces(wide, op);
    auto check = [&](const Tensor& ours, const Tensor& theirs, const std::string& name) {
      if (theirs.defined()) CHECK_MESSAGE(relative_error(ours, theirs.to(DType::F64)) < 1e-4, name);
    };
    check(sum.dq_BHTD, fast.gradients.dq_BHTD, "dq");
    check(sum.dk_BGKD, fast.gradients.dk_BGKD, "dk");
    check(sum.dv_BGKD, fast.gradients.dv_BGKD, "dv");
    check(sum.dbias_HT, fast.gradients.dbias_HT, "dbias");
    check(sum.dextra_k_HD, fast.gradients.dextra_k_HD, "dk*");
    check(sum.dextra_v_HD, fast.gradients.dextra_v_HD, "dv*");
    check(sum.dextra_logit_H, fast.gradients.dextra_logit_H, "db*");

    Tensor map = attention_pattern(op, fast.q, fast.k, fast.m, fast.S, fast.config, 0, 3);
    AttentionTrace t = attention_trace(op, wide.q, wide.k, wide.v, wide.config, wide.upstream, 0, 3, 7);
    CHECK(t.key_head == 1);
    CHECK(t.n == 6);  // the prefix 0 and 1, the window 4 to 7
    CHECK(t.keys.size() == 7);
    CHECK(std::string(t.operation) == operation_name<Op>());
    for (const Key& key : t.keys) CHECK(std::abs(key.a - map.item(7 * 10 + key.j + 1)) < 2e-5);
    check_parts(t, ShiftsByThreshold<Op>);
    check_differences(wide, op, t, 3);
  }
}

}  // namespace

TEST_CASE("trace: rows add up to the fast kernels' results, and move as their gradients say") {
#define SINK_ATTENTION_OP(Op) check_operation(Op());
  SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
}

TEST_CASE("trace: without an upstream gradient it is the forward alone, of positions that are there") {
  AttentionCase c(1, 2, 6, 4, DType::F64);
  c.config.first_position = 3;
  Tensor two = Tensor::zeros({1, 2, 3, 4}, DType::F64);
  AttentionTrace t = attention_trace(Softmax(), two, c.k, c.v, c.config, Tensor(), 0, 1, 4);
  CHECK_FALSE(t.backward);
  CHECK(t.dq.empty());
  CHECK(t.i == 4);
  CHECK(t.keys.size() == 5);
  CHECK(t.keys[t.strongest()].a == doctest::Approx(0.2));  // q = 0: all are equal
  CHECK(t.keys[0].cosine == 0);
  CHECK_THROWS_WITH_AS(attention_trace(Softmax(), two, c.k, c.v, c.config, Tensor(), 0, 1, 6),
                       doctest::Contains("from position 3 to 5, got 6"), Error);
  CHECK_THROWS_AS(attention_trace(Softmax(), two, c.k, c.v, c.config, Tensor(), 0, 2, 4), Error);
}
