// What is measured of a model: the values (SinkScores, Evaluation) and kMeasures, which says of each measure its name,
// unit, axes and formula, where its values are, and what they are computed from. The hooks, evaluation.json,
// results.csv, the tables, the report, the Python module and MEASURES.md are loops over kMeasures. To add a measure,
// write its member, its row and, if no statistic has it, its function.
//
// Positions are those inside the model: 0 ... T-1, or 0 ... T with a sink token, which comes first. Formulas count from
// 1, as in the paper: |v_1| and |h_1| are those of position 0, which is the sink token if there is one. alpha_k, Sink_k
// and the loss by position count only real tokens.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "engine/ops/attention/attention.h"

namespace sink {

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();
inline constexpr std::array<double, 3> kSinkEpsilons{0.2, 0.3, 0.4};
inline constexpr std::size_t kPaperEpsilonIndex = 1;  // kSinkEpsilons[1] is 0.3, the threshold that the paper reports
inline constexpr std::int64_t kSinkPositions = 10;    // k = 1 ... 10

// [row][column]: layers and heads, or layers and positions.
using ValueTable = std::vector<std::vector<double>>;

// Scores of one kind of weights, raw or proxy (eval/sink/sink_score.h).
struct SinkScores {
  double alpha_1 = kNotMeasured;
  std::vector<double> alpha_k, sink_k, sink_1;  // [k], [k] at the threshold of the paper, [epsilon]
  ValueTable sink_k_epsilon, alpha_1_layer_head;
  std::vector<ValueTable> alpha_layer_head_k;
  // Of the extra key or sink token; unknown without one.
  double alpha_star = kNotMeasured;
  std::vector<double> sink_star;  // [epsilon]
  ValueTable alpha_star_layer_head;
  bool has_star() const { return !sink_star.empty(); }
};

// Measurements of a model on a set of sequences. What is not known or does not exist is NaN or empty.
struct Evaluation {
  std::int64_t sequences = 0;
  std::int64_t context = 0;  // T, real tokens of a sequence
  std::int64_t targets = 0;  // tokens that are predicted
  // What the model adds for queries to attend to.
  enum class Extra { none, key, token, unknown } extra = Extra::none;
  std::vector<double> sink_epsilon{kSinkEpsilons.begin(), kSinkEpsilons.end()};
  std::vector<std::int64_t> first_key_rows;  // [layer]: rows that see the first token, where all are one document
  // Where some layers have no attention, those that have: the rows of all tables but those of the residual stream.
  std::vector<std::int64_t> attention_layers;
  std::int64_t layer_of_row(std::size_t row) const {
    return attention_layers.empty() ? static_cast<std::int64_t>(row) : attention_layers[row];
  }

  // The measures; kMeasures explains them.
  double loss = kNotMeasured;
  std::vector<double> loss_by_position;
  SinkScores proxy, raw;
  double alpha_1_max = kNotMeasured, alpha_fixed = kNotMeasured, alpha_fixed_over_even = kNotMeasured;
  double row_sum = kNotMeasured, extra_key_weight = kNotMeasured, entropy = kNotMeasured, value_share = kNotMeasured;
  ValueTable row_sum_layer_head, extra_key_weight_layer_head, entropy_layer_head, value_share_layer_head;
  double margin = kNotMeasured;
  ValueTable margin_layer_head;
  // If all products q . k were zero.
  double zero_score_alpha_1 = kNotMeasured, zero_score_alpha_1_raw = kNotMeasured;
  double zero_score_sink_1 = kNotMeasured, zero_score_sink_1_raw = kNotMeasured;
  ValueTable zero_score_alpha_1_layer_head, zero_score_alpha_1_raw_layer_head;
  ValueTable zero_score_sink_1_layer_head, zero_score_sink_1_raw_layer_head;
  double first_value_norm_ratio = kNotMeasured, largest_massive_ratio = kNotMeasured;
  std::vector<double> massive_ratio, massive_ratio_before_norm;
  ValueTable hidden_norm, hidden_before_norm_norm, key_norm, value_norm, hidden_kurtosis, hidden_largest;
  ValueTable first_key_dot, first_key_norm_product, first_key_cosine;
  ValueTable other_keys_dot, other_keys_norm_product, other_keys_cosine;

  // Scores of the first T tokens of every sequence at other thresholds, on request (add_sinks_by_length).
  struct ByLength {
    std::vector<double> epsilons;
    std::vector<std::int64_t> lengths;   // T
    std::vector<SinkScores> proxy, raw;  // [T]
  } by_length;

  // Attention patterns of a few sequences (eval/sink/attention_patterns.h); zero where a query does not see a key.
  struct Patterns {
    std::int64_t layers = 0, heads = 0;
    bool extra_key = false;                         // column 0 is the extra key
    std::vector<std::vector<std::int32_t>> tokens;  // [sequence][position]; -1: the sink token
    // [(sequence * layers + layer) * heads + head]: F64 (positions, extra key + positions), raw; undefined where it is
    // not kept.
    std::vector<Tensor> weights;
    std::int64_t layer = 0, head = 0;  // the one that reports show first, of the first sequence
  } patterns;
};

// By Evaluation::Extra.
inline constexpr const char* kExtraNames[] = {"none", "key", "token", "unknown"};

// The indices of values, and what the key of a file appends to the name of the measure for them.
struct Axes {
  std::string_view names = "", suffix = "";
  bool operator==(const Axes&) const = default;
};
inline constexpr Axes kByEpsilon{"epsilon"}, kByK{"k"}, kByEpsilonK{"epsilon k"}, kByLayerHeadK{"layer head k"},
    kByHead{"layer head"}, kByPosition{"position"}, kByLayer{"layer", "_layer"},
    kByLayerHead{"layer head", "_layer_head"}, kByLayerPosition{"layer position", "_layer_position"};

// What the hooks sum over sequences.
struct OfAttention {  // a statistic (B, H) of a layer: a mean over rows, or their sum
  Tensor AttentionStatistics::*statistic;
  bool is_sum = false;
};
enum class Vectors { hidden, before_norm, key, value };
enum class OfVector { length, kurtosis, largest, first_by_others };  // of each position; |x_1| / mean |x_t|
struct OfVectors {
  Vectors vectors;
  OfVector what;
};
// A function of measured_point.h, of each sequence and head (B, H); undefined where the model has no such value. With
// `of_later_rows` it is of the rows i > 1 that see key 1, and 0 for a sequence without one, which does not count.
struct MeasuredPoint;
struct OfPoint {
  Tensor (*compute)(const MeasuredPoint&);
  bool of_later_rows = false;
};
Tensor first_key_margin(const MeasuredPoint&);
template <bool raw>
Tensor zero_score_alpha_1(const MeasuredPoint&);
template <bool raw>
Tensor zero_score_sink_1(const MeasuredPoint&);
struct OfLosses {};
using Source = std::variant<std::monostate, OfAttention, OfVectors, OfPoint, OfLosses>;  // monostate: set by others

enum class Summary { none, mean, max };  // over layers and heads, or over layers

using Scalar = std::variant<std::monostate, double Evaluation::*, double SinkScores::*>;
using Values =
    std::variant<std::monostate, std::vector<double> Evaluation::*, ValueTable Evaluation::*,
                 std::vector<double> SinkScores::*, ValueTable SinkScores::*, std::vector<ValueTable> SinkScores::*>;

// A measure. Its scalar is in files under its name, its values under name and suffix of the axes, and those of raw
// weights have `_raw` at the end.
struct Measure {
  const char *name, *symbol, *unit, *formula;
  Axes axes = {};
  Values values = {};
  Scalar scalar = {};
  Summary summary = Summary::none;  // how the scalar follows from the values
  Source source = {};
  bool optional = false;  // a scalar that only some models have
  int decimals = 0;       // of the scalar on a terminal; 0: it is not listed there
  // On the page of `report`: a figure with this title and caption; tiles of heads with this name.
  const char *title = nullptr, *caption = nullptr, *tiles = nullptr;
};

namespace measure_table {
using E = Evaluation;
using S = SinkScores;
using A = AttentionStatistics;
// clang-format off
inline constexpr Measure kMeasures[] = {
  {.name = "val_loss", .symbol = "loss", .unit = "nats", .formula = "mean cross-entropy of the targets",
   .scalar = &E::loss, .source = OfLosses{}},
  {.name = "sink_1", .symbol = "Sink_1", .unit = "% of heads",
   .formula = "heads with alpha_1 > epsilon, by sequence, then the mean",
   .axes = kByEpsilon, .values = &S::sink_1},
  {.name = "sink_star", .symbol = "Sink_*", .unit = "% of heads", .formula = "heads with alpha_* > epsilon",
   .axes = kByEpsilon, .values = &S::sink_star},
  {.name = "alpha_1", .symbol = "alpha_1", .unit = "weight",
   .formula = "sum of a_i1 over the rows that see key 1, by their number",
   .axes = kByLayerHead, .values = &S::alpha_1_layer_head, .scalar = &S::alpha_1, .tiles = "\u03b1\u2081"},
  {.name = "alpha_1_max", .symbol = "largest alpha_1", .unit = "weight",
   .formula = "largest proxy alpha_1 of a layer and head", .scalar = &E::alpha_1_max},
  {.name = "alpha_star", .symbol = "alpha_*", .unit = "weight",
   .formula = "(1 + sum_i a_i*) / (T + 1) of an extra key; of a sink token the mean over the rows that see it",
   .axes = kByLayerHead, .values = &S::alpha_star_layer_head, .scalar = &S::alpha_star, .tiles = "\u03b1*"},
  {.name = "row_mass", .symbol = "row sum", .unit = "weight",
   .formula = "sum_j a_ij without the extra key, mean over rows",
   .axes = kByLayerHead, .values = &E::row_sum_layer_head, .scalar = &E::row_sum, .summary = Summary::mean,
   .source = OfAttention{&A::row_sum_BH}, .decimals = 4},
  {.name = "extra_key_mass", .symbol = "on the extra key", .unit = "weight", .formula = "a_i*, mean over rows",
   .axes = kByLayerHead, .values = &E::extra_key_weight_layer_head, .scalar = &E::extra_key_weight,
   .summary = Summary::mean, .source = OfAttention{&A::extra_raw_BH, /*is_sum=*/true}, .decimals = 4},
  {.name = "entropy", .symbol = "entropy", .unit = "nats",
   .formula = "-sum_j p_ij ln p_ij of the proxy weights p, the extra key among the j, mean over rows",
   .axes = kByLayerHead, .values = &E::entropy_layer_head, .scalar = &E::entropy, .summary = Summary::mean,
   .source = OfAttention{&A::entropy_BH}, .decimals = 3},
  {.name = "first_value_norm_ratio", .symbol = "|v_1| / mean |v_t|", .unit = "ratio",
   .formula = "|v_1| / mean over t > 1 of |v_t|, norms averaged over sequences and heads; mean over layers",
   .scalar = &E::first_value_norm_ratio, .decimals = 3},
  {.name = "value_share", .symbol = "value share of the first key", .unit = "share",
   .formula = "|a_i1| |v_1| / sum_j |a_ij| |v_j|, the extra key among the j, mean over rows i > 1 that see key 1",
   .axes = kByLayerHead, .values = &E::value_share_layer_head, .scalar = &E::value_share, .summary = Summary::mean,
   .source = OfAttention{&A::value_share_BH}, .decimals = 4,
   .title = "Value share by layer",
   .caption = "Share of token 1 in |a||v|, the weight times the norm of the value, mean over heads.",
   .tiles = "share of |a||v|"},
  {.name = "margin", .symbol = "margin of key 1", .unit = "nats",
   .formula = "s_i1 - ln sum over j > 1 of e^s_ij, the extra key among the j, mean over rows i > 1 that see key 1",
   .axes = kByLayerHead, .values = &E::margin_layer_head, .scalar = &E::margin, .summary = Summary::mean,
   .source = OfPoint{first_key_margin, /*of_later_rows=*/true}, .optional = true, .decimals = 2,
   .title = "Margin of token 1 by layer",
   .caption = "Score of token 1 less the log-sum-exp of the others; the attention on it is the logistic of that.",
   .tiles = "margin of token 1"},
  {.name = "zero_score_alpha_1", .symbol = "alpha_1 at zero scores", .unit = "weight",
   .formula = "alpha_1 if all products q . k were zero: of the biases, the mask and the extra key alone",
   .axes = kByLayerHead, .values = &E::zero_score_alpha_1_layer_head, .scalar = &E::zero_score_alpha_1,
   .summary = Summary::mean, .source = OfPoint{zero_score_alpha_1<false>}, .optional = true, .decimals = 4},
  {.name = "zero_score_alpha_1_raw", .symbol = "alpha_1 at zero scores, raw", .unit = "weight",
   .formula = "the same of raw weights",
   .axes = kByLayerHead, .values = &E::zero_score_alpha_1_raw_layer_head, .scalar = &E::zero_score_alpha_1_raw,
   .summary = Summary::mean, .source = OfPoint{zero_score_alpha_1<true>}, .optional = true},
  {.name = "zero_score_sink_1", .symbol = "Sink_1 at zero scores", .unit = "% of heads",
   .formula = "heads whose zero_score_alpha_1 > 0.3",
   .axes = kByLayerHead, .values = &E::zero_score_sink_1_layer_head, .scalar = &E::zero_score_sink_1,
   .summary = Summary::mean, .source = OfPoint{zero_score_sink_1<false>}, .optional = true, .decimals = 2},
  {.name = "zero_score_sink_1_raw", .symbol = "Sink_1 at zero scores, raw", .unit = "% of heads",
   .formula = "the same of raw weights",
   .axes = kByLayerHead, .values = &E::zero_score_sink_1_raw_layer_head, .scalar = &E::zero_score_sink_1_raw,
   .summary = Summary::mean, .source = OfPoint{zero_score_sink_1<true>}, .optional = true},
  {.name = "massive_ratio", .symbol = "|h_1| / mean |h_t|", .unit = "ratio",
   .formula = "|h_1| / mean over t > 1 of |h_t| of each sequence, from the embedding on",
   .axes = kByLayer, .values = &E::massive_ratio, .scalar = &E::largest_massive_ratio, .summary = Summary::max,
   .source = OfVectors{Vectors::hidden, OfVector::first_by_others}},
  {.name = "alpha_fixed", .symbol = "alpha of the fixed token", .unit = "weight",
   .formula = "proxy alpha_k of a token that is at another position k of each sequence", .scalar = &E::alpha_fixed,
   .optional = true},
  {.name = "alpha_fixed_over_even", .symbol = "fixed token / even", .unit = "ratio",
   .formula = "alpha_fixed / that of even attention", .scalar = &E::alpha_fixed_over_even, .optional = true},
  {.name = "alpha_k", .symbol = "alpha_k", .unit = "weight",
   .formula = "sum of a_ik over the rows that see key k, by their number",
   .axes = kByK, .values = &S::alpha_k},
  {.name = "sink_k", .symbol = "Sink_k", .unit = "% of heads", .formula = "heads with alpha_k > 0.3",
   .axes = kByK, .values = &S::sink_k},
  {.name = "sink_k_epsilon", .symbol = "Sink_k", .unit = "% of heads", .formula = "heads with alpha_k > epsilon",
   .axes = kByEpsilonK, .values = &S::sink_k_epsilon},
  {.name = "alpha_layer_head_k", .symbol = "alpha_k", .unit = "weight", .formula = "alpha_k, mean over sequences",
   .axes = kByLayerHeadK, .values = &S::alpha_layer_head_k},
  {.name = "loss_position", .symbol = "loss", .unit = "nats",
   .formula = "cross-entropy of the prediction at the position",
   .axes = kByPosition, .values = &E::loss_by_position, .source = OfLosses{},
   .title = "Loss by position", .caption = "Mean cross-entropy of the prediction at this position, in nats."},
  {.name = "hidden_norm", .symbol = "|h_t|", .unit = "norm",
   .formula = "norm of the residual stream, from the embedding on",
   .axes = kByLayerPosition, .values = &E::hidden_norm, .source = OfVectors{Vectors::hidden, OfVector::length},
   .title = "Hidden state", .caption = "Norm of the residual stream after the layer."},
  {.name = "hidden_before_norm", .symbol = "|h_t|", .unit = "norm",
   .formula = "norm of FFN(u) + u, before the last norm of a post-norm block",
   .axes = kByLayerPosition, .values = &E::hidden_before_norm_norm,
   .source = OfVectors{Vectors::before_norm, OfVector::length}},
  {.name = "massive_ratio_before_norm", .symbol = "|h_1| / mean |h_t|", .unit = "ratio",
   .formula = "massive_ratio of hidden_before_norm",
   .axes = kByLayer, .values = &E::massive_ratio_before_norm,
   .source = OfVectors{Vectors::before_norm, OfVector::first_by_others}},
  {.name = "key_norm", .symbol = "|k_t|", .unit = "norm", .formula = "norm of the keys, mean over heads",
   .axes = kByLayerPosition, .values = &E::key_norm, .source = OfVectors{Vectors::key, OfVector::length},
   .title = "Key", .caption = "Norm of the keys, mean over heads."},
  {.name = "value_norm", .symbol = "|v_t|", .unit = "norm", .formula = "norm of the values, mean over heads",
   .axes = kByLayerPosition, .values = &E::value_norm, .source = OfVectors{Vectors::value, OfVector::length},
   .title = "Value", .caption = "Norm of the values, mean over heads."},
  {.name = "hidden_kurtosis", .symbol = "kurtosis of h_t", .unit = "kurtosis",
   .formula = "E[(x - mean)^4] / E[(x - mean)^2]^2 over the elements of h_t (Kaul et al. 2025)",
   .axes = kByLayerPosition, .values = &E::hidden_kurtosis,
   .source = OfVectors{Vectors::hidden, OfVector::kurtosis},
   .title = "Kurtosis",
   .caption = "Of the elements of the hidden state after the layer; 3 for a normal distribution."},
  {.name = "hidden_largest", .symbol = "largest |x| of h_t", .unit = "largest |element|",
   .formula = "largest |x| over the elements of h_t",
   .axes = kByLayerPosition, .values = &E::hidden_largest, .source = OfVectors{Vectors::hidden, OfVector::largest},
   .title = "Largest element", .caption = "Largest magnitude of an element of the hidden state."},
  // q_i . k_j = |q_i| |k_j| cos, unscaled and before position biases: mean over the rows i > 1 that see key 1; over all
  // visible pairs with i, j > 1.
  {.name = "qk_first_key.dot", .symbol = "q.k_1", .unit = "product",
   .formula = "q_i . k_1, rows i > 1 that see key 1",
   .axes = kByHead, .values = &E::first_key_dot, .source = OfAttention{&A::key1_dot_BH}},
  {.name = "qk_first_key.norm_product", .symbol = "|q||k_1|", .unit = "product",
   .formula = "|q_i| |k_1| of the same pairs",
   .axes = kByHead, .values = &E::first_key_norm_product, .source = OfAttention{&A::key1_norms_BH}},
  {.name = "qk_first_key.cosine", .symbol = "cos", .unit = "cosine", .formula = "of q_i and k_1 of the same pairs",
   .axes = kByHead, .values = &E::first_key_cosine, .source = OfAttention{&A::key1_cosine_BH}},
  {.name = "qk_other_keys.dot", .symbol = "q.other", .unit = "product",
   .formula = "q_i . k_j, visible pairs with i, j > 1",
   .axes = kByHead, .values = &E::other_keys_dot, .source = OfAttention{&A::other_dot_BH}},
  {.name = "qk_other_keys.norm_product", .symbol = "|q||k|", .unit = "product",
   .formula = "|q_i| |k_j| of the same pairs",
   .axes = kByHead, .values = &E::other_keys_norm_product, .source = OfAttention{&A::other_norms_BH}},
  {.name = "qk_other_keys.cosine", .symbol = "cos", .unit = "cosine", .formula = "of q_i and k_j of the same pairs",
   .axes = kByHead, .values = &E::other_keys_cosine, .source = OfAttention{&A::other_cosine_BH}},
};
// clang-format on
}  // namespace measure_table
using measure_table::kMeasures;

// The scalar of a measure, from its values.
inline double summary_of(const Measure& measure, const std::vector<double>& values) {
  if (measure.summary == Summary::none || values.empty()) return kNotMeasured;
  if (measure.summary == Summary::max) return *std::max_element(values.begin(), values.end());
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}
inline double summary_of(const Measure& measure, const ValueTable& table) {
  std::vector<double> values;
  for (const auto& row : table) values.insert(values.end(), row.begin(), row.end());
  return summary_of(measure, values);
}

// The key of a measure in files: of its scalar, or of its values.
inline std::string key_of(const Measure& measure, bool raw, bool of_values) {
  return measure.name + std::string(of_values ? measure.axes.suffix : "") + (raw ? "_raw" : "");
}

// Whether the model has it, and the Evaluation knows it.
template <class Values>
bool is_known(const Measure& measure, const double* scalar, Values values) {
  if constexpr (std::is_null_pointer_v<Values>)
    return !measure.optional || !std::isnan(*scalar);
  else
    return !values->empty();
}

// The name of the measure with this scalar or these values, such as &Evaluation::loss.
template <class Member>
constexpr const char* name_of(Member member) {
  for (const Measure& measure : kMeasures) {
    if constexpr (std::is_constructible_v<Scalar, Member>)
      if (measure.scalar == Scalar(member)) return measure.name;
    if constexpr (std::is_constructible_v<Values, Member>)
      if (measure.values == Values(member)) return measure.name;
  }
  return nullptr;
}

// visit(measure, raw, scalar, values) for every measure of an Evaluation in the order of kMeasures, known or not; for
// scores twice, of proxy and of raw weights. `scalar` points to a double and `values` to a row, table or list of
// tables, or is nullptr.
template <class E, class F>
void for_each_measure(E& evaluation, F&& visit) {
  for (const Measure& measure : kMeasures)
    for (const bool raw : {false, true}) {
      const auto pointer = [&](auto member) {
        if constexpr (requires { evaluation.proxy.*member; })
          return &((raw ? evaluation.raw : evaluation.proxy).*member);
        else if constexpr (requires { evaluation.*member; })
          return &(evaluation.*member);
        else
          return nullptr;
      };
      std::visit(
          [&](auto scalar, auto values) {
            constexpr bool of_scores = requires { evaluation.proxy.*scalar; }
            || requires { evaluation.proxy.*values; };
            if (of_scores || !raw) visit(measure, raw, pointer(scalar), pointer(values));
          },
          measure.scalar, measure.values);
    }
}

}  // namespace sink
