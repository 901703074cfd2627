// The formula of an attention operation as text, parsed from engine/ops/attention/op/attention_op.h: the line of its
// table and the comment above its struct. So there is no second list to maintain.
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

// A file that is compiled into eval_<ablation>, by name: attention_op.h, or one of the page of `explain`
// (eval/explain/page). Throws Error for an unknown name.
std::string eval_file(const std::string& name);

// For the struct `operation`; fields that the header lacks are empty.
OperationFormula formula_of(const std::string& operation);

}  // namespace sink
