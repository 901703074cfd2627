#include "tools/python/bindings/sink_scores.h"

#include <algorithm>

#include "eval/sink/evaluation_hooks.h"
#include "tools/python/bindings/arrays.h"
#include "tools/python/bindings/computation.h"

namespace sink::python {
namespace {

namespace nb = nanobind;

Tensor tensor_of(double value) { return Tensor::full({}, value, DType::F64); }

template <class T>
Tensor tensor_of(const std::vector<T>& values) {
  std::vector<Tensor> rows;
  for (const T& value : values) rows.push_back(tensor_of(value));
  const std::int64_t size = rows.front().size();
  Shape shape({static_cast<std::int64_t>(rows.size())});
  for (int axis = 0; axis < rows.front().rank(); ++axis) shape.append(rows.front().dim(axis));
  Tensor tensor = Tensor::empty(shape, DType::F64);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(rows[i].data<double>(), size, tensor.data<double>() + static_cast<std::int64_t>(i) * size);
  return tensor;
}

// Ctrl-C ends the measurement after the current block.
struct InterruptibleHooks final : EvaluationHooks {
  using EvaluationHooks::EvaluationHooks;
  void attention(AttentionPoint& point) override {
    EvaluationHooks::attention(point);
    check_signals();
  }
};

}  // namespace

SinkTables sink_tables(LanguageModel& model, const Tensor& tokens_NT) {
  const std::int64_t N = tokens_NT.dim(0), T = tokens_NT.dim(1);
  InterruptibleHooks hooks(model.sizes(), model.extra_tokens(), N, T);
  for (std::int64_t n = 0; n < N; ++n) {
    hooks.begin_batch(n);
    model.next_logits(tokens_NT.rows(n, n + 1), {.hooks = &hooks});
  }
  SinkTables tables{hooks.evaluation(), {}};
  tables.even = even_attention(
      visible_keys(model.sizes(), T, model.extra_tokens(), tables.measured.extra == Evaluation::Extra::key));
  return tables;
}

nb::dict dict_of(const SinkTables& tables) {
  nb::dict dict, measures;
  for_each_measure(tables.measured, [&](const Measure& measure, bool raw, const double* scalar, auto values) {
    if (scalar && !std::isnan(*scalar)) measures[key_of(measure, raw, false).c_str()] = *scalar;
    if constexpr (!std::is_null_pointer_v<decltype(values)>)
      if (!values->empty()) measures[key_of(measure, raw, true).c_str()] = array_of(tensor_of(*values));
  });
  dict["measures"] = measures;
  dict["even_alpha_1"] = tables.even.alpha_1;
  return dict;
}

}  // namespace sink::python
