// How an ablation names an attention operation: by its struct alone, or with constants, as With<ScaledSoftmax, 0.5>.
#pragma once

#include <string>

#include "engine/ops/attention/op/attention_op.h"
#include "model/name_with_numbers.h"

namespace sink {

// The operation Op with its data members set to these numbers, in their order.
template <class Op, double... kConstants>
struct With {};

// What a policy stands for: `op`, the operation itself, and its name in the policies of a checkpoint.
template <class Policy>
struct AttentionPolicy {
  using Op = Policy;
  static Op op() { return {}; }
  static std::string name() { return Op::name; }
};

template <class Operation, double... kConstants>
struct AttentionPolicy<With<Operation, kConstants...>> {
  using Op = Operation;
  static Op op() { return Op(kConstants...); }
  static std::string name() { return name_with_numbers(Op::name, {kConstants...}); }
};

}  // namespace sink
