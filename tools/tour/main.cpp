// tour: prints the values of one chapter of tools/tour/README.md, with the function that the chapter shows. Each
// chapter's page computes these values by hand. Chapters 5 and 10 use other programs.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <map>
#include <vector>

#include "autograd/grad_check.h"
#include "autograd/ops/add_node.h"
#include "autograd/record.h"
#include "engine/check.h"
#include "engine/io/command_line.h"
#include "engine/io/program.h"
#include "engine/io/setting.h"
#include "engine/ops/attention/attention.h"
#include "engine/ops/attention/op/attention_ops.h"
#include "engine/ops/optimizer/adamw.h"
#include "engine/ops/norm/norm.h"
#include "engine/tensor.h"
#include "eval/sink/sink_score.h"

namespace sink::tour {

// ---- Chapter 1: where the elements of a tensor are in memory, and which tensors share them.

void tensor_chapter() {
  // Two texts of three tokens with four values each: 0, 1, ... 23, in memory order.
  std::vector<double> values;
  for (int n = 0; n < 24; ++n) values.push_back(n);
  Tensor x_BTC = Tensor::from<double>({2, 3, 4}, values);
  std::printf("x is %s: %d values, %d bytes\n", x_BTC.str().c_str(), int(x_BTC.size()), int(x_BTC.bytes()));

  std::int64_t T = x_BTC.dim(1), C = x_BTC.dim(2), b = 1, t = 2, c = 3;
  std::int64_t index = (b * T + t) * C + c;
  std::printf("x(1, 2, 3) is at index %d: %g\n", int(index), x_BTC.item(index));

  Tensor flat = x_BTC.reshape({6, 4}), second = x_BTC.rows(1, 2), copy = x_BTC.clone();
  std::printf("flat is %s, second is %s and begins with %g\n", flat.str().c_str(), second.str().c_str(), second.item());
  second.fill(-1);
  std::printf("after second.fill(-1): x has %g at index 12, flat %g, copy %g\n", x_BTC.item(12), flat.item(12),
              copy.item(12));

  for (DType type : {DType::F64, DType::F32, DType::BF16}) {
    Tensor third = Tensor::full({1}, 1.0 / 3, DType::F64).to(type);
    std::printf("1/3 in %d bytes: %.17f\n", int(third.bytes()), third.item());
  }
}

// ---- Chapter 2: an operation that records itself, and its backward pass.

// y = x^2, so dy/dx = 2x.
struct SquareNode {
  Var x;

  static constexpr const char* name = "square";
  void backward(const Tensor& dy) {
    Tensor dx = Tensor::empty_like(x.value());
    for (std::int64_t i = 0; i < dx.size(); ++i) dx.data<double>()[i] = 2 * x.value().item(i) * dy.item(i);
    x.gradient().accumulate(dx);
  }
};

Var square(const Var& x) {
  Tensor y = Tensor::empty_like(x.value());
  for (std::int64_t i = 0; i < y.size(); ++i) y.data<double>()[i] = x.value().item(i) * x.value().item(i);
  return record<SquareNode>(y, x);
}

void tape_chapter() {
  Var x(Tensor::from<double>({1}, {3}), /*requires_grad=*/true);
  {
    Tape tape;
    Var u = square(x), loss = add(u, x);
    std::printf("x = %g, u = x^2 = %g, loss = u + x = %g\n", x.value().item(), u.value().item(), loss.value().item());
    for (std::size_t n = 0; n < tape.nodes().size(); ++n) std::printf("tape %d: %s\n", int(n), tape.nodes()[n]->name());
    tape.backward(loss);
    std::printf("after backward: %d nodes on the tape, d loss / dx = %g\n", int(tape.nodes().size()), x.grad().item());
  }
  GradCheckResult check = check_gradients([&] { return add(square(x), x); }, {x});
  std::printf("finite differences say the same: %s\n", check.worst < 1e-9 ? "yes" : check.where.c_str());
}

// ---- Chapter 3: one row of RMSNorm, forward and backward, by the reference and the training backend.

void rms_norm_chapter() {
  for (DType type : {DType::F64, DType::F32}) {  // F64: the reference; F32: the training backend
    Tensor x = Tensor::from<double>({1, 2}, {3, 4}).to(type), gain_C = Tensor::full({2}, 1, type);
    Tensor y = Tensor::empty_like(x), r = Tensor::empty({1}, type);
    rms_norm(x, gain_C, y, r);
    std::printf("%s: r = %.5f, y = (%.5f, %.5f)\n", type == DType::F64 ? "F64" : "F32", r.item(), y.item(0), y.item(1));

    Tensor dy = Tensor::from<double>({1, 2}, {1, 0}).to(type);
    Tensor dx = Tensor::empty_like(x), dgain_C = Tensor::empty_like(gain_C);
    rms_norm_backward(dy, x, gain_C, r, dx, /*accumulate_dx=*/false, dgain_C, /*accumulate_dgain=*/false);
    std::printf("     dx = (%.5f, %.5f), dgain = (%.5f, %.5f)\n", dx.item(0), dx.item(1), dgain_C.item(0),
                dgain_C.item(1));
  }
}

// ---- Chapter 4: one row of attention, forward and backward, by softmax and by sigmoid.

// Of chapters 4, 8 and 9: a query that sees four keys with the scores 2, 1, 0 and -1.
// One sequence, one head, one query at position 3 and the keys at 0 to 3, of width 4. Values are the unit vectors, so
// that the output of the query is its weights.
struct TourRow {
  Tensor q_BHTD = Tensor::from<double>({1, 1, 1, 4}, {1, 1, 1, 1});
  Tensor k_BGKD = Tensor::from<double>({1, 1, 4, 4}, {1, 1, 1, 1, 2, 0, 0, 0, 1, -1, 1, -1, -1, 0, -1, 0});
  Tensor v_BGKD = Tensor::from<double>({1, 1, 4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  AttentionConfig config{.scale = 0.5, .first_position = 3};  // scale: 1 / sqrt(4)
  Tensor o_BHTD = Tensor::empty_like(q_BHTD);
  Tensor m_BHT = Tensor::empty({1, 1, 1}, DType::F64), S_BHT = Tensor::empty_like(m_BHT);

  template <class Op>
  void forward(const Op& op) {
    attention(op, q_BHTD, k_BGKD, v_BGKD, config, o_BHTD, m_BHT, S_BHT);
  }
  template <class Op>
  AttentionGradients backward(const Op& op, const Tensor& do_BHTD) const {
    return attention_backward(op, do_BHTD, q_BHTD, k_BGKD, v_BGKD, o_BHTD, m_BHT, S_BHT, config);
  }
};

void print_values(const char* name, const Tensor& x) {
  std::printf("  %-4s", name);
  for (std::int64_t n = 0; n < x.size(); ++n) std::printf(" %7.4f", x.item(n));
  std::printf("\n");
}

template <class Op>
void print_row(const Op& op) {
  TourRow row;
  row.forward(op);
  std::printf("%s: m = %.4f, S = %.4f\n", operation_name<Op>(), row.m_BHT.item(), row.S_BHT.item());
  print_values("o", row.o_BHTD);  // equals a, because the values are unit vectors

  // The loss is the first element of o, which is a_1.
  Tensor do_BHTD = Tensor::from<double>({1, 1, 1, 4}, {1, 0, 0, 0});
  AttentionGradients gradients = row.backward(op, do_BHTD);
  print_values("dq", gradients.dq_BHTD);
  Tensor first = Tensor::empty({4}, DType::F64);  // each dk_j has four equal elements
  for (std::int64_t j = 0; j < 4; ++j) first.data<double>()[j] = gradients.dk_BGKD.item(j * 4);
  print_values("dk_j", first);
}

void row_chapter() {
  print_row(Softmax{});
  print_row(Sigmoid{});
}

// ---- Chapter 6: three updates of one weight by AdamW.

void adamw_chapter() {
  AdamwSettings settings{.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0};
  Tensor w = Tensor::full({1}, 0.5, DType::F64), m = Tensor::zeros({1}, DType::F64), v = Tensor::zeros({1}, DType::F64);
  double gradients[] = {0.2, 0.2, -0.02};
  for (int update = 1; update <= 3; ++update) {
    Tensor dw = Tensor::full({1}, gradients[update - 1], DType::F64);
    adamw(settings, make_step_scalars(/*learning_rate=*/0.01, update), dw, w, m, v);
    std::printf("update %d: dw = %5.2f, m = %.5f, v = %.6f, w = %.6f\n", update, dw.item(), m.item(), v.item(),
                w.item());
  }
}

// ---- Chapter 7: alpha_k of an attention pattern small enough to add up by hand, raw and proxy.

// Row i holds the weights of query i on the keys 1 ... i.
using Pattern = std::vector<std::vector<double>>;

SinkScores scores_of(const Pattern& pattern, bool proxy) {
  std::int64_t T = static_cast<std::int64_t>(pattern.size());
  std::vector<double> column_sums(pattern.size(), 0), rows_that_see;
  for (std::int64_t k = 1; k <= T; ++k) rows_that_see.push_back(static_cast<double>(T - k + 1));
  for (const std::vector<double>& row : pattern) {
    double row_sum = 0;
    for (double a : row) row_sum += a;
    for (std::size_t k = 0; k < row.size(); ++k) column_sums[k] += proxy ? row[k] / row_sum : row[k];
  }
  AlphaTable table(/*N=*/1, /*L=*/1, /*H=*/1, T, /*K=*/T);
  table.store(0, 0, Tensor::from<double>({1, 1, T}, column_sums), {rows_that_see}, /*extra_tokens=*/0,
              /*extra_key=*/false, Tensor());
  return table.scores();
}

void print(const char* what, const SinkScores& scores) {
  std::printf("%-14s alpha_k", what);
  for (double alpha : scores.alpha_k) std::printf(" %.4f", alpha);
  std::printf("   Sink_1 %3.0f %%\n", scores.sink_k[0]);
}

void sink_chapter() {
  Pattern softmax{{1}, {0.6, 0.4}, {0.5, 0.3, 0.2}, {0.7, 0.1, 0.1, 0.1}}, sigmoid = softmax;
  for (auto& row : sigmoid)
    for (double& a : row) a /= 100;  // the same shape with almost no weight: possible for sigmoid, not for softmax
  print("softmax", scores_of(softmax, false));
  print("sigmoid, raw", scores_of(sigmoid, false));
  print("sigmoid, proxy", scores_of(sigmoid, true));
}

// ---- Chapter 8: a row of softmax computed two keys at a time, without storing all of its scores.

// State after the keys so far: their largest score m, the sum of e^(s - m), and the sum of e^(s - m) v.
struct Running {
  double m = -INFINITY, S = 0, o = 0;

  void take(const std::vector<double>& s, const std::vector<double>& v) {
    double raised = m;
    for (double s_j : s) raised = std::max(raised, s_j);
    double rescale = std::exp(m - raised);  // e^(s - raised) = e^(s - m) e^(m - raised)
    S *= rescale;
    o *= rescale;
    m = raised;
    for (std::size_t j = 0; j < s.size(); ++j) {
      S += std::exp(s[j] - m);
      o += std::exp(s[j] - m) * v[j];
    }
  }
};

void online_chapter() {
  Running row;
  row.take({-1, 0}, {10, 20});
  std::printf("after two keys:  m = %2g, S = %.4f, o = %.4f\n", row.m, row.S, row.o);
  row.take({1, 2}, {30, 40});
  std::printf("after four keys: m = %2g, S = %.4f, o = %.4f\n", row.m, row.S, row.o);
  std::printf("output o / S = %.4f\n", row.o / row.S);
}

// ---- Chapter 9: the row of chapter 4 under single policies.

template <class Op>
void print_weights(const char* ablation, const Op& op, TourRow row = {}) {
  row.forward(op);
  double row_sum = 0;
  std::printf("%-16s", ablation);
  for (std::int64_t j = 0; j < 4; ++j) {
    std::printf(" %.4f", row.o_BHTD.item(j));
    row_sum += row.o_BHTD.item(j);
  }
  std::printf("   row sum %.4f\n", row_sum);
}

void policy_chapter() {
  print_weights("baseline", Softmax{});
  print_weights("op_sigmoid_none", Sigmoid{});
  TourRow with_key;  // an extra key with score 0 and value 0
  with_key.config.extra_key.logit_H = Tensor::zeros({1}, DType::F64);
  print_weights("op_softmax1", Softmax{}, with_key);
  TourRow with_bias;  // for distances 0 ... 3, with slope 1/2
  with_bias.config.bias_HT = Tensor::from<double>({1, 4}, {0, -0.5, -1, -1.5});
  print_weights("pos_alibi", Softmax{}, with_bias);
  TourRow with_window;
  with_window.config.range.window = 2;
  print_weights("--window 2", Softmax{}, with_window);
}

}  // namespace sink::tour

namespace sink {
namespace {

int run(int argc, char** argv) {
  const std::map<int, void (*)()> examples{
      {1, tour::tensor_chapter}, {2, tour::tape_chapter}, {3, tour::rms_norm_chapter}, {4, tour::row_chapter},
      {6, tour::adamw_chapter},  {7, tour::sink_chapter}, {8, tour::online_chapter},   {9, tour::policy_chapter}};
  CLI::App app("Prints the values that a chapter of the tour computes by hand. Start with tools/tour/README.md.",
               "tour");
  int chapter = 0;
  app.add_option("chapter", chapter, "1, 2, 3, 4, 6, 7, 8 or 9; for 5 run train_baseline")
      ->required()
      ->check(whole_number(1, 9));
  if (!parse_command_line(app, argc, argv)) return 0;
  auto example = examples.find(chapter);
  SINK_CHECK(example != examples.end(), "tour",
             "expected a chapter 1, 2, 3, 4, 6, 7, 8 or 9, got " + std::to_string(chapter), Exit::usage);
  example->second();
  return 0;
}

}  // namespace
}  // namespace sink

int main(int argc, char** argv) {
  return sink::run_program("tour", [&] { return sink::run(argc, argv); });
}
