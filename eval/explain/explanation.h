// An Explanation: how a model computes the attention of one query of one head, from its tokens to the mix of values,
// and with a loss, backwards.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/language_model.h"

namespace sink {

// Where to look. Positions are those inside the model: a sink token, where there is one, is the first.
struct ExplainedPlace {
  std::int64_t layer = 0, head = 0;
  std::optional<std::int64_t> query;  // none: the last; for backward the one before, the last that predicts
};

// One operation on the way of the gradient, as backward meets it.
struct GradientStep {
  std::string operation;  // Node::name(), that of an attention operation after "attention "
  std::string shape;      // of its output; of several the first that a gradient reached
  double norm = 0;        // of that gradient at the query (of its head, where outputs have heads); the loss: 1
};

struct Explanation {
  std::int64_t layer = 0, head = 0, query = 0;
  std::vector<std::int32_t> tokens;  // by position; -1: the sink token
  std::vector<AttentionTrace> rows;  // of the query, or of every one of the head
  std::optional<double> loss;        // nats, with backward: the mean over `targets` next tokens
  std::int64_t targets = 0;
  std::vector<GradientStep> arrival;  // from the loss to this layer's attention, whose output gradient is do

  // The row of query i, which is there.
  const AttentionTrace& row(std::int64_t i) const;
  const AttentionTrace& asked() const { return row(query); }
};

struct ExplainOptions {
  ExplainedPlace place;
  bool backward = false;
  bool all_queries = false;
};

// tokens_1T: one sequence, I32. Throws Error (Exit::usage), naming the range, for a layer, head or query that is not
// there; Exit::bad_input for backward where nothing is predicted.
Explanation explain(LanguageModel& model, const Tensor& tokens_1T, const ExplainOptions& options);

}  // namespace sink
