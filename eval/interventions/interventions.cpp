#include "eval/interventions/interventions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <span>

#include "engine/check.h"
#include "engine/threads.h"
#include "eval/interventions/intervention_hooks.h"
#include "eval/interventions/quantisation.h"
#include "eval/sink/evaluation.h"
#include "eval/vector_statistics.h"
#include "model/size_settings.h"

namespace sink {
namespace {

using What = Intervention::What;

constexpr std::int64_t kBytesBefore = std::int64_t{1} << 29;  // of logits and hidden states before, which are kept

struct Outputs {
  Tensor logits_BTV;
  std::vector<Tensor> hidden_LBTC;  // on request
};
// logits_with(hooks): a pass of the model
template <class LogitsWith>
Outputs outputs_of(ForwardHooks* hooks, bool with_hidden, LogitsWith&& logits_with) {
  if (!hooks) hooks = &ForwardHooks::none();
  if (!with_hidden) return {logits_with(*hooks), {}};
  HiddenRecorder recorder(*hooks);
  const Tensor logits_BTV = logits_with(recorder);
  return {logits_BTV, recorder.hidden_LBTC()};
}

// The residual stream before some blocks, where the passes of interventions begin.
struct InputsOfBlocks final : ForwardHooks {
  std::map<std::int64_t, Tensor> x_BTC;  // by block

  explicit InputsOfBlocks(const std::set<std::int64_t>& blocks) {
    for (std::int64_t block : blocks) x_BTC[block];
  }
  void residual_pre(std::int64_t layer, Residual& x) override {
    if (auto block = x_BTC.find(layer); block != x_BTC.end()) block->second = x.sum().value().clone();
  }
};

// Some sequences and the unchanged model's outputs for them.
struct Unchanged {
  Batch part;
  InputsOfBlocks inputs;
  Outputs outputs;

  Unchanged(const LanguageModel& model, const Batch& sequences, const std::set<std::int64_t>& blocks, bool with_hidden)
      : part(sequences), inputs(blocks) {
    outputs = outputs_of(&inputs, with_hidden, [&](ForwardHooks& hooks) {
      return model.logits(part.tokens_BT(), {.hooks = &hooks, .documents = part.documents()});
    });
  }
  // Of copies of the sequences, one after another, from this block on.
  Outputs from_block(const LanguageModel& model, std::int64_t block, std::int64_t copies, ForwardHooks* hooks,
                     bool with_hidden) const {
    const Tensor x_BTC = repeated(inputs.x_BTC.at(block), copies);
    const DocumentPlaces documents{repeated(part.documents().starts_BT, copies),
                                   repeated(part.documents().positions_BT, copies)};
    return outputs_of(hooks, with_hidden, [&](ForwardHooks& all) {
      return model.logits_from(block, x_BTC, {.hooks = &all, .documents = documents});
    });
  }

 private:
  static Tensor repeated(const Tensor& x, std::int64_t copies) {
    if (copies == 1 || !x.defined()) return x;
    Shape shape = x.shape();
    shape[0] *= copies;
    Tensor all = x.new_empty(shape, x.dtype());
    for (std::int64_t n = 0; n < copies; ++n) all.rows(n * x.dim(0), (n + 1) * x.dim(0)).copy_from(x);
    return all;
  }
};

// f(first, last) of `batch` sequences at a time.
template <class F>
void in_batches(std::int64_t sequences, std::int64_t batch, F&& f) {
  for (std::int64_t first = 0; first < sequences; first += batch) f(first, std::min(sequences, first + batch));
}

// The logits of one position before and after.
struct RowComparison {
  double before = 0, after = 0, divergence = 0;  // losses -log p(target), 0 without a target
  bool is_predicted = false;
  bool same_greedy = true;
};

template <class R>
RowComparison compare_rows(const R* z, const std::vector<double>& p_V, double lse_z, std::span<const R> y,
                           std::int32_t target, bool same_greedy) {
  const double lse_y = log_sum_exp(y);
  RowComparison row{.same_greedy = same_greedy};
  for (std::size_t v = 0; v < y.size(); ++v)
    row.divergence += p_V[v] * ((static_cast<double>(z[v]) - lse_z) - (static_cast<double>(y[v]) - lse_y));
  if (target >= 0) {
    row.is_predicted = true;
    row.before = lse_z - static_cast<double>(z[target]);
    row.after = lse_y - static_cast<double>(y[static_cast<std::size_t>(target)]);
  }
  return row;
}

// [copy][position]: of copies of the sequences, one after another.
std::vector<std::vector<RowComparison>> compared(const Tensor& before_BTV, const Tensor& after_NTV,
                                                 const Tensor& targets_BT) {
  const std::int64_t rows = targets_BT.size(), V = before_BTV.dim(2), copies = after_NTV.size() / before_BTV.size();
  const auto vocabulary = static_cast<std::size_t>(V);
  std::vector<std::vector<RowComparison>> found(static_cast<std::size_t>(copies),
                                                std::vector<RowComparison>(static_cast<std::size_t>(rows)));
  with_real(after_NTV.dtype(), [&](auto zero) {
    using R = decltype(zero);
    const auto greedy = [&](const R* logits_V) { return std::max_element(logits_V, logits_V + V) - logits_V; };
    parallel_for(rows, [&](std::int64_t n) {
      const R* z = before_BTV.data<R>() + n * V;
      const double lse_z = log_sum_exp(std::span(z, vocabulary));
      std::vector<double> p_V(vocabulary);
      for (std::size_t v = 0; v < vocabulary; ++v) p_V[v] = std::exp(static_cast<double>(z[v]) - lse_z);
      const std::int64_t best = greedy(z);
      for (std::size_t c = 0; c < found.size(); ++c) {
        const R* y = after_NTV.data<R>() + (static_cast<std::int64_t>(c) * rows + n) * V;
        found[c][static_cast<std::size_t>(n)] =
            compare_rows<R>(z, p_V, lse_z, {y, vocabulary}, targets_BT.data<std::int32_t>()[n], greedy(y) == best);
      }
    });
  });
  return found;
}

// The results of one intervention, one value for each sequence: its targets, and sums over them of the loss before and
// after; means over its tokens; and the change of the loss of its last target.
struct Comparison {
  std::vector<double> targets, before, after, divergence, changed, last;
  std::vector<TokenChange> tokens;  // of all sequences, if the outputs have hidden states

  // The rows are of the T tokens of each sequence, the hidden states of both passes.
  void add(const std::vector<RowComparison>& rows, std::int64_t T, const std::vector<Tensor>& before_LBTC,
           const std::vector<Tensor>& after_LBTC, std::int64_t extra_tokens) {
    const std::int64_t B = std::ssize(rows) / T;
    for (std::int64_t b = 0; b < B; ++b) {
      double predicted = 0;
      RowComparison sum;
      double changed = 0, last = std::nan("");
      for (std::int64_t n = b * T; n < (b + 1) * T; ++n) {
        const RowComparison& row = rows[static_cast<std::size_t>(n)];
        predicted += row.is_predicted;
        if (row.is_predicted) last = row.after - row.before;  // a sequence without targets has no last one
        changed += !row.same_greedy;
        sum.before += row.before, sum.after += row.after, sum.divergence += row.divergence;
      }
      this->targets.push_back(predicted);
      before.push_back(sum.before);
      after.push_back(sum.after);
      divergence.push_back(sum.divergence / static_cast<double>(T));
      this->changed.push_back(changed / static_cast<double>(T));
      this->last.push_back(last);
    }
    if (after_LBTC.empty()) return;
    for (const RowComparison& row : rows)
      tokens.push_back({.before = row.is_predicted ? row.before : std::nan(""),
                        .after = row.is_predicted ? row.after : std::nan(""),
                        .divergence = row.divergence,
                        .greedy_changed = !row.same_greedy});
    add_hidden_changes(before_LBTC, after_LBTC, extra_tokens, std::span(tokens).last(rows.size()));
  }
};

// Changes the model by one intervention, or by one for each copy of the sequences, for its lifetime.
struct Intervened {
  std::unique_ptr<QuantisedMatrices> matrices;
  std::unique_ptr<ForwardHooks> hooks;  // null if the intervention changes weights only

  Intervened(LanguageModel& model, std::span<const Intervention> of_copies, const ValueSums& values,
             const SourceActivations* source)
      : hooks(hooks_of(of_copies, model.extra_tokens(), values, source)) {
    const Quantisation& how = of_copies.front().quantisation;
    if (of_copies.front().what == What::quantise && how.weight_bits > 0)
      matrices = std::make_unique<QuantisedMatrices>(model, how.weight_bits, how.weights);
  }
};

double mean_of(const std::vector<double>& values) { return xt::mean(xt::adapt(values))(); }
double sum_of(const std::vector<double>& values) { return xt::sum(xt::adapt(values))(); }
// Without the values that are NaN.
double mean_of_numbers(const std::vector<double>& values) { return xt::nanmean(xt::adapt(values))(); }

// The loss is a ratio of sums over sequences, losses to targets. Its standard error is that of a ratio (Cochran 1977,
// Sampling Techniques, eq. 6.9), which for sequences with equally many targets is that of a mean.
InterventionResult result_of(const Intervention& intervention, const Comparison& found) {
  const double targets = sum_of(found.targets);
  const xt::xtensor<double, 1> change = xt::adapt(found.after) - xt::adapt(found.before);
  InterventionResult result{.name = intervention.name,
                            .meaning = intervention.meaning,
                            .group = intervention.group,
                            .before = sum_of(found.before) / targets,
                            .loss = sum_of(found.after) / targets,
                            .change = xt::sum(change)() / targets,
                            .error = std::nan(""),
                            .last_change = mean_of_numbers(found.last),
                            .divergence = mean_of(found.divergence),
                            .greedy_changed = mean_of(found.changed),
                            .tokens = found.tokens};
  if (intervention.per_head || intervention.per_token) result.layer = intervention.layers[0];
  if (intervention.per_head) result.head = intervention.heads[0];
  if (intervention.per_token) result.token = intervention.tokens[0];
  if (change.size() < 2) return result;
  const double count = static_cast<double>(change.size());
  const auto left = change - result.change * xt::adapt(found.targets);
  result.error = std::sqrt(xt::sum(xt::square(left))() * count / (count - 1)) / targets;
  return result;
}

// Replaces interventions with per_head or per_token by one for each layer, and head or token.
std::vector<Intervention> by_places(const std::vector<Intervention>& interventions, const Sizes& sizes,
                                    std::int64_t T) {
  auto all_of = [](const std::vector<std::int64_t>& chosen, std::int64_t first, std::int64_t count) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), first);
    return chosen.empty() ? all : chosen;
  };
  std::vector<Intervention> rows;
  for (const Intervention& intervention : interventions) {
    Intervention one = intervention;
    one.group = intervention.name;
    if (!intervention.per_head && !intervention.per_token) {
      rows.push_back(one);
      continue;
    }
    std::vector<std::int64_t>& place = intervention.per_head ? one.heads : one.tokens;
    const std::vector<std::int64_t> places =
        intervention.per_head ? all_of(intervention.heads, 0, sizes.heads) : all_of(intervention.tokens, 1, T);
    for (std::int64_t layer : all_of(intervention.layers, 0, sizes.layers))
      for (std::int64_t at : places) {
        if (intervention.per_head && !sizes.has_attention(layer)) continue;
        one.layers = {layer};
        place = {at};
        one.name = intervention.name + " layer " + std::to_string(layer) +
                   (intervention.per_head ? " head " : " token ") + std::to_string(at);
        rows.push_back(one);
      }
  }
  return rows;
}

// Empty unless an intervention needs a mean.
ValueSums value_sums(LanguageModel& model, const Batch& sequences, const std::vector<Intervention>& interventions,
                     std::int64_t batch) {
  ValueSums sums(model.extra_tokens());
  if (std::ranges::any_of(interventions, &Intervention::mean_value))
    in_batches(sequences.sequences(), batch, [&](std::int64_t first, std::int64_t last) {
      const Batch part = sequences.rows(first, last);
      model.logits(part.tokens_BT(), {.hooks = &sums, .documents = part.documents()});
    });
  return sums;
}

// Of each other text, once.
using Sources = std::map<std::string, SourceActivations>;
Sources sources_of(LanguageModel& model, const std::vector<Intervention>& interventions) {
  Sources sources;
  for (const Intervention& one : interventions)
    if (one.what == What::patch && !sources.contains(one.source)) sources.try_emplace(one.source, model, one.source_BT);
  return sources;
}

// The first block that the intervention changes.
std::int64_t first_block(const Intervention& one) {
  if (!one.layer_heads.empty()) return std::ranges::min_element(one.layer_heads)->first;
  return one.what == What::quantise || one.layers.empty() ? 0 : *std::ranges::min_element(one.layers);
}

// How many of `rows`, from the first on, one pass can measure: those that change other heads of the same layers.
std::size_t in_one_pass(std::span<const Intervention> rows, std::size_t most) {
  std::size_t count = 1;
  const auto joins = [&](const Intervention& next) {
    return is_of_head_outputs(rows[0]) && is_of_head_outputs(next) && next.layers == rows[0].layers &&
           next.source == rows[0].source && next.layer_heads.empty() && rows[0].layer_heads.empty();
  };
  while (count < std::min(most, rows.size()) && joins(rows[count])) ++count;
  return count;
}

// Passes begin at the first block that is changed, and heads of a layer share one, each with a copy of the sequences.
std::vector<Comparison> gather(LanguageModel& model, const Batch& sequences, const std::vector<Intervention>& rows,
                               std::int64_t batch, bool each_token) {
  const std::int64_t T = sequences.context(), V = model.sizes().vocabulary;
  const ValueSums values = value_sums(model, sequences, rows, batch);
  const Sources sources = sources_of(model, rows);
  const std::int64_t hidden = each_token ? model.sizes().layers * model.sizes().width : 0;
  const auto element = static_cast<std::int64_t>(size_of(model.parameters().masters().dtype()));
  const std::int64_t C = model.sizes().width, most = std::min(batch, sequences.sequences());
  std::set<std::int64_t> blocks{0};
  if (!each_token)  // which wants the hidden states after all blocks
    for (const Intervention& row : rows) blocks.insert(first_block(row));
  const auto kept = [&] { return static_cast<std::int64_t>(blocks.size()) * T * C * element; };  // of a sequence
  if (most * kept() > kBytesBefore) blocks = {0};
  const std::int64_t bytes = T * (V + hidden) * element + kept();
  std::vector<Comparison> found(rows.size());
  in_batches(sequences.sequences(), std::max(batch, kBytesBefore / bytes), [&](std::int64_t first, std::int64_t last) {
    const Batch some = sequences.rows(first, last);
    std::vector<Unchanged> before;
    in_batches(some.sequences(), batch, [&](std::int64_t begin, std::int64_t end) {
      before.emplace_back(model, some.rows(begin, end), blocks, each_token);
    });
    for (std::size_t n = 0, copies = 0; n < rows.size(); n += copies) {
      copies = in_one_pass(std::span(rows).subspan(n), each_token ? 1 : static_cast<std::size_t>(batch / most));
      const std::int64_t block = blocks.contains(first_block(rows[n])) ? first_block(rows[n]) : 0;
      const auto source = sources.find(rows[n].source);
      const Intervened intervened(model, std::span(rows).subspan(n, copies), values,
                                  source == sources.end() ? nullptr : &source->second);
      for (const Unchanged& unchanged : before) {
        const Outputs outputs =
            unchanged.from_block(model, block, static_cast<std::int64_t>(copies), intervened.hooks.get(), each_token);
        const auto compared_rows =
            compared(unchanged.outputs.logits_BTV, outputs.logits_BTV, unchanged.part.targets_BT());
        for (std::size_t c = 0; c < copies; ++c)
          found[n + c].add(compared_rows[c], T, unchanged.outputs.hidden_LBTC, outputs.hidden_LBTC,
                           model.extra_tokens());
      }
    }
  });
  return found;
}

}  // namespace

void require_places(const Intervention& intervention, const Sizes& sizes, std::int64_t T) {
  auto require = [&](const char* what, std::int64_t number, std::int64_t first, std::int64_t last) {
    SINK_CHECK(number >= first && number <= last, "interventions",
               (intervention.origin.empty() ? "" : intervention.origin + ": ") + "the " + what + " must be from " +
                   std::to_string(first) + " to " + std::to_string(last) + ", got " + std::to_string(number),
               Exit::usage);
  };
  for (std::int64_t token : intervention.tokens) require("token", token, 1, T);
  for (std::int64_t layer : intervention.layers) require("layer", layer, 0, sizes.layers - 1);
  const bool is_of_stream = intervention.what == What::clip || intervention.of_residual;
  const auto require_attention = [&](std::int64_t layer) {
    SINK_CHECK(is_of_stream || sizes.has_attention(layer), "interventions",
               (intervention.origin.empty() ? "" : intervention.origin + ": ") + "the layer must have attention, as " +
                   layers_with_attention(sizes) + "; got " + std::to_string(layer),
               Exit::usage);
  };
  for (std::int64_t layer : intervention.layers) require_attention(layer);
  for (std::int64_t head : intervention.heads) require("head", head, 0, sizes.heads - 1);
  for (const auto& [layer, head] : intervention.layer_heads)
    require("layer", layer, 0, sizes.layers - 1), require("head", head, 0, sizes.heads - 1), require_attention(layer);
  if (intervention.what != What::patch) return;
  const std::int64_t in_source = intervention.source_BT.dim(1);
  SINK_CHECK(!intervention.tokens.empty() || in_source == T, "interventions",
             (intervention.origin.empty() ? "" : intervention.origin + ": ") + "the source has " +
                 std::to_string(in_source) + " tokens and the text " + std::to_string(T) +
                 ": choose tokens that both have, as in tokens = [2, 3]",
             Exit::usage);
  for (std::int64_t token : intervention.tokens) require("token of the source", token, 1, in_source);
  for (std::int64_t n = 0; n < in_source; ++n)
    require("id of a token of the source", intervention.source_BT.data<std::int32_t>()[n], 0, sizes.vocabulary - 1);
}

std::vector<double> losses_with(LanguageModel& model, const Batch& sequences, const Intervention& intervention) {
  require_places(intervention, model.sizes(), sequences.context());
  const Comparison found = gather(model, sequences, {intervention}, 1, false)[0];
  std::vector<double> losses;
  for (std::size_t n = 0; n < found.after.size(); ++n) losses.push_back(found.after[n] / found.targets[n]);
  return losses;
}

Interventions intervene(LanguageModel& model, const Batch& sequences, const std::vector<Intervention>& interventions,
                        std::int64_t batch, bool each_token) {
  for (const Intervention& intervention : interventions)
    require_places(intervention, model.sizes(), sequences.context());
  SINK_CHECK(sequences.predicted() > 0, "interventions",
             "no token of the " + std::to_string(sequences.sequences()) +
                 " sequences is to be predicted, so there is no loss to compare: give more --sequences, or other data",
             Exit::usage);
  const std::vector<Intervention> rows = by_places(interventions, model.sizes(), sequences.context());
  const std::vector<Comparison> found = gather(model, sequences, rows, batch, each_token);
  Interventions all{
      sequences.sequences(), sequences.context(), sum_of(found.at(0).before) / sum_of(found.at(0).targets), {}};
  require_finite_loss(all.loss);
  for (std::size_t n = 0; n < rows.size(); ++n) all.results.push_back(result_of(rows[n], found[n]));
  return all;
}

}  // namespace sink
