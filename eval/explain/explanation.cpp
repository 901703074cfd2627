#include "eval/explain/explanation.h"

#include <cmath>

#include "autograd/tape.h"
#include "eval/input_tokens.h"
#include "model/size_settings.h"

namespace sink {
namespace {

void require_below(const char* flag, std::int64_t value, std::int64_t count, const std::string& of) {
  if (value < 0 || value >= count)
    throw Error(std::string(flag) + " must be from 0 to " + std::to_string(count - 1) + ", " + of + "; got " +
                    std::to_string(value),
                Exit::usage);
}

// The norm of the query's row of a gradient (B, T, C), or (B, H, T, D) of its head; none for other shapes.
std::optional<double> norm_at(const Tensor& gradient, const Explanation& e, std::int64_t positions) {
  Tensor x = gradient.to(Device::cpu).to(DType::F64);
  std::int64_t rank = x.rank(), T = rank >= 2 ? x.dim(rank - 2) : 0, width = x.dim(rank - 1);
  std::int64_t row = e.query - (positions - T);  // gradients may lack the extra tokens of the model, which come first
  if (rank < 3 || row < 0) return std::nullopt;
  if (rank == 4) row += std::min(e.head, x.dim(1) - 1) * T;
  double sum = 0;
  for (std::int64_t c = 0; c < width; ++c) sum += std::pow(x.item(row * width + c), 2);
  return std::sqrt(sum);
}

// Captures the trace function of the chosen layer and its node on the tape.
struct LayerCapture final : ForwardHooks {
  LayerCapture(std::int64_t layer, const Tape* tape) : layer(layer), tape(tape) {}
  void attention(AttentionPoint& point) override {
    if (point.layer != layer) return;
    trace = point.trace();
    if (!tape) return;
    SINK_CHECK(!tape->nodes().empty(), "explain", "the model was read without what gradients need");
    node = tape->nodes().back().get();  // attention is the last node recorded
  }
  std::int64_t layer;
  const Tape* tape;
  const Node* node = nullptr;
  AttentionPoint::Trace trace;
};

// The gradient of the layer's attention output; fills e.loss, e.targets and e.arrival.
Tensor gradient_of_output(LanguageModel& model, const Batch& batch, Explanation& e, LayerCapture& capture, Tape& tape) {
  SINK_CHECK(batch.predicted() > 0, "explain", "every target is ignored (-1): there is nothing to predict",
             Exit::bad_input);
  Var loss = model.loss(batch, 1, {.hooks = &capture});
  e.loss = loss.value().item();
  e.targets = batch.predicted();
  Tensor do_BHTD;
  auto positions = static_cast<std::int64_t>(e.tokens.size());
  tape.backward(loss, [&](const Node& node) {
    if (do_BHTD.defined()) return;
    if (&node == capture.node) do_BHTD = node.output_grad();
    for (const Gradient& output : node.outputs) {
      const Tensor& gradient = output.value();
      if (!gradient.defined()) continue;  // a sum that only its norm reads has none
      std::optional<double> norm = gradient.size() == 1 ? gradient.item() : norm_at(gradient, e, positions);
      if (norm) e.arrival.push_back({node.name(), gradient.shape().str(), *norm});
      return;
    }
  });
  return do_BHTD;
}

}  // namespace

const AttentionTrace& Explanation::row(std::int64_t i) const {
  for (const AttentionTrace& trace : rows)
    if (trace.i == i) return trace;
  fail("explanation", "query " + std::to_string(i) + " was not traced");
}

Explanation explain(LanguageModel& model, const Tensor& tokens_1T, const ExplainOptions& options) {
  const Sizes& sizes = model.sizes();
  std::int64_t positions = tokens_1T.dim(1) + model.extra_tokens();
  Explanation e;
  e.layer = options.place.layer.value_or(sizes.attention_layer(0)), e.head = options.place.head,
  e.query = options.place.query.value_or(options.backward ? positions - 2 : positions - 1);
  require_below("--layer", e.layer, sizes.layers, "the layers of the model");
  if (!sizes.has_attention(e.layer))
    throw Error(
        "--layer must be one with attention, of " + layers_with_attention(sizes) + "; got " + std::to_string(e.layer),
        Exit::usage);
  require_below("--head", e.head, sizes.heads, "the heads of a layer");
  require_below("--query", e.query, positions,
                model.extra_tokens() > 0 ? "the positions of the text, the model's own token first"
                                         : "the positions of the text");
  e.tokens.assign(static_cast<std::size_t>(model.extra_tokens()), -1);
  for (std::int64_t t = 0; t < tokens_1T.dim(1); ++t) e.tokens.push_back(tokens_1T.data<std::int32_t>()[t]);

  Tensor do_BHTD;
  std::optional<Tape> tape;
  if (options.backward) tape.emplace();
  LayerCapture capture(e.layer, options.backward ? &*tape : nullptr);
  if (options.backward)
    do_BHTD = gradient_of_output(model, given_tokens(tokens_1T, sizes.vocabulary, sizes.prefix), e, capture, *tape);
  else
    model.logits(tokens_1T, {.hooks = &capture});
  for (std::int64_t i = 0; i < positions; ++i)
    if (options.all_queries || i == e.query) e.rows.push_back(capture.trace(do_BHTD, 0, e.head, i));
  for (GradientStep& step : e.arrival)  // `Linear` is an attention operation, `linear` a product with a matrix
    if (step.operation == e.rows.front().operation) step.operation.insert(0, "attention ");
  return e;
}

}  // namespace sink
