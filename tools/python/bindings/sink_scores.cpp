#include "tools/python/bindings/sink_scores.h"

#include <nanobind/stl/vector.h>

#include "eval/sink/evaluation_hooks.h"
#include "eval/sink/even_attention.h"
#include "tools/python/bindings/arrays.h"
#include "tools/python/bindings/computation.h"

namespace sink::python {
namespace {

namespace nb = nanobind;

Tensor tensor_of(const ValueTable& table_LH) {
  return Tensor::table<double>(static_cast<std::int64_t>(table_LH.size()),
                               static_cast<std::int64_t>(table_LH.front().size()), [&](std::int64_t l, std::int64_t h) {
                                 return table_LH[static_cast<std::size_t>(l)][static_cast<std::size_t>(h)];
                               });
}

Tensor tensor_of(const std::vector<ValueTable>& table_LHK) {
  const auto L = static_cast<std::int64_t>(table_LHK.size()), H = static_cast<std::int64_t>(table_LHK[0].size()),
             K = static_cast<std::int64_t>(table_LHK[0][0].size());
  Tensor tensor = Tensor::empty({L, H, K}, DType::F64);
  for (std::int64_t l = 0; l < L; ++l)
    tensor.slice(l * H * K, {H, K}).copy_from(tensor_of(table_LHK[static_cast<std::size_t>(l)]));
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
  const Evaluation e = hooks.evaluation();
  const EvenAttention even =
      even_attention(visible_keys(model.sizes(), T, model.extra_tokens(), e.extra == Evaluation::Extra::key));
  SinkTables tables{.alpha_LHK = tensor_of(e.proxy.alpha_layer_head_k),
                    .alpha_raw_LHK = tensor_of(e.raw.alpha_layer_head_k),
                    .row_sum_LH = tensor_of(e.row_sum_layer_head),
                    .sink_k = e.proxy.sink_k[kPaperEpsilonIndex],
                    .sink_k_raw = e.raw.sink_k[kPaperEpsilonIndex],
                    .even_alpha_1 = even.alpha_1,
                    .even_alpha_star = even.alpha_star};
  if (e.proxy.star && e.raw.star) {
    tables.alpha_star_LH = tensor_of(e.proxy.star->alpha_layer_head);
    tables.alpha_star_raw_LH = tensor_of(e.raw.star->alpha_layer_head);
    tables.sink_star = e.proxy.star->sink[kPaperEpsilonIndex];
    tables.sink_star_raw = e.raw.star->sink[kPaperEpsilonIndex];
  }
  return tables;
}

nb::dict dict_of(const SinkTables& tables) {
  nb::dict dict;
  dict["alpha_k"] = array_of(tables.alpha_LHK);
  dict["alpha_k_raw"] = array_of(tables.alpha_raw_LHK);
  dict["row_sum"] = array_of(tables.row_sum_LH);
  dict["sink_k"] = tables.sink_k;
  dict["sink_k_raw"] = tables.sink_k_raw;
  dict["even_alpha_1"] = tables.even_alpha_1;
  if (tables.alpha_star_LH.defined()) {
    dict["alpha_star"] = array_of(tables.alpha_star_LH);
    dict["alpha_star_raw"] = array_of(tables.alpha_star_raw_LH);
    dict["sink_star"] = tables.sink_star;
    dict["sink_star_raw"] = tables.sink_star_raw;
    dict["even_alpha_star"] = tables.even_alpha_star;
  }
  return dict;
}

}  // namespace sink::python
