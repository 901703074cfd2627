#include "eval/interventions.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "engine/check.h"
#include "engine/tensor_view.h"

namespace sink {
namespace {

// For every row of `length` numbers of x: all of it rounded by its largest.
void quantise_rows(Tensor& x, std::int64_t length, int bits) {
  with_real(x.dtype(), [&](auto zero) {
    using R = decltype(zero);
    R* row = x.data<R>();
    for (R* end = row + x.size(); row < end; row += length) {
      double largest = 0;
      for (std::int64_t n = 0; n < length; ++n) largest = std::max(largest, std::abs(static_cast<double>(row[n])));
      for (std::int64_t n = 0; n < length; ++n) store(row[n], quantised(static_cast<double>(row[n]), largest, bits));
    }
  });
}

struct QuantisedInputs final : Edit {
  int bits;
  explicit QuantisedInputs(int bits) : bits(bits) {}
  Tensor sublayer_input(const Tensor& h_BTC) override {
    Tensor rounded = h_BTC.clone();
    quantise_rows(rounded, h_BTC.size() / h_BTC.dim(0), bits);
    return rounded;
  }
};

class EditedKey final : public Edit {
 public:
  EditedKey(KeyIntervention kind, std::int64_t key) : kind_(kind), key_(key) {}

  Tensor attention_output(const AttentionOutput& attention) override {
    const Tensor &o = attention.o_BHTD, &v = attention.v_BGTD;
    const std::int64_t B = o.dim(0), H = o.dim(1), T = o.dim(2), D = o.dim(3), G = v.dim(1);
    Tensor all_one = Tensor::full(v.shape(), 1, v.dtype()), one_at_key = Tensor::zeros(v.shape(), v.dtype());
    Tensor edited = o.clone();
    with_real(o.dtype(), [&](auto zero) {
      using R = decltype(zero);
      auto one_BGTD = view<R, 4>(one_at_key);
      for (std::int64_t b = 0; b < B; ++b)
        for (std::int64_t g = 0; g < G; ++g)
          for (std::int64_t d = 0; d < D; ++d) one_BGTD(b, g, key_, d) = R(1.0f);
      Tensor a = attention.mix(one_at_key, {});
      Tensor Z = attention.mix(all_one, attention.extra_key ? Tensor::full({H, D}, 1, v.dtype()) : Tensor());
      for (std::int64_t b = 0; b < B; ++b)
        for (std::int64_t h = 0; h < H; ++h)
          edit_head({b, h, h / (H / G), T, D}, view<R, 4>(v), view<R, 4>(a), view<R, 4>(Z), view<R, 4>(edited));
    });
    return edited;
  }

 private:
  struct Head {
    std::int64_t b, h, g, T, D;
  };

  template <class V, class A, class O>
  void edit_head(const Head& head, const V& v_BGTD, const A& a_BHTD, const A& Z_BHTD, O&& o_BHTD) const {
    auto [b, h, g, T, D] = head;
    auto weight = [&](std::int64_t i) { return static_cast<double>(a_BHTD(b, h, i, 0)); };
    double mean = 0;
    for (std::int64_t i = key_ + 1; i < T; ++i) mean += weight(i) / static_cast<double>(T - 1 - key_);
    for (std::int64_t i = key_ + 1; i < T; ++i) {
      double taken = kind_ == KeyIntervention::constant ? weight(i) - mean : weight(i), scale = 1;
      if (kind_ == KeyIntervention::redistributed) {
        double all = static_cast<double>(Z_BHTD(b, h, i, 0)), rest = all - weight(i);
        if (std::abs(rest) > kNothingElse * std::abs(all)) scale = all / rest;
      }
      for (std::int64_t d = 0; d < D; ++d) {
        double o = static_cast<double>(o_BHTD(b, h, i, d)), v = static_cast<double>(v_BGTD(b, g, key_, d));
        store(o_BHTD(b, h, i, d), scale * (o - taken * v));
      }
    }
  }

  static constexpr double kNothingElse = 1e-6;  // of a row's weights: rounding, not weights
  KeyIntervention kind_;
  std::int64_t key_;
};

std::vector<double> losses(LanguageModel& model, const Batch& sequences, Edit* edit) {
  std::vector<double> losses;
  for (std::int64_t n = 0; n < sequences.sequences(); ++n)
    losses.push_back(model.loss(sequences.rows(n, n + 1), 1, {.edit = edit}).value().item());
  return losses;
}

// The matrices of the blocks, rounded while this lives.
class RoundedMatrices {
 public:
  RoundedMatrices(LanguageModel& model, int bits) : model_(model), kept_(model.parameters().masters().clone()) {
    for (const auto& parameter : model.parameters()) {
      if (!parameter->name().starts_with("blocks.") || parameter->info().shape.rank() != 2) continue;
      quantise_rows(parameter->mutable_master(), parameter->master().dim(1), bits);
    }
    model.parameters().refresh();
  }
  ~RoundedMatrices() {
    model_.parameters().masters().copy_from(kept_);
    model_.parameters().refresh();
  }
  RoundedMatrices(const RoundedMatrices&) = delete;
  RoundedMatrices& operator=(const RoundedMatrices&) = delete;

 private:
  LanguageModel& model_;
  Tensor kept_;
};

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

InterventionResult compared(const std::string& name, const std::string& meaning, const std::vector<double>& before,
                            const std::vector<double>& after) {
  std::vector<double> change;
  for (std::size_t n = 0; n < before.size(); ++n) change.push_back(after[n] - before[n]);
  InterventionResult result{name, meaning, mean_of(after), mean_of(change), std::nan("")};
  if (change.size() < 2) return result;
  double squares = 0, count = static_cast<double>(change.size());
  for (double c : change) squares += (c - result.change) * (c - result.change);
  result.error = std::sqrt(squares / (count - 1) / count);
  return result;
}

}  // namespace

double quantised(double x, double largest, int bits) {
  if (largest == 0) return 0;
  double steps = std::exp2(bits - 1) - 1;
  return std::nearbyint(x / largest * steps) / steps * largest;
}

std::vector<double> losses_with(LanguageModel& model, const Batch& sequences, KeyIntervention kind,
                                std::int64_t token) {
  SINK_CHECK(token >= 1 && token <= sequences.context(), "interventions",
             "the token must be from 1 to " + std::to_string(sequences.context()) + ", got " + std::to_string(token),
             Exit::usage);
  EditedKey edit(kind, model.extra_tokens() + token - 1);
  return losses(model, sequences, &edit);
}

std::vector<double> losses_with(LanguageModel& model, const Batch& sequences, Quantisation quantisation) {
  std::unique_ptr<RoundedMatrices> rounded;
  if (quantisation.weight_bits > 0) rounded = std::make_unique<RoundedMatrices>(model, quantisation.weight_bits);
  if (quantisation.input_bits == 0) return losses(model, sequences, nullptr);
  QuantisedInputs edit(quantisation.input_bits);
  return losses(model, sequences, &edit);
}

Interventions intervene(LanguageModel& model, const Batch& sequences, const std::vector<std::int64_t>& tokens) {
  std::vector<double> as_it_is = losses(model, sequences, nullptr);
  Interventions all{sequences.sequences(), sequences.context(), mean_of(as_it_is), {}};
  struct Kind {
    KeyIntervention kind;
    const char *name, *meaning;
  };
  const Kind kinds[] = {{KeyIntervention::removed, "removed", "later queries get nothing of token "},
                        {KeyIntervention::redistributed, "redistributed", "and their other weights make up for token "},
                        {KeyIntervention::constant, "constant", "later queries all get as much of token "}};
  for (std::int64_t token : tokens)
    for (const Kind& kind : kinds)
      all.results.push_back(compared(std::string(kind.name) + " " + std::to_string(token),
                                     kind.meaning + std::to_string(token), as_it_is,
                                     losses_with(model, sequences, kind.kind, token)));
  auto rounded = [&](const char* name, const char* meaning, Quantisation bits) {
    all.results.push_back(compared(name, meaning, as_it_is, losses_with(model, sequences, bits)));
  };
  rounded("W8A8", "matrices and what they read in 8 bits", {8, 8});
  rounded("W4A16", "matrices in 4 bits", {4, 0});
  rounded("W4A4", "matrices and what they read in 4 bits", {4, 4});
  return all;
}

}  // namespace sink
