// An Explanation: all intermediate values of the attention of one query in one head, forward and, with a loss,
// backward.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/language_model.h"

namespace sink {

// Positions are those inside the model: a sink token comes first.
struct ExplainedPlace {
  std::optional<std::int64_t> layer = {};  // none: the first that has attention
  std::int64_t head = 0;
  std::optional<std::int64_t> query;  // none: the last; for backward the one before, which has a target
};

// One operation between the loss and the attention, in the order of the backward pass.
struct GradientStep {
  std::string operation;  // Node::name(), for attention "attention <operation>"
  std::string shape;      // of its output; with several outputs, of the first with a gradient
  double norm = 0;        // of that gradient at the query (and head, where outputs have heads); of the loss: 1
};

struct Explanation {
  std::int64_t layer = 0, head = 0, query = 0;
  std::vector<std::int32_t> tokens;  // by position; -1: the sink token
  std::vector<AttentionTrace> rows;  // of the query, or of all queries of the head
  std::optional<double> loss;        // nats, with backward: the mean over `targets` next tokens
  std::int64_t targets = 0;
  std::vector<GradientStep> arrival;  // from the loss to the attention of this layer; ends at do

  // The row of query i, which is in `rows`.
  const AttentionTrace& row(std::int64_t i) const;
  const AttentionTrace& query_row() const { return row(query); }
};

struct ExplainOptions {
  ExplainedPlace place;
  bool backward = false;
  bool all_queries = false;
};

// tokens_1T: one sequence, I32. Throws Error: Exit::usage, with the valid range, for a layer, head or query that does
// not exist; Exit::bad_input for backward without targets.
Explanation explain(LanguageModel& model, const Tensor& tokens_1T, const ExplainOptions& options);

}  // namespace sink
