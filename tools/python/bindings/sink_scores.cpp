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

// Ctrl-C ends a measurement after the current block.
struct InterruptibleHooks final : EvaluationHooks {
  using EvaluationHooks::EvaluationHooks;
  void attention(AttentionPoint& point) override {
    EvaluationHooks::attention(point);
    check_signals();
  }
};

struct KeySumHooks final : ForwardHooks {
  KeySumTables tables;
  const LanguageModel& model;
  std::int64_t T;

  KeySumHooks(const LanguageModel& of, std::int64_t tokens) : model(of), T(tokens) {
    const std::int64_t L = model.sizes().attention_layers(), H = model.sizes().heads, K = T + model.extra_tokens();
    for (Tensor* x : {&tables.raw_LHK, &tables.proxy_LHK, &tables.largest_LHK, &tables.by_distance_LHK})
      *x = Tensor::zeros({L, H, K}, DType::F64);
    for (Tensor* x : {&tables.extra_proxy_LH, &tables.row_sum_LH}) *x = Tensor::zeros({L, H}, DType::F64);
    tables.rows_LK = Tensor::zeros({L, K}, DType::F64);
  }

  void attention(AttentionPoint& point) override {
    const AttentionKeySums sums = point.key_sums();
    const std::int64_t row = model.sizes().attention_index(point.layer);
    for (const auto& [to, from] : {std::pair(&tables.raw_LHK, &sums.raw_BHK),
                                   {&tables.proxy_LHK, &sums.proxy_BHK},
                                   {&tables.largest_LHK, &sums.largest_BHK},
                                   {&tables.by_distance_LHK, &sums.by_distance_BHK},
                                   {&tables.extra_proxy_LH, &sums.extra_proxy_BH},
                                   {&tables.row_sum_LH, &sums.row_sum_BH}})
      to->slice(row * from->size(), from->shape()).copy_from(*from);
    const std::vector<double> rows_K =
        rows_that_see(model.sizes(), point.layer, T, model.extra_tokens(), 1, T + model.extra_tokens())[0];
    std::copy(rows_K.begin(), rows_K.end(), tables.rows_LK.data<double>() + row * tables.rows_LK.dim(1));
    tables.has_extra_key = point.has_extra_key;
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

KeySumTables key_sum_tables(LanguageModel& model, const Tensor& tokens_1T) {
  KeySumHooks hooks(model, tokens_1T.dim(1));
  model.next_logits(tokens_1T, {.hooks = &hooks});
  return hooks.tables;
}

nb::dict dict_of(const KeySumTables& tables) {
  nb::dict dict;
  dict["raw"] = array_of(tables.raw_LHK);
  dict["proxy"] = array_of(tables.proxy_LHK);
  dict["largest"] = array_of(tables.largest_LHK);
  dict["by_distance"] = array_of(tables.by_distance_LHK);
  dict["rows"] = array_of(tables.rows_LK);
  dict["row_sum"] = array_of(tables.row_sum_LH);
  if (tables.has_extra_key) dict["extra"] = array_of(tables.extra_proxy_LH);
  return dict;
}

}  // namespace sink::python
