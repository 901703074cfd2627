// Residual: the residual stream between two blocks, x or a pending sum x + f. The next norm computes a pending sum in
// the same pass, which saves writing and reading x once.
#pragma once

#include <utility>

#include "autograd/ops/add_node.h"

namespace sink {

class Residual {
 public:
  Residual(Var x_BTC) : x_BTC_(std::move(x_BTC)) {}
  // x + f, where f has the type of x or BF16.
  Residual(Var x_BTC, Var f_BTC) : x_BTC_(std::move(x_BTC)), f_BTC_(std::move(f_BTC)) {}

  // The stream itself.
  Var sum() const { return is_pending() ? add(x_BTC_, f_BTC_) : x_BTC_; }
  operator Var() const { return sum(); }

  // The stream u and its norm y.
  template <class Norm>
  NormedSum normed(const Norm& norm) const {
    return is_pending() ? norm.of_sum(x_BTC_, f_BTC_) : NormedSum{x_BTC_, norm(x_BTC_)};
  }

 private:
  bool is_pending() const { return f_BTC_.value().defined(); }

  Var x_BTC_, f_BTC_;
};

}  // namespace sink
