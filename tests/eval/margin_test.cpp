// The margin of key 1: by the scores of a trace, by closed forms, and where there is none.
#include <doctest/doctest.h>

#include <cmath>

#include "engine/ops/attention/op/attention_ops.h"
#include "engine/tensor_view.h"
#include "eval/input_tokens.h"
#include "eval/sink/evaluation.h"
#include "model/layer/attention_point_of.h"
#include "tests/support/built_ablations.h"

using namespace sink;

namespace {

using Approx = doctest::Approx;
constexpr std::int64_t kMarginSequences = 3, kMarginTokens = 9;

struct MarginCase {
  const char* ablation;
  std::int64_t window = 0, prefix = 0, kv_heads = 0;
};
constexpr MarginCase kMarginCases[] = {
    {"baseline"},  {"baseline", 4},    {"baseline", 4, 2}, {"baseline", 0, 0, 1}, {"bias_k", 5, 2},
    {"bias_kv"},   {"op_softmax1"},    {"op_sink_logit"},  {"pos_alibi"},         {"pos_t5"},
    {"norm_post"}, {"bias_sinktoken"}, {"pnorm_exp_2"},    {"bias_sinktoken", 3}};

Sizes margin_sizes(const MarginCase& c, std::int64_t heads = 2) {
  return {.layers = 2,
          .heads = heads,
          .width = 16,
          .feed_forward = 12,
          .context = 16,
          .vocabulary = 23,
          .kv_heads = c.kv_heads,
          .window = c.window,
          .prefix = c.prefix};
}

// With queries and keys `by` times those of an initial model.
std::unique_ptr<LanguageModel> margin_model(const char* ablation, const Sizes& sizes, double by,
                                            DType dtype = DType::F64) {
  auto model = ablation_named(ablation).make_model(sizes, InitScheme::torch, 3, dtype);
  for (const auto& parameter : model->parameters()) {
    const bool qkv = parameter->name().ends_with("qkv.weight");
    if (!qkv && parameter->name().find("extra") == std::string::npos) continue;
    Tensor& master = parameter->mutable_master();
    Tensor values = master.to(DType::F64).reshape({master.size()});
    view<double, 1>(values) *= qkv ? by : 30;
    master.copy_from(values.reshape(master.shape()).to(master.dtype()));
  }
  model->parameters().refresh();
  return model;
}

// The margins from the scores of every row, by layer and head; and the number of rows that see key 1.
struct TracedMargins final : ForwardHooks {
  void attention(AttentionPoint& point) override {
    const std::int64_t B = point.q_BHTD.dim(0), H = point.q_BHTD.dim(1), T = point.q_BHTD.dim(2);
    std::vector<double> margins(static_cast<std::size_t>(H));
    for (std::int64_t h = 0; h < H; ++h) {
      double sequences = 0;  // with a row i > 1 that sees key 1
      for (std::int64_t b = 0; b < B; ++b) {
        double sum = 0, rows = 0;
        for (std::int64_t i = 1; i < T; ++i) {
          double first = kNotMeasured, others = 0, largest = -INFINITY;
          const AttentionTrace row = point.trace()({}, b, h, i);
          for (const AttentionTrace::Key& key : row.keys)
            (key.j == 0 ? first : largest) = key.j == 0 ? key.s : std::max(largest, key.s);
          for (const AttentionTrace::Key& key : row.keys)
            if (key.j != 0) others += std::exp(key.s - largest);
          if (std::isnan(first)) continue;
          sum += first - largest - std::log(others);
          ++rows;
        }
        if (rows > 0) margins[static_cast<std::size_t>(h)] += sum / rows, ++sequences;
      }
      margins[static_cast<std::size_t>(h)] /= sequences;
    }
    margins_LH.push_back(margins);
  }
  ValueTable margins_LH;
};

}  // namespace

TEST_CASE("margin: the score of key 1 less the log-sum-exp of the others, an extra key among them") {
  for (const MarginCase& c : kMarginCases) {
    CAPTURE(c.ablation);
    CAPTURE(c.window);
    if (!test::is_built(c.ablation)) continue;
    auto model = margin_model(c.ablation, margin_sizes(c), 3);
    const Batch input = random_tokens(23, kMarginSequences, kMarginTokens, 11);
    TracedMargins traced;
    model->loss(input, 1, {.hooks = &traced});
    const Evaluation e = evaluate(*model, input, 2, false);
    REQUIRE(e.margin_layer_head.size() == 2);
    double mean = 0;
    for (std::size_t l = 0; l < 2; ++l)
      for (std::size_t h = 0; h < 2; ++h) {
        CHECK(e.margin_layer_head[l][h] == Approx(traced.margins_LH[l][h]).epsilon(1e-9));
        mean += traced.margins_LH[l][h] / 4;
      }
    CHECK(e.margin == Approx(mean).epsilon(1e-9));
  }
}

TEST_CASE("margin: of equal scores it is -ln (i - 1), and a_i1 of softmax is its logistic") {
  const MarginCase c{"baseline"};
  auto model = margin_model("baseline", margin_sizes(c), 0);
  const Evaluation e = evaluate(*model, random_tokens(23, kMarginSequences, kMarginTokens, 11), 2, false);
  double mean = 0, alpha = 1.0 / kMarginTokens;
  for (std::int64_t i = 2; i <= kMarginTokens; ++i) {
    const double margin = -std::log(static_cast<double>(i - 1));
    mean += margin / (kMarginTokens - 1);
    alpha += 1 / (1 + std::exp(-margin)) / kMarginTokens;
  }
  CHECK(e.margin == Approx(mean).epsilon(1e-12));
  CHECK(e.proxy.alpha_1 == Approx(alpha).epsilon(1e-12));
}

TEST_CASE("margin: weights that vanish in f32, and heads of one element, have it from their scores") {
  for (const auto& [heads, by] : {std::pair<std::int64_t, double>{2, 40}, {16, 3}}) {
    CAPTURE(heads);
    const MarginCase c{"pos_alibi"};  // heads of one element have no rotation
    if (!test::is_built(c.ablation)) continue;
    auto model = margin_model(c.ablation, margin_sizes(c, heads), by, DType::F32);
    const Batch input = random_tokens(23, kMarginSequences, kMarginTokens, 11);
    TracedMargins traced;
    model->loss(input, 1, {.hooks = &traced});
    const Evaluation e = evaluate(*model, input, kMarginSequences, false);
    double largest = 0;
    for (std::size_t l = 0; l < 2; ++l)
      for (std::size_t h = 0; h < static_cast<std::size_t>(heads); ++h) {
        CHECK(e.margin_layer_head[l][h] == Approx(traced.margins_LH[l][h]).epsilon(1e-4));
        largest = std::max(largest, std::abs(e.margin_layer_head[l][h]));
      }
    if (by == 40) CHECK(largest > 100);  // e^-100 is 0 in f32
  }
}

TEST_CASE("margin: a packed sequence whose first document is one token has none, and does not count") {
  auto model = margin_model("baseline", margin_sizes({"baseline"}), 3);
  const Batch whole = random_tokens(23, kMarginSequences, kMarginTokens, 11);
  DocumentPlaces places{Tensor::zeros({kMarginSequences, kMarginTokens}, DType::I32), {}};
  for (std::int64_t n = 0; n < kMarginSequences; ++n)  // first documents of 1, 4 and 7 tokens
    for (std::int64_t t = 3 * n + 1; t < kMarginTokens; ++t)
      places.starts_BT.data<std::int32_t>()[n * kMarginTokens + t] = static_cast<std::int32_t>(3 * n + 1);
  const Batch packed(whole.tokens_BT(), whole.targets_BT(), 23, places);
  TracedMargins traced;
  model->loss(packed, 1, {.hooks = &traced});
  const Evaluation e = evaluate(*model, packed, 2, false);
  for (std::size_t l = 0; l < 2; ++l)
    for (std::size_t h = 0; h < 2; ++h)
      CHECK(e.margin_layer_head[l][h] == Approx(traced.margins_LH[l][h]).epsilon(1e-9));
}

TEST_CASE("margin: models whose weights are no exponentials of their scores have none") {
  for (const char* name : {"op_sigmoid_none", "kern_elu_none", "kern_id_norm", "op_clipped"}) {
    CAPTURE(name);
    if (!test::is_built(name)) continue;
    auto model = margin_model(name, margin_sizes({name}), 3);
    const Evaluation e = evaluate(*model, random_tokens(23, kMarginSequences, kMarginTokens, 11), 2, false);
    CHECK(e.margin_layer_head.empty());
    CHECK(std::isnan(e.margin));
  }
}

namespace {

struct CutExponential : DividedByOwnSum<Exponential> {  // e^x below 5
  template <class Number>
  Number g(Number x) const {
    return Exponential::g(x < Number(5) ? x : Number(5));
  }
};

}  // namespace

TEST_CASE("margin: an exponential that is cut off is none") {
  CHECK(has_exponential_weights_of(Softmax{}));
  CHECK(has_exponential_weights_of(ScaledSoftmax(0.2)));
  CHECK_FALSE(has_exponential_weights_of(CutExponential{}));
  CHECK_FALSE(has_exponential_weights_of(SoftCappedSoftmax{}));
  CHECK_FALSE(has_exponential_weights_of(Sigmoid{}));
}
