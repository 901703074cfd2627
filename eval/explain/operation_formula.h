// The formula of an attention operation in words, as engine/ops/attention/op/attention_op.h has it: the line of its
// table and the comment above its struct, so that no second list has to be kept.
#pragma once

#include <string>

namespace sink {

struct OperationFormula {
  std::string whole;        // "e^s / sum e^s"
  std::string g, r, z, m;   // "e^x", "g", "S", "row maximum"
  std::string post;         // "clip", or empty
  std::string proposed_by;  // "Vaswani et al. 2017"
  bool in_table() const { return !g.empty(); }
};

// Of the struct `operation`; what the header does not say is empty.
OperationFormula formula_of(const std::string& operation);

}  // namespace sink
