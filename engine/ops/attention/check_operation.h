// check_<name>: whether an attention operation is what its author means, as far as a program can tell. The derivatives
// against differences, the fast kernels against the reference in double, also those of a GPU or of the emulated device
// in a build that has one, a row with one key, and large scores.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "engine/ops/attention/attention.h"
#include "engine/ops/attention/op/attention_op_check.h"
#include "engine/rng.h"

namespace sink {

// Prints a line per check, "name: ..."; `right` is false after one that failed.
class OperationReport {
 public:
  explicit OperationReport(std::string name) : name_(std::move(name)) {}
  bool right = true;

  void say(const std::string& line) const { std::printf("%s: %s\n", name_.c_str(), line.c_str()); }
  void fail(const std::string& line) {
    say("WRONG: " + line);
    right = false;
  }

 private:
  std::string name_;
};

namespace check_operation_detail {

inline std::string digits(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", x);
  return text;
}

// The derivative df of f at points from `low` to `high`; those where f has a kink do not count.
template <class F, class Df>
void derivative(OperationReport& report, const std::string& name, const F& f, const Df& df, double low, double high) {
  constexpr int kPoints = 97;
  double worst = 0, where = low;
  int kinks = 0;
  for (int n = 0; n < kPoints; ++n) {
    const double h = 1e-5, x = low + (high - low) * (n + 0.5) / kPoints;
    const double left = (f(x) - f(x - h)) / h, right = (f(x + h) - f(x)) / h;
    const double scale = std::max({1.0, std::abs(left), std::abs(right)});
    if (std::abs(right - left) > 1e-2 * scale) {
      ++kinks;
      continue;
    }
    const double error = std::abs(df(x) - (left + right) / 2) / scale;
    if (!(error <= worst)) worst = error, where = x;
    if (std::isnan(worst)) break;
  }
  if (!(worst < 1e-5))
    report.fail("the derivative of " + name + " differs from its differences by " + digits(worst) + " at " +
                digits(where));
  else
    report.say("the derivative of " + name + " is right to " + digits(worst) +
               (kinks > 0 ? " (" + std::to_string(kinks) + " kinks left out)" : ""));
}

inline Tensor random_tensor(const char* name, double scale) {
  Rng rng(1, name);
  Tensor x = Tensor::empty({1, 2, 70, 16});
  for (std::int64_t i = 0; i < x.size(); ++i)
    x.data<float>()[i] = static_cast<float>(scale * rng.normal(static_cast<std::uint64_t>(i)));
  return x;
}

struct Passes {
  Tensor o, m, S;
  AttentionGradients gradients;
};

template <class Op>
Passes run(const Op& op, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& grad_o) {
  const DType rows = accumulate_type(q.dtype());
  Passes p{Tensor::empty_like(q), q.new_empty({1, 2, 70}, rows), q.new_empty({1, 2, 70}, rows), {}};
  const AttentionConfig config{.scale = 0.25};
  attention<Op>(op, q, k, v, config, p.o, p.m, p.S);
  p.gradients = attention_backward<Op>(op, grad_o, q, k, v, p.o, p.m, p.S, config);
  return p;
}

// The largest difference, in units of the largest value; infinite if one is not finite.
inline double difference(const Tensor& result, const Tensor& exact) {
  const Tensor fast = result.to(Device::cpu);
  double worst = 0, largest = 1e-30;
  for (std::int64_t i = 0; i < exact.size(); ++i) {
    const double error = std::abs(fast.item(i) - exact.item(i));
    if (!std::isfinite(error)) return INFINITY;
    worst = std::max(worst, error), largest = std::max(largest, std::abs(exact.item(i)));
  }
  return worst / largest;
}

inline double difference(const Passes& fast, const Passes& exact) {
  const AttentionGradients &f = fast.gradients, &e = exact.gradients;
  return std::max(
      {difference(f.dq_BHTD, e.dq_BHTD), difference(f.dk_BGKD, e.dk_BGKD), difference(f.dv_BGKD, e.dv_BGKD)});
}

// Says by how much the kernels `where` are off. Large errors of finite values are no fault: sums can cancel.
inline void compare(OperationReport& report, const std::string& where, const Passes& fast, const Passes& exact,
                    double tolerance) {
  const double forward = difference(fast.o, exact.o), backward = difference(fast, exact);
  if (!std::isfinite(forward) || !std::isfinite(backward))
    return report.fail("weights or gradients of ordinary scores are not finite" + where);
  const bool close = forward < tolerance && backward < 10 * tolerance;
  report.say("the kernels differ from the reference in double by " + digits(forward) + " (forward) and " +
             digits(backward) + " (backward) of the largest value" + where +
             (close ? "" : ": its sums cancel, so expect noise"));
}

#ifdef SINK_CUDA
// The kernels of the device, of inputs (q, k, v, grad_o) in this type.
template <class Op>
void check_device(OperationReport& report, const Op& op, const Tensor (&inputs)[4], DType dtype) {
  const std::string where = std::string(" on the device in ") + name_of(dtype);
  auto on_device = [&](int n) { return inputs[n].to(dtype).to(Device::cuda); };
  auto wide = [&](int n) { return inputs[n].to(dtype).to(DType::F64); };
  try {
    const Passes fast = run(op, on_device(0), on_device(1), on_device(2), on_device(3));
    compare(report, where, fast, run(op, wide(0), wide(1), wide(2), wide(3)), dtype == DType::F32 ? 1e-4 : 2e-2);
  } catch (const Error& error) {
    if (error.code != Exit::usage) report.right = false;  // Exit::usage: the device has no kernels of this kind
    report.say(std::string(error.what()) + where);
  }
}
#endif

}  // namespace check_operation_detail

// Returns 0, or 1 where something is wrong.
template <class Op>
int check_operation(const Op& op, const std::string& name) {
  using namespace check_operation_detail;
  OperationReport report(name);
  // What a row with a maximum or a threshold sees is at most 0, or around it.
  const double low = ShiftsByMax<Op> ? -6 : -4, high = ShiftsByMax<Op> ? -0.01 : 4, m = 0.7, n = 8;
  const AttentionRow<Op, double> row(op, m, 2, n);
  derivative(
      report, "g", [&](double x) { return row.g(x); }, [&](double x) { return row.dg(x); }, low, high);
  if constexpr (HasSeparateNormalizer<Op>)
    derivative(
        report, "r", [&](double x) { return row.r(x); }, [&](double x) { return row.dr(x); }, low, high);
  if constexpr (DividesBySum<Op>)
    derivative(
        report, "z", [&](double S) { return AttentionRow<Op, double>(op, m, S, n).z(); },
        [&](double S) { return AttentionRow<Op, double>(op, m, S, n).dz(); }, 0.3, 6);
  if constexpr (HasPost<Op>)
    derivative(
        report, "post", [&](double w) { return row.post(w); }, [&](double w) { return row.dpost(w); }, 0.01, 1.5);

  const Tensor q = random_tensor("q", 1), k = random_tensor("k", 1), v = random_tensor("v", 1);
  const Tensor grad_o = random_tensor("do", 1);
  auto wide = [](const Tensor& x) { return x.to(DType::F64); };
  const Passes fast = run(op, q, k, v, grad_o), exact = run(op, wide(q), wide(k), wide(v), wide(grad_o));
  compare(report, "", fast, exact, 1e-4);
#ifdef SINK_CUDA
  for (const DType dtype : {DType::F32, DType::BF16}) check_device(report, op, {q, k, v, grad_o}, dtype);
#endif

  // Query 0 sees one key: o = a v.
  const double a = exact.o.item(0) / v.item(0);
  if (std::isfinite(a))
    report.say("a query that sees one key gives it the weight " + digits(a));
  else
    report.fail("a query that sees one key gives it a weight that is not finite");

  for (double size : {10.0, 100.0, 1000.0}) {
    const Tensor large = random_tensor("q", size);
    const Passes reached = run(op, large, k, v, grad_o);
    if (std::isfinite(difference(reached.o, reached.o)) && std::isfinite(difference(reached, reached))) continue;
    report.say("scores of some " + digits(2 * size) + " overflow in float: training can diverge");
    return report.right ? 0 : 1;
  }
  report.say("scores of some 2000 stay finite");
  return report.right ? 0 : 1;
}

}  // namespace sink
