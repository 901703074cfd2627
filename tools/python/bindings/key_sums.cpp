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
    const std::int64_t L = model.sizes().layers, H = model.sizes().heads, P = T + model.extra_tokens();
    for (Tensor* x : {&tables.raw_LHP, &tables.proxy_LHP, &tables.largest_LHP, &tables.by_distance_LHP})
      *x = Tensor::zeros({L, H, P}, DType::F64);
    for (Tensor* x : {&tables.extra_proxy_LH, &tables.row_sum_LH}) *x = Tensor::zeros({L, H}, DType::F64);
    tables.rows_LP = Tensor::zeros({L, P}, DType::F64);
  }

  void attention(AttentionPoint& point) override {
    const AttentionKeySums sums = point.key_sums();
    for (const auto& [to, from] : {std::pair(&tables.raw_LHP, &sums.raw_BHK),
                                   {&tables.proxy_LHP, &sums.proxy_BHK},
                                   {&tables.largest_LHP, &sums.largest_BHK},
                                   {&tables.by_distance_LHP, &sums.by_distance_BHK},
                                   {&tables.extra_proxy_LH, &sums.extra_proxy_BH},
                                   {&tables.row_sum_LH, &sums.row_sum_BH}})
      to->slice(point.layer * from->size(), from->shape()).copy_from(*from);
    const std::vector<double> rows_P =
        rows_that_see(model.sizes(), point.layer, T, model.extra_tokens(), 1, T + model.extra_tokens())[0];
    std::copy(rows_P.begin(), rows_P.end(), tables.rows_LP.data<double>() + point.layer * tables.rows_LP.dim(1));
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
  dict["raw"] = array_of(tables.raw_LHP);
  dict["proxy"] = array_of(tables.proxy_LHP);
  dict["largest"] = array_of(tables.largest_LHP);
  dict["by_distance"] = array_of(tables.by_distance_LHP);
  dict["rows"] = array_of(tables.rows_LP);
  dict["row_sum"] = array_of(tables.row_sum_LH);
  if (tables.has_extra_key) dict["extra"] = array_of(tables.extra_proxy_LH);
  return dict;
}

}  // namespace sink::python
