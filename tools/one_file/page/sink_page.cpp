// The page's side of sink.cpp: the operations to choose from, an extra key, a gate, and the functions that JavaScript
// calls. Compiled to WebAssembly by build_page.py; compiled for this machine, it is what the page is compared with.
#include <memory>

#define main sink_main
#include "tools/one_file/sink.cpp"
#undef main

#if defined(__wasm__)
#define SINK_PAGE(name) __attribute__((export_name(#name))) name
#else
#define SINK_PAGE(name) name
#endif

double relu(double s) { return std::max(s, 0.0); }
double d_relu(double s) { return s > 0; }
double elu_plus_1(double s) { return s > 0 ? s + 1 : std::exp(s); }
double d_elu(double s) { return s > 0 ? 1 : std::exp(s); }

// In the order of `operations` in sink_page.js.
const Operation kOperations[] = {{"softmax", std::exp, std::exp, true},
                                 {"sigmoid", logistic, d_logistic, false},
                                 {"sigmoid divided by its sum", logistic, d_logistic, true, 1e-8},
                                 {"softmax1", std::exp, std::exp, true, 1},
                                 {"ReLU", relu, d_relu, false},
                                 {"ELU + 1", elu_plus_1, d_elu, false}};

// Adds to the attention that has just run one key k*_h per head, which has no position and whose value is zero. It
// changes z_i alone, by g(s_i*), s_i* = q_i . k*_h / sqrt(D), and with it the weights and their sum o_i.
void extra_key(Tensor& qkv, const Operation& op, Tensor& key, std::vector<double>& a, std::vector<double>& a_extra) {
  Tensor &o = *(tape.tensors.end() - 3), &z = *(tape.tensors.end() - 2), &s = tape.make(B * H * T, 1);
  a_extra.assign(B * H * T, 0);
  const auto token_of = [](int row) { return row / (H * T) * T + row % T; };
  for (int row = 0; row < B * H * T; ++row) {
    const int h = row / T % H;
    for (int d = 0; d < D; ++d) s.x[row] += qkv.row(token_of(row))[h * D + d] * key.row(h)[d] / std::sqrt(double(D));
    const double g = op.g(s.x[row]), before = z.x[row];
    if (op.divides) z.x[row] += g;
    a_extra[row] = g / z.x[row];
    for (int j = 0; j < T; ++j) a[row * T + j] *= before / z.x[row];
    for (int d = h * D; d < (h + 1) * D; ++d) o.row(token_of(row))[d] *= before / z.x[row];
  }
  if (!op.divides) return;  // then nothing depends on it
  tape.backward.push_back([&, token_of] {
    for (int row = 0; row < B * H * T; ++row) {
      const int h = row / T % H, n = token_of(row);
      double mean = 0;  // sum_j a_ij da_ij = do_i . o_i
      for (int d = h * D; d < (h + 1) * D; ++d) mean += o.d_row(n)[d] * o.row(n)[d];
      const double ds = -op.dg(s.x[row]) / z.x[row] * mean / std::sqrt(double(D));
      for (int d = 0; d < D; ++d) {
        qkv.d_row(n)[h * D + d] += ds * key.row(h)[d];
        key.d_row(h)[d] += ds * qkv.row(n)[h * D + d];
      }
    }
  });
}

// y_h = o_h logistic(x_h): one gate for each head (Qiu et al. 2025).
Tensor& gate(Tensor& o, Tensor& x) {
  Tensor& y = tape.make(N, C);
  for (int n = 0; n < N; ++n)
    for (int c = 0; c < C; ++c) y.row(n)[c] = o.row(n)[c] * logistic(x.row(n)[c / D]);
  backward_of_rows([&](int n) {
    for (int c = 0; c < C; ++c) {
      o.d_row(n)[c] += y.d_row(n)[c] * logistic(x.row(n)[c / D]);
      x.d_row(n)[c / D] += y.d_row(n)[c] * o.row(n)[c] * d_logistic(x.row(n)[c / D]);
    }
  });
  return y;
}

struct Design : Model {
  bool has_extra, has_gate;
  Parameter extra{"blocks.0.attention.extra.key", H, D, Init::normal};
  Parameter gate_weight{"blocks.0.attention.gate.weight", H, C, Init::uniform};
  std::vector<double> a_extra;         // weight of the extra key, (B, H, T)
  double sum_alpha = 0, sum_sink = 0;  // of the extra key, over the heads of all batches since they were set to 0
  Tensor *heads = nullptr, *gates = nullptr;

  Design(const Operation& op, bool extra_key, bool gate) : Model{op}, has_extra(extra_key), has_gate(gate) {
    for (double& k : extra.x) k *= 0.02;                               // its standard deviation
    if (has_extra) parameters.insert(parameters.begin() + 3, &extra);  // after qkv
    if (has_gate) parameters.insert(parameters.begin() + 3, &gate_weight);
  }
  Design(const Design&) = delete;  // `parameters` are its own

  Tensor& logits(const Batch& batch) {
    tape = Tape();
    Tensor& x = embedding(token, batch);
    Tensor& h = rms_norm(x, attention_gain);
    heads = &rotate(linear<C, 3 * C>(h, qkv));
    Tensor* o = &attention(*heads, op, a);
    if (has_extra) extra_key(*heads, op, extra, a, a_extra), count_extra();
    if (has_gate) o = &gate(*o, *(gates = &linear<C, H>(h, gate_weight)));
    Tensor& u = add(x, linear<C, C>(*o, out));
    Tensor& inner = swiglu(linear<C, 2 * F>(rms_norm(u, feed_forward_gain), gate_up));
    Tensor& y = add(u, linear<F, C>(inner, down));
    return linear<C, V>(rms_norm(y, final_gain), unembedding);
  }
  void count_extra() {
    for (int head = 0; head < B * H; ++head) {
      double alpha = 0;
      for (int i = 0; i < T; ++i) alpha += a_extra[head * T + i] / T;
      sum_alpha += alpha, sum_sink += alpha > 0.3;
    }
  }
};

const Task& the_task() {
  static const Task task;
  return task;
}
std::unique_ptr<Design> design;
std::array<double, 5> measured;  // loss, alpha_1, Sink_1, and alpha_* and Sink_* of the extra key
constexpr int kShown = 3;        // which sequence of the first validation batch

extern "C" {
void SINK_PAGE(page_start)(int operation, int extra_key, int gate) {
  design = std::make_unique<Design>(kOperations[operation], extra_key, gate);
}
double SINK_PAGE(page_step)(int step) { return train_step(*design, the_task(), step); }
const double* SINK_PAGE(page_measure)(int batches) {
  design->sum_alpha = design->sum_sink = 0;
  const auto [loss, alpha_1, sink_1] = measure(*design, the_task(), batches);
  const double heads = batches * B * H;
  measured = {loss, alpha_1, sink_1, design->sum_alpha / heads, 100 * design->sum_sink / heads};
  return measured.data();
}
// Tokens of the sequence that the page shows, (T).
const int* SINK_PAGE(page_tokens)() {
  static const Batch batch = the_task().batch(the_task().validation, 0);
  return &batch.token[kShown * T];
}
// Runs that sequence; then the others return what it left: the pattern (H, T, T), the extra key's weights (H, T),
// queries, keys and values (T, 3 C), gates before the logistic function (T, H), and keys of the extra key (H, D).
void SINK_PAGE(page_run)() { design->logits(the_task().batch(the_task().validation, 0)); }
const double* SINK_PAGE(page_pattern)() { return &design->a[kShown * H * T * T]; }
const double* SINK_PAGE(page_extra)() { return &design->a_extra[kShown * H * T]; }
const double* SINK_PAGE(page_heads)() { return design->heads->row(kShown * T); }
const double* SINK_PAGE(page_gates)() { return design->gates->row(kShown * T); }
const double* SINK_PAGE(page_extra_key)() { return design->extra.row(0); }
}
