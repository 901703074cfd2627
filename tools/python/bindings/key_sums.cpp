#include "tools/python/bindings/key_sums.h"

#include "eval/sink/even_attention.h"
#include "tools/python/bindings/arrays.h"
#include "tools/python/bindings/computation.h"

namespace sink::python {
namespace {

// Ctrl-C ends the pass after the current block.
struct KeySumHooks final : ForwardHooks {
  KeySumTables tables;
  const LanguageModel& model;
  std::int64_t T;

  KeySumHooks(const LanguageModel& of, std::int64_t tokens) : model(of), T(tokens) {
    const std::int64_t L = model.sizes().layers, H = model.sizes().heads, K = T + model.extra_tokens();
    for (Tensor* x : {&tables.raw_LHK, &tables.proxy_LHK, &tables.largest_LHK, &tables.by_distance_LHK})
      *x = Tensor::zeros({L, H, K}, DType::F64);
    for (Tensor* x : {&tables.extra_proxy_LH, &tables.row_sum_LH}) *x = Tensor::zeros({L, H}, DType::F64);
    tables.rows_LK = Tensor::zeros({L, K}, DType::F64);
  }

  void attention(AttentionPoint& point) override {
    const AttentionKeySums sums = point.key_sums();
    for (const auto& [to, from] : {std::pair(&tables.raw_LHK, &sums.raw_BHK),
                                   {&tables.proxy_LHK, &sums.proxy_BHK},
                                   {&tables.largest_LHK, &sums.largest_BHK},
                                   {&tables.by_distance_LHK, &sums.by_distance_BHK},
                                   {&tables.extra_proxy_LH, &sums.extra_proxy_BH},
                                   {&tables.row_sum_LH, &sums.row_sum_BH}})
      to->slice(point.layer * from->size(), from->shape()).copy_from(*from);
    const std::vector<double> rows_K =
        rows_that_see(model.sizes(), point.layer, T, model.extra_tokens(), 1, T + model.extra_tokens())[0];
    std::copy(rows_K.begin(), rows_K.end(), tables.rows_LK.data<double>() + point.layer * tables.rows_LK.dim(1));
    tables.has_extra_key = point.has_extra_key;
    check_signals();
  }
};

}  // namespace

KeySumTables key_sum_tables(LanguageModel& model, const Tensor& tokens_1T) {
  KeySumHooks hooks(model, tokens_1T.dim(1));
  model.next_logits(tokens_1T, {.hooks = &hooks});
  return hooks.tables;
}

nanobind::dict dict_of(const KeySumTables& tables) {
  nanobind::dict dict;
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
