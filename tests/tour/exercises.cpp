// The tests of the tour's exercises (tools/tour/README.md). Compiled twice: with the headers that a reader fills in,
// where they wait to be switched on (--no-skip), and with the answers, which shows that each can be solved.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "autograd/grad_check.h"
#include "engine/ops/attention/attention.h"
#include "engine/ops/attention/op/attention_ops.h"
#include "engine/ops/norm/norm.h"
#include "engine/ops/optimizer/adamw.h"
#include "eval/sink/sink_score.h"
#include "model/ablation.h"
#include "tests/support/compare.h"
#include "tests/support/one_file.h"
#ifdef SINK_TOUR_ANSWERS
#include "tests/tour/answers/answer_0_one_file.h"
#include "tests/tour/answers/answer_10_tensor_cores.h"
#include "tests/tour/answers/answer_1_tensor.h"
#include "tests/tour/answers/answer_2_tape.h"
#include "tests/tour/answers/answer_3_operation.h"
#include "tests/tour/answers/answer_4_row.h"
#include "tests/tour/answers/answer_5_block.h"
#include "tests/tour/answers/answer_6_step.h"
#include "tests/tour/answers/answer_7_sink.h"
#include "tests/tour/answers/answer_8_kernel.h"
#include "tests/tour/answers/answer_9_policy.h"
#else
#include "tests/tour/exercise_0_one_file.h"
#include "tests/tour/exercise_10_tensor_cores.h"
#include "tests/tour/exercise_1_tensor.h"
#include "tests/tour/exercise_2_tape.h"
#include "tests/tour/exercise_3_operation.h"
#include "tests/tour/exercise_4_row.h"
#include "tests/tour/exercise_5_block.h"
#include "tests/tour/exercise_6_step.h"
#include "tests/tour/exercise_7_sink.h"
#include "tests/tour/exercise_8_kernel.h"
#include "tests/tour/exercise_9_policy.h"
#endif

namespace sink {

Ablation ablation_baseline();

namespace tour {
namespace {

doctest::Approx near(double x) { return doctest::Approx(x).epsilon(1e-9); }

// The scores of one query as a row of attention: width 1, the query is 1 and the keys are the scores.
struct ScoredRow {
  Tensor o, m, S, pattern;

  template <class Op>
  ScoredRow(const Op& op, const std::vector<double>& s) {
    std::int64_t K = static_cast<std::int64_t>(s.size());
    Tensor q = Tensor::full({1, 1, 1, 1}, 1, DType::F64), k = Tensor::from<double>({1, 1, K, 1}, s);
    AttentionConfig config{.first_position = K - 1};
    o = Tensor::empty_like(q);
    m = Tensor::empty({1, 1, 1}, DType::F64), S = Tensor::empty_like(m);
    attention(op, q, k, k, config, o, m, S);
    pattern = attention_pattern(op, q, k, m, S, config, 0, 0);
  }
};

template <class Op>
void check_row(const Op& op, Weights (*weights_of)(const std::vector<double>&), const std::vector<double>& s) {
  ScoredRow expected(op, s);
  Weights row = weights_of(s);
  CAPTURE(operation_name<Op>());
  CHECK(row.m == expected.m.item());
  CHECK(row.S == near(expected.S.item()));
  REQUIRE(row.a.size() == s.size());
  for (std::size_t j = 0; j < s.size(); ++j) CHECK(row.a[j] == near(expected.pattern.item(std::int64_t(j))));
}

}  // namespace

TEST_CASE("0 one file: two operations, a gradient check, Sink at another threshold, and no positions" *
          doctest::skip()) {
  // Weights of a row, by the engine's operations; softmax1 has an extra score of 0.
  const std::vector<double> s{2, 1, 0, -1};
  double sum = softmax1().one;
  for (double s_j : s) sum += softmax1().g(s_j);
  CHECK(softmax1().divides);
  for (std::size_t j = 0; j < s.size(); ++j)
    CHECK(softmax1().g(s[j]) / sum == near(ScoredRow(Softmax{}, {2, 1, 0, -1, 0}).pattern.item(std::int64_t(j))));
  CHECK_FALSE(relu().divides);
  for (std::size_t j = 0; j < s.size(); ++j)
    CHECK(relu().g(s[j]) == near(ScoredRow(Relu{}, s).pattern.item(std::int64_t(j))));
  CHECK(softmax1().dg(0.5) == near(std::exp(0.5)));
  CHECK((relu().dg(0.5) == 1 && relu().dg(-0.5) == 0));

  using one_file::logistic, one_file::d_logistic;
  CHECK(gradients_are_right({"softmax", std::exp, std::exp, true}));
  CHECK(gradients_are_right({"sigmoid", logistic, d_logistic, false}));
  CHECK_FALSE(gradients_are_right({"wrong", std::exp, d_logistic, true}));
  CHECK_FALSE(gradients_are_right({"wrong", logistic, logistic, false}));

  const one_file::Task task;
  one_file::Model model{{"softmax", std::exp, std::exp, true}};
  CHECK(sink_1(model, task, 0.3) == near(one_file::measure(model, task, 1)[2]));
  const double half = sink_1(model, task, 0.127);  // an even row has 0.1268
  CHECK((half > 10 && half < 90));

  one_file::Tensor qkv(one_file::N, 3 * one_file::C);
  for (std::size_t i = 0; i < qkv.x.size(); ++i) qkv.x[i] = 0.5 * static_cast<double>(i);
  one_file::tape = one_file::Tape();
  one_file::Tensor& y = without_positions(qkv);
  REQUIRE(y.x.size() == qkv.x.size());
  CHECK(y.x == qkv.x);
  for (std::size_t i = 0; i < y.dx.size(); ++i) y.dx[i] = static_cast<double>(i);
  for (const auto& function : one_file::tape.backward) function();
  CHECK(qkv.dx == y.dx);
}

TEST_CASE("1 tensor: the place of every element" * doctest::skip()) {
  CHECK(place_of({2, 3, 4}, {1, 2, 3}) == 23);
  for (const Shape& shape : {Shape{7}, Shape{3, 5}, Shape{2, 3, 4}, Shape{2, 1, 5, 3}}) {
    std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()), 0);
    for (std::int64_t place = 0; place < shape.size(); ++place) {
      CHECK_MESSAGE(place_of(shape, index) == place, shape.str());
      for (int axis = shape.rank() - 1; axis >= 0; --axis) {  // to the next index, as an odometer counts
        if (++index[std::size_t(axis)] < shape[axis]) break;
        index[std::size_t(axis)] = 0;
      }
    }
  }
}

TEST_CASE("2 tape: the gradient of soft_cap" * doctest::skip()) {
  Var x(random_tensor({3, 4}, DType::F64, 1, 2.0), true);
  for (double c : {0.7, 5.0}) {
    GradCheckResult result = check_gradients([&] { return soft_cap(x, c); }, {x});
    CHECK_MESSAGE(result.worst <= 1e-8, result.where);
  }
  GradCheckResult twice = check_gradients([&] { return soft_cap(soft_cap(x, 3), 2); }, {x});
  CHECK_MESSAGE(twice.worst <= 1e-8, twice.where);
}

TEST_CASE("3 operation: a row of layer norm" * doctest::skip()) {
  CHECK(layer_norm_of({1, 3}, 0) == std::vector<double>{-1, 1});
  Tensor x = random_tensor({1, 6}, DType::F64, 2, 3.0), y = Tensor::empty_like(x);
  Tensor gain = Tensor::full({6}, 1, DType::F64), bias = Tensor::zeros({6}, DType::F64);
  Tensor mean = Tensor::empty({1}, DType::F64), r = Tensor::empty({1}, DType::F64);
  layer_norm(x, gain, bias, y, mean, r, 0.1);
  std::vector<double> row(x.data<double>(), x.data<double>() + 6), normed = layer_norm_of(row, 0.1);
  REQUIRE(normed.size() == 6);
  for (std::int64_t c = 0; c < 6; ++c) CHECK(normed[std::size_t(c)] == near(y.item(c)));
}

TEST_CASE("4 row: m, S and a by softmax and by sigmoid" * doctest::skip()) {
  for (const std::vector<double>& s : {std::vector<double>{2, 1, 0, -1}, {-3}, {1000, 999}, {-1000, -1001, -999}}) {
    check_row(Softmax{}, softmax_of, s);
    check_row(Sigmoid{}, sigmoid_of, s);
  }
}

TEST_CASE("5 block: how many parameters baseline has" * doctest::skip()) {
  const Sizes tiny{.layers = 2, .heads = 2, .width = 16, .feed_forward = 16, .context = 16, .vocabulary = 64};
  Sizes grouped = tiny, wide = tiny;
  grouped.layers = 3, grouped.heads = 4, grouped.kv_heads = 2, grouped.feed_forward = 40, grouped.vocabulary = 50;
  wide.head_width = 12;
  for (const Sizes& sizes : {tiny, grouped, wide}) {
    auto model = ablation_baseline().make_model(sizes, InitScheme::torch, 0, DType::F32);
    CHECK(parameters_of(sizes) == model->parameters().count());
  }
}

TEST_CASE("6 step: AdamW moves a weight" * doctest::skip()) {
  AdamwSettings settings{.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0.1};
  Tensor w = Tensor::full({1}, 0.5, DType::F64), m = Tensor::zeros({1}, DType::F64), v = Tensor::zeros({1}, DType::F64);
  Weight mine{0.5, 0, 0};
  int update = 0;
  for (double dw : {0.2, 0.2, -0.02, 0.0, 3.0}) {
    adamw(settings, make_step_scalars(0.01, ++update), Tensor::full({1}, dw, DType::F64), w, m, v);
    mine = updated(mine, dw, update, 0.01, 0.1, 0.9, 0.95, 1e-3);
    CHECK(mine.m == near(m.item()));
    CHECK(mine.v == near(v.item()));
    CHECK(mine.w == near(w.item()));
  }
}

TEST_CASE("7 sink: alpha_k and Sink_k of attention patterns" * doctest::skip()) {
  const Pattern by_hand{{1}, {0.6, 0.4}, {0.5, 0.3, 0.2}, {0.7, 0.1, 0.1, 0.1}};
  CHECK(alpha_of(by_hand, 1, false) == near(0.7));
  CHECK(alpha_of(by_hand, 2, false) == near(0.8 / 3));
  CHECK(alpha_of(by_hand, 4, false) == near(0.1));
  const Pattern quiet{{0.002}, {0.006, 0.004}}, signs{{-0.5}, {1.5, -0.5}};
  CHECK(alpha_of(quiet, 1, false) == near(0.004));
  CHECK(alpha_of(quiet, 1, true) == near(0.8));
  CHECK(alpha_of(signs, 1, false) == near(0.5));
  CHECK(alpha_of(signs, 1, true) == near(0.875));
  CHECK(sink_of({by_hand, quiet, signs}, 1, false) == near(200.0 / 3));
  CHECK(sink_of({by_hand, quiet}, 1, true) == near(100));
  CHECK(sink_of({by_hand, quiet}, 2, true) == near(50));  // 0.2667 and 0.4

  // The engine's table of three heads, from the sums of their columns.
  const std::vector<Pattern> heads{
      by_hand, {{1}, {0.2, 0.8}, {0, 0, 1}, {0, 0, 0, 1}}, {{1}, {0, 1}, {0, 1, 0}, {0, 1, 0, 0}}};
  std::vector<double> sums;
  for (const Pattern& pattern : heads)
    for (std::size_t k = 0; k < 4; ++k) {
      sums.push_back(0);
      for (std::size_t i = k; i < 4; ++i) sums.back() += pattern[i][k];
    }
  AlphaTable table(1, 1, 3, 4, 4);
  table.store(0, 0, Tensor::from<double>({1, 3, 4}, sums), {{4, 3, 2, 1}}, 0, false, Tensor());
  SinkScores scores = table.scores();
  for (int k = 1; k <= 4; ++k) {
    CHECK(sink_of(heads, k, false) == near(scores.sink_k[std::size_t(k - 1)]));
    CHECK(alpha_of(heads[1], k, false) == near(scores.alpha_layer_head_k[0][1][std::size_t(k - 1)]));
  }
}

TEST_CASE("8 kernel: two halves of a row" * doctest::skip()) {
  auto half_of = [](const std::vector<double>& s) {
    ScoredRow row(Softmax{}, s);  // whose values are the scores, too
    return Half{row.m.item(), row.S.item(), row.o.item() * row.S.item()};
  };
  for (const auto& [one, other] : {std::pair<std::vector<double>, std::vector<double>>{{-1, 0}, {1, 2}},
                                   {{3, 1, 2}, {-5}},
                                   {{0.5}, {0.5, 0.25}},
                                   {{900, 901}, {-900, 2}}}) {
    std::vector<double> all = one;
    all.insert(all.end(), other.begin(), other.end());
    Half whole = half_of(all), both = merged(half_of(one), half_of(other));
    CHECK(both.m == whole.m);
    CHECK(both.S == near(whole.S));
    CHECK(both.o == near(whole.o));
  }
}

TEST_CASE("9 policy: ALiBi, and a query may keep silent" * doctest::skip()) {
  using Mine = ablations::my_ablation;
  CHECK(Mine::Position::name() == "Alibi");
  // Twice as indifferent as can be, and the sum of all weights is next to nothing; interested, and it is not.
  auto row_sum = [](double s) {
    ScoredRow row(AttentionPolicy<Mine::Attention>::op(), {s, s, s});
    return row.pattern.item(0) + row.pattern.item(1) + row.pattern.item(2);
  };
  CHECK(std::abs(row_sum(-30)) < 1e-6);
  CHECK(row_sum(3) > 0.5);
  // Two policies differ from the baseline's, no more.
  std::istringstream mine(policies_of<Mine>()), usual(policies_of<ablations::baseline>());
  int different = 0;
  for (std::string a, b; mine >> a;) different += !(usual >> b) || a != b;
  CHECK(different == 2);
}

TEST_CASE("10 tensor cores: the accumulators of a warp are where NVIDIA's CuTe says" * doctest::skip()) {
  std::ifstream tables(SINK_SOURCE_DIR "/tests/golden/cuda/cute_tables.txt");
  int checked = 0;
  for (std::string line; std::getline(tables, line);) {  // such as "sums 5: 1,2 1,3 9,2 9,3"
    if (!line.starts_with("sums ")) continue;
    std::istringstream words(line.substr(5));
    int lane, row, column;
    char separator;
    words >> lane >> separator;
    for (int index = 0; words >> row >> separator >> column; ++index, ++checked) {
      CAPTURE(row);
      CAPTURE(column);
      Place place = place_of(row, column);
      CHECK(place.lane == lane);
      CHECK(place.index == index);
    }
  }
  CHECK(checked == 128);
}

}  // namespace tour
}  // namespace sink
