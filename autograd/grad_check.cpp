#include "autograd/grad_check.h"

#include <algorithm>
#include <cmath>

#include "autograd/record.h"
#include "engine/rng.h"

namespace sink {
namespace {

// sum_i u_i y_i with a fixed random u: makes a number of any output.
struct WeightedSumNode {
  Var y;
  Tensor u;

  static constexpr const char* name = "weighted_sum";
  void backward(const Tensor& dsum) {
    Tensor dy = u.clone();
    for (std::int64_t i = 0; i < dy.size(); ++i) dy.data<double>()[i] *= dsum.item();
    y.gradient().accumulate(dy);
  }
};

Tensor random_weights(const Shape& shape) {
  Rng rng(7, "grad_check");
  Tensor u = Tensor::empty(shape, DType::F64);
  for (std::int64_t i = 0; i < u.size(); ++i) u.data<double>()[i] = rng.normal(static_cast<std::uint64_t>(i));
  return u;
}

double weighted_sum(const Tensor& y, const Tensor& u) {
  double sum = 0;
  for (std::int64_t i = 0; i < y.size(); ++i) sum += u.item(i) * y.item(i);
  return sum;
}

}  // namespace

GradCheckResult check_gradients(const std::function<Var()>& f, const std::vector<Var>& inputs, double step) {
  for (const Var& input : inputs) input.gradient().clear();
  Tensor u;
  {
    Tape tape;
    Var y = f();
    u = random_weights(y.value().shape());
    tape.backward(record<WeightedSumNode>(Tensor::full({1}, weighted_sum(y.value(), u), DType::F64), y, u));
  }

  GradCheckResult result;
  for (std::size_t n = 0; n < inputs.size(); ++n) {
    Var input = inputs[n];
    Tensor analytic = input.grad().defined() ? input.grad() : Tensor::zeros(input.value().shape(), DType::F64);
    double* values = input.mutable_value().data<double>();
    std::vector<double> numeric(static_cast<std::size_t>(analytic.size()));
    double largest = 0;
    for (std::int64_t i = 0; i < analytic.size(); ++i) {
      double original = values[i];
      auto at = [&](double offset) {
        values[i] = original + offset;
        return weighted_sum(f().value(), u);
      };
      // Fourth order: the error is step^4 / 30 times the fifth derivative.
      double slope = (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step);
      values[i] = original;
      numeric[static_cast<std::size_t>(i)] = slope;
      largest = std::max(largest, std::abs(slope));
    }
    for (std::int64_t i = 0; i < analytic.size(); ++i) {
      double expected = numeric[static_cast<std::size_t>(i)];
      double error = std::abs(analytic.item(i) - expected) / std::max(1.0, largest);
      if (!std::isfinite(error)) error = INFINITY;  // a NaN would be replaced by the next error
      if (error > result.worst) {
        result.worst = error;
        result.where = "input " + std::to_string(n) + ", element " + std::to_string(i) + ": analytic " +
                       std::to_string(analytic.item(i)) + ", numeric " + std::to_string(expected);
      }
    }
  }
  return result;
}

}  // namespace sink
