// The attention operation of an ablation: a struct, or one with constants such as With<ScaledSoftmax, 0.5>.
#pragma once

#include <cstdio>
#include <initializer_list>
#include <string>

#include "engine/ops/attention/op/attention_op.h"

namespace sink {

// "PNormExp(3)": the name of a policy with constants in checkpoints.
inline std::string name_with_constants(const std::string& name, std::initializer_list<double> constants) {
  std::string text = name;
  char constant[32];
  for (double value : constants) {
    std::snprintf(constant, sizeof constant, "%.6g", value);
    text.append(text == name ? "(" : ",").append(constant);
  }
  return text + ")";
}

// The operation Op with its data members set to these constants, in order.
template <class Op, double... kConstants>
struct With {};

// `op`: the operation of a policy; `name`: its name in the policies of a checkpoint.
template <class Policy>
struct AttentionPolicy {
  using Op = Policy;
  static Op op() { return {}; }
  static std::string name() { return operation_name<Op>(); }
};

template <class Operation, double... kConstants>
struct AttentionPolicy<With<Operation, kConstants...>> {
  using Op = Operation;
  static Op op() { return Op(kConstants...); }
  static std::string name() { return name_with_constants(operation_name<Op>(), {kConstants...}); }
};

}  // namespace sink
