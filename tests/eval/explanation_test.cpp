// An Explanation of a model: attention weights, and gradients that sum to those of the parameters.
#include "eval/explain/explanation.h"

#include <doctest/doctest.h>

#include <map>

#include "autograd/tape.h"
#include "engine/ops/attention/op/attention_ops.h"
#include "engine/ops/attention/op/attention_row.h"
#include "eval/input_tokens.h"
#include "tests/model/model_support.h"
#include "tests/support/check_refused.h"
#include "tests/support/keep_worst.h"

using namespace sink;
using namespace sink::test;

namespace {

struct Case {
  const char* ablation;
  Sizes sizes = small_sizes();
};

std::vector<Case> cases() {
  Sizes grouped = small_sizes();
  grouped.heads = 4, grouped.kv_heads = 2, grouped.window = 4, grouped.prefix = 2;
  return {{"baseline"},      {"baseline", grouped}, {"op_sigmoid_none"}, {"bias_k", grouped},
          {"bias_kv"},       {"pos_alibi"},         {"pos_t5", grouped}, {"kern_id_norm"},
          {"kern_elu_norm"}, {"scale_2"},           {"op_clipped"},      {"op_softpick", grouped},
          {"op_sink_logit"}, {"op_sigmoid_logn"},   {"bias_sinktoken"},  {"pnorm_exp_2"},
          {"norm_post"},     {"gate_head"},         {"head_add"},        {"op_entmax15", grouped}};
}

Tensor sentence() { return random_tokens(1, 11, small_sizes().vocabulary); }

ExplainOptions all_of(std::int64_t layer, std::int64_t head) {
  return {.place = {.layer = layer, .head = head, .query = {}}, .backward = true, .all_queries = true};
}

// Gradients of the parameters, by name, for the same loss.
std::map<std::string, Tensor> parameter_gradients(LanguageModel& model) {
  Tape tape;
  tape.backward(model.loss(given_tokens(sentence(), model.sizes().vocabulary, model.sizes().prefix)));
  std::map<std::string, Tensor> gradients;
  for (const auto& parameter : model.parameters()) gradients[parameter->name()] = parameter->var().grad().clone();
  return gradients;
}

void check_row(const Tensor& row_H, std::int64_t h, const std::vector<double>& sum) {
  auto D = static_cast<std::int64_t>(sum.size());
  for (std::int64_t d = 0; d < D; ++d)
    CHECK(row_H.item(h * D + d) == doctest::Approx(sum[static_cast<std::size_t>(d)]).epsilon(1e-9));
}

void add(std::vector<double>& sum, const std::vector<double>& x) {
  sum.resize(x.size());
  for (std::size_t d = 0; d < x.size(); ++d) sum[d] += x[d];
}

}  // namespace

TEST_CASE("explain: the weights of every query are those of the model's map") {
  for (const Case& c : cases()) {
    if (!is_built(c.ablation)) continue;
    auto model = make_model(c.ablation, c.sizes);
    Watcher watcher;
    model->logits(sentence(), {.hooks = &watcher});
    for (std::int64_t layer = 0; layer < 2; ++layer) {
      const std::int64_t head = c.sizes.heads - 1;
      INFO(std::string(c.ablation), " layer ", layer);
      const Tensor& map = watcher.map_LH[static_cast<std::size_t>(layer)][static_cast<std::size_t>(head)];
      Explanation e = explain(*model, sentence(), all_of(layer, head));
      std::int64_t T = map.dim(0), columns = map.dim(1), extra = columns - T;
      REQUIRE(static_cast<std::int64_t>(e.rows.size()) == T);
      REQUIRE(static_cast<std::int64_t>(e.tokens.size()) == T);
      for (const AttentionTrace& row : e.rows) {
        std::vector<double> a(static_cast<std::size_t>(columns), 0.0);
        for (const AttentionTrace::Key& key : row.keys) a[static_cast<std::size_t>(key.j + extra)] = key.a;
        double worst = 0;
        for (std::int64_t column = 0; column < columns; ++column)
          keep_worst(worst, std::abs(a[static_cast<std::size_t>(column)] - map.item(row.i * columns + column)));
        CHECK(worst < 1e-12);
      }
    }
  }
}

// A value bias is added to o_i, so its gradient is the sum of all do_i; those of an extra key and of T5's buckets are
// sums over rows too. They come from a backward pass of their own.
TEST_CASE("explain: the gradients of all rows add up to those of parameters that act on every row") {
  auto check = [](const char* ablation, const std::string& parameter, auto&& part) {
    INFO(std::string(ablation));
    if (!is_built(ablation)) return;
    auto model = make_model(ablation);
    std::map<std::string, Tensor> gradients = parameter_gradients(*model);
    for (std::int64_t layer = 0; layer < 2; ++layer) {
      std::string name = "blocks." + std::to_string(layer) + ".attention.extra." + parameter;
      REQUIRE(gradients.contains(name));
      for (std::int64_t head = 0; head < 3; ++head) {
        Explanation e = explain(*model, sentence(), all_of(layer, head));
        std::vector<double> sum;
        for (const AttentionTrace& row : e.rows) add(sum, part(row));
        check_row(gradients[name], head, sum);
      }
    }
  };
  check("bias_v", "value", [](const AttentionTrace& row) { return row.do_i; });
  check("bias_kv", "value", [](const AttentionTrace& row) { return row.keys.back().dv; });
  check("bias_k", "key", [](const AttentionTrace& row) { return row.keys.back().dk; });
  check("op_sink_logit", "logit", [](const AttentionTrace& row) { return std::vector<double>{row.keys.back().ds}; });
}

TEST_CASE("explain: the gradient arrives through the operations above, at the query") {
  auto model = make_model("baseline");
  Explanation e = explain(*model, sentence(), {.place = {.layer = 1, .head = 2, .query = 4}, .backward = true});
  CHECK(e.query == 4);
  CHECK(e.targets == 10);
  CHECK(e.rows.size() == 1);
  std::vector<std::string> names;
  for (const GradientStep& step : e.arrival) names.push_back(step.operation);
  CHECK(names == std::vector<std::string>{"linear_cross_entropy", "add_rms_norm", "linear", "glu", "linear",
                                          "add_rms_norm", "linear", "merge_heads", "attention Softmax"});
  double square = 0;
  for (double x : e.query_row().do_i) square += x * x;
  CHECK(e.arrival.back().norm == doctest::Approx(std::sqrt(square)));
  CHECK(e.arrival.front().norm == 1);
  // The last token predicts nothing, and nothing comes back to its row of the last layer.
  Explanation last = explain(*model, sentence(), {.place = {.layer = 1, .head = 0, .query = 10}, .backward = true});
  for (double x : last.query_row().do_i) CHECK(x == 0);
  CHECK(explain(*model, sentence(), {}).query == 10);
  CHECK(explain(*model, sentence(), {.place = {}, .backward = true}).query == 9);
  CHECK(explain(*model, sentence(), {.place = {}}).layer == 0);
}

TEST_CASE("explain: a place that is not there is refused with the range") {
  if (!is_built("bias_sinktoken")) return;
  auto model = make_model("bias_sinktoken");
  auto refuse = [&](const ExplainedPlace& place, const std::string& message) {
    check_refused([&] { explain(*model, sentence(), {.place = place}); }, {message}, Exit::usage);
  };
  refuse({.layer = 2, .head = 0, .query = {}}, "--layer must be from 0 to 1, the layers of the model; got 2");
  refuse({.layer = 0, .head = -1, .query = {}}, "--head must be from 0 to 2, the heads of a layer; got -1");
  refuse({.layer = 0, .head = 0, .query = 12},
         "--query must be from 0 to 11, the positions of the text, the model's own token first; got 12");
  Explanation e = explain(*model, sentence(), {.place = {.layer = 0, .head = 0, .query = 11}});
  CHECK(e.tokens.size() == 12);
  CHECK(e.tokens[0] == -1);
}

namespace {
struct Unsaid : DividedBySumOf<Relu> {};
}  // namespace

TEST_CASE("explain: every operation says its formula, which agrees with its properties") {
#define SINK_ATTENTION_OP(Op)                                                                        \
  {                                                                                                  \
    OperationFormula formula = operation_formula<Op>();                                              \
    CHECK_MESSAGE(!formula.g.empty(), #Op);                                                          \
    CHECK_MESSAGE(!formula.whole.empty(), #Op);                                                      \
    CHECK_MESSAGE(formula.post.empty() != HasPost<Op>, #Op);                                         \
    CHECK_MESSAGE((formula.r == "g") == !(HasSeparateNormalizer<Op> || ShiftsByThreshold<Op>), #Op); \
    CHECK_MESSAGE((formula.z == "1") == (Op::normalizer == Normalizer::none), #Op);                  \
    CHECK_MESSAGE((formula.m.find("maximum") != std::string::npos) == ShiftsByMax<Op>, #Op);         \
    CHECK_MESSAGE((formula.m == "threshold") == ShiftsByThreshold<Op>, #Op);                         \
    CHECK(std::string(operation_name<Op>()) == #Op);                                                 \
  }
  SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
  OperationFormula softmax = operation_formula<Softmax>(), clipped = operation_formula<ClippedSoftmax>();
  CHECK(softmax.whole == "e^s / sum e^s");
  CHECK(softmax.g == "e^x");
  CHECK(softmax.proposed_by == "Vaswani et al. 2017");
  CHECK(clipped.post == "clip");
  // The formula of the struct that it derives from is another operation's.
  CHECK(operation_formula<Unsaid>().whole.empty());
  CHECK(operation_formula<Unsaid>().z.empty());
  CHECK(std::string(operation_name<Unsaid>()) == "Unsaid");
}
