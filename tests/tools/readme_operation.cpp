// Compiled by readme_operation_test.sh with the README's SoftplusNorm in place: it turns scores into the weights that
// its first line says, and its fast kernels do what its reference does.
#include <cmath>
#include <cstdio>

#include "engine/ops/attention/attention_dispatch.h"
#include "engine/rng.h"
#include "tests/support/keep_worst.h"

namespace sink {
SINK_ATTENTION_TEMPLATES(, SoftplusNorm)
}  // namespace sink

using namespace sink;

namespace {

Tensor random_tensor(const char* name) {
  Rng rng(1, name);
  Tensor x = Tensor::empty({1, 2, 70, 16});
  for (std::int64_t i = 0; i < x.size(); ++i)
    x.data<float>()[i] = static_cast<float>(rng.normal(static_cast<std::uint64_t>(i)));
  return x;
}

struct Result {
  Tensor o, m, S;
  AttentionGradients gradients;
};

Result run(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& grad_o) {
  DType rows = accumulate_type(q.dtype());
  Result r{Tensor::empty_like(q), Tensor::empty({1, 2, 70}, rows), Tensor::empty({1, 2, 70}, rows), {}};
  AttentionConfig config{.scale = 0.25};
  attention(SoftplusNorm(), q, k, v, config, r.o, r.m, r.S);
  r.gradients = attention_backward(SoftplusNorm(), grad_o, q, k, v, r.o, r.m, r.S, config);
  return r;
}

double worst(const Tensor& x, const Tensor& y) {
  double worst = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) keep_worst(worst, std::abs(x.item(i) - y.item(i)));
  return worst;
}

}  // namespace

int main() {
  Tensor q = random_tensor("q"), k = random_tensor("k"), v = random_tensor("v"), grad_o = random_tensor("do");
  Result fast = run(q, k, v, grad_o);
  Result exact = run(q.to(DType::F64), k.to(DType::F64), v.to(DType::F64), grad_o.to(DType::F64));
  // o of query 1 of head 0, by hand.
  double weights[2], sum = 1e-8, by_hand = 0;
  for (int j = 0; j < 2; ++j) {
    double s = 0;
    for (int d = 0; d < 16; ++d) s += 0.25 * q.item(16 + d) * k.item(j * 16 + d);
    weights[j] = std::log1p(std::exp(s));
    sum += weights[j];
  }
  for (int j = 0; j < 2; ++j) by_hand += weights[j] / sum * v.item(j * 16);
  double errors[] = {std::abs(exact.o.item(16) - by_hand), worst(fast.o, exact.o),
                     worst(fast.gradients.dq_BHTD, exact.gradients.dq_BHTD),
                     worst(fast.gradients.dk_BGKD, exact.gradients.dk_BGKD),
                     worst(fast.gradients.dv_BGKD, exact.gradients.dv_BGKD)};
  for (double error : errors) std::printf("%g\n", error);
  for (double error : errors)
    if (!(error < 1e-5)) return 1;
  return errors[0] < 1e-14 ? 0 : 1;
}
