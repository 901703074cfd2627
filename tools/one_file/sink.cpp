// sink.cpp: a transformer, its gradients, its training and its attention sink, in one file of the standard library.
//
//   g++ -O2 -std=c++20 sink.cpp -o sink && ./sink
//
// Two models learn one task from the same weights and batches; only their attention differs. Softmax spends a weight of
// 1 in every row, and puts what it does not need on the first token: the attention sink (Gu et al., ICLR 2025). Sigmoid
// need not. Read from top to bottom. Shapes: B sequences of T tokens, in all N; C elements per token, H heads of D
// elements, F elements inside the feed-forward block, V symbols.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

constexpr int B = 16, T = 32, N = B * T, C = 32, H = 2, D = C / H, F = 32, V = 64, kSteps = 2000, kWarmup = 100;
constexpr std::uint64_t kSeed = 0;
constexpr double kLearningRate = 0.03, kBeta1 = 0.9, kBeta2 = 0.99, kEpsilon = 1e-8, kWeightDecay = 0.01, kClip = 1;

// ---- 1. Random draws: each is a function of (seed, stream, i) alone (Philox 4x32-10, Salmon et al. 2011).

using Word = std::uint32_t;
using Words = std::array<Word, 4>;
struct Random {
  std::uint64_t key, stream;
  Random(std::uint64_t seed, const std::string& name) : stream(0xcbf29ce484222325u) {
    for (unsigned char byte : name) stream = (stream ^ byte) * 0x100000001b3u;  // FNV-1a
    key = seed * 0x9E3779B97F4A7C15u ^ stream;
  }
  Words words(std::uint64_t i, Word lane = 0) const {
    Words c{Word(i), Word(i >> 32), lane, Word(stream >> 32)};
    Word k0 = Word(key), k1 = Word(key >> 32);
    for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
      const std::uint64_t p = 0xD2511F53ull * c[0], q = 0xCD9E8D57ull * c[2];
      c = {Word(q >> 32) ^ c[1] ^ k0, Word(q), Word(p >> 32) ^ c[3] ^ k1, Word(p)};
    }
    return c;
  }
  static double unit(Word a, Word b, int add = 0) { return (((std::uint64_t{a} << 32 | b) >> 11) + add) * 0x1p-53; }
  double uniform(std::uint64_t i, Word lane = 0) const { return unit(words(i, lane)[0], words(i, lane)[1]); }
  double normal(std::uint64_t i, Word lane = 0) const {  // Box and Muller
    const Words w = words(i, lane);
    return std::sqrt(-2 * std::log(unit(w[0], w[1], 1))) * std::cos(2 * std::numbers::pi * unit(w[2], w[3]));
  }
  double gamma(std::uint64_t i, double shape) const {  // shape < 1: Marsaglia and Tsang 2000
    const double d = shape + 1 - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    for (Word lane = 1;; lane += 2) {
      const double x = normal(i, lane), v = std::pow(1 + c * x, 3), u = 1 - uniform(i, lane + 1);
      if (v > 0 && std::log(u) < x * x / 2 + d - d * v + d * std::log(v))
        return std::pow(uniform(i), 1 / shape) * d * v;
    }
  }
};

// ---- 2. The task, Bigram-Backcopy (Guo et al. 2024): symbol 0 is always first. Each symbol has its own distribution
// of the next, which the feed-forward block can learn. After a trigger, 1, 2 or 3, the symbol before it is copied: only
// here is attention of use. In all other rows it has nothing to do.

struct Batch {
  std::vector<int> token, target;  // (B, T); a target of -1 does not count, for nothing predicts the first symbol
};

struct Task {
  Random train{kSeed, "bigram-backcopy train"}, validation{kSeed, "bigram-backcopy validation"};
  std::array<std::array<Word, V>, V> cdf;  // row a: its cumulative distribution, in units of 2^-32
  Task() {
    const Random random(kSeed, "bigram-backcopy transition");
    for (int a = 0; a < V; ++a) {  // Dirichlet(0.1)
      double p[V], sum = 0, running = 0;
      for (int b = 0; b < V; ++b) sum += p[b] = random.gamma(a * V + b, 0.1);
      for (int b = 0; b < V; ++b) cdf[a][b] = Word(std::min((running += p[b] / sum) * 0x1p32, 0x1p32 - 1));
      cdf[a][V - 1] = UINT32_MAX;  // whatever rounding did to the sum
    }
  }

  Batch batch(const Random& random, std::int64_t first) const {
    Batch batch;
    for (std::int64_t n = first; n < first + B; ++n) {
      std::array<int, T + 1> x{};
      Words draws = random.words(n);
      x[1] = 1 + int((static_cast<__uint128_t>(std::uint64_t{draws[0]} << 32 | draws[1]) * (V - 1)) >> 64);
      for (int t = 1; t < T; ++t) {
        if (t % 4 == 1) draws = random.words(n, 1 + t / 4);
        int next = 0;
        for (const Word sum : cdf[x[t]]) next += draws[(t - 1) % 4] >= sum;
        x[t + 1] = 1 <= x[t] && x[t] <= 3 ? x[t - 1] : std::clamp(next, 1, V - 1);
      }
      for (int t = 0; t < T; ++t) batch.token.push_back(x[t]), batch.target.push_back(t == 0 ? -1 : x[t + 1]);
    }
    return batch;
  }
};

// ---- 3. The tape: an operation computes its values, and leaves a function that adds to the gradients of its inputs.

struct Tensor {
  int width;                  // of a row
  std::vector<double> x, dx;  // values, and the gradient of the loss with respect to them
  Tensor(int rows, int columns) : width(columns), x(rows * columns), dx(rows * columns) {}
  double* row(int n) { return &x[n * width]; }
  double* d_row(int n) { return &dx[n * width]; }
};

struct Tape {
  std::deque<Tensor> tensors;
  std::vector<std::function<void()>> backward;  // of each operation, in the order in which they ran
  Tensor& make(int rows, int columns) { return tensors.emplace_back(rows, columns); }
} tape;

// Leaves f(n) to the backward pass, for every row n.
template <class Function>
void backward_of_rows(Function f) {
  tape.backward.push_back([f] {
    for (int n = 0; n < N; ++n) f(n);
  });
}

// ---- 4. Operations, forward and backward. The N rows of a tensor are the B T tokens.

Tensor& embedding(Tensor& E, const Batch& batch) {  // y = E[token]
  Tensor& y = tape.make(N, C);
  for (int n = 0; n < N; ++n) std::copy_n(E.row(batch.token[n]), C, y.row(n));
  backward_of_rows([&](int n) {
    for (int c = 0; c < C; ++c) E.d_row(batch.token[n])[c] += y.d_row(n)[c];
  });
  return y;
}

Tensor& add(Tensor& a, Tensor& b) {
  Tensor& y = tape.make(N, a.width);
  for (std::size_t i = 0; i < y.x.size(); ++i) y.x[i] = a.x[i] + b.x[i];
  tape.backward.push_back([&] {
    for (std::size_t i = 0; i < y.x.size(); ++i) a.dx[i] += y.dx[i], b.dx[i] += y.dx[i];
  });
  return y;
}

// y = x W^T, with W (O, I). Sums in arrays of constant length let the compiler use vector registers.
template <int I, int O>
Tensor& linear(Tensor& x, Tensor& W) {
  Tensor& y = tape.make(N, O);
  std::vector<double> transposed(I * O);
  for (int o = 0; o < O; ++o)
    for (int i = 0; i < I; ++i) transposed[i * O + o] = W.row(o)[i];
  for (int n = 0; n < N; ++n) {
    std::array<double, O> sum{};
    for (int i = 0; i < I; ++i)
      for (int o = 0; o < O; ++o) sum[o] += x.row(n)[i] * transposed[i * O + o];
    std::copy_n(sum.begin(), O, y.row(n));
  }
  backward_of_rows([&](int n) {  // dx = dy W
    std::array<double, I> sum{};
    for (int o = 0; o < O; ++o)
      for (int i = 0; i < I; ++i) sum[i] += y.d_row(n)[o] * W.row(o)[i];
    for (int i = 0; i < I; ++i) x.d_row(n)[i] += sum[i];
  });
  tape.backward.push_back([&] {
    for (int o = 0; o < O; ++o) {  // dW = dy^T x
      std::array<double, I> sum{};
      for (int n = 0; n < N; ++n)
        for (int i = 0; i < I; ++i) sum[i] += y.d_row(n)[o] * x.row(n)[i];
      for (int i = 0; i < I; ++i) W.d_row(o)[i] += sum[i];
    }
  });
  return y;
}

// y_c = x_c r g_c, r = 1 / sqrt(mean_c x_c^2 + 1e-5)
Tensor& rms_norm(Tensor& x, Tensor& g) {
  Tensor &y = tape.make(N, C), &r = tape.make(N, 1);
  for (int n = 0; n < N; ++n) {
    double mean_square = 0;
    for (int c = 0; c < C; ++c) mean_square += x.row(n)[c] * x.row(n)[c] / C;
    r.x[n] = 1 / std::sqrt(mean_square + 1e-5);
    for (int c = 0; c < C; ++c) y.row(n)[c] = x.row(n)[c] * r.x[n] * g.x[c];
  }
  backward_of_rows([&](int n) {
    const double *x_n = x.row(n), *dy_n = y.d_row(n), r_n = r.x[n];
    double projection = 0;  // mean_c of dy_c g_c x_c
    for (int c = 0; c < C; ++c) projection += dy_n[c] * g.x[c] * x_n[c] / C;
    for (int c = 0; c < C; ++c) x.d_row(n)[c] += r_n * (dy_n[c] * g.x[c] - x_n[c] * r_n * r_n * projection);
    for (int c = 0; c < C; ++c) g.dx[c] += dy_n[c] * x_n[c] * r_n;
  });
  return y;
}

// Rotary positions (Su et al. 2021): at position t the elements d and d + D/2 of a query or key are turned by
// t 10000^(-2d/D).
Tensor& rotate(Tensor& qkv) {
  Tensor& y = tape.make(N, 3 * C);
  const auto add_turned = [](const double* from, double* to, int position) {
    for (int d = 0; d < D / 2; ++d) {
      const double angle = position * std::pow(10000.0, -2.0 * d / D), cosine = std::cos(angle), sine = std::sin(angle);
      for (int i = d; i < 2 * C; i += D) {  // the heads of the queries, then of the keys
        to[i] += from[i] * cosine - from[i + D / 2] * sine;
        to[i + D / 2] += from[i] * sine + from[i + D / 2] * cosine;
      }
    }
    for (int c = 2 * C; c < 3 * C; ++c) to[c] += from[c];  // values stay
  };
  for (int n = 0; n < N; ++n) add_turned(qkv.row(n), y.row(n), n % T);
  backward_of_rows([&, add_turned](int n) { add_turned(y.d_row(n), qkv.d_row(n), -(n % T)); });
  return y;
}

// An attention operation: a_ij = g(s_ij) / z_i. Where it divides, z_i = sum_j g(s_ij) + one, else 1.
struct Operation {
  const char* name;
  double (*g)(double), (*dg)(double);  // and its derivative
  bool divides;
  double one = 0;
};

// o_i = sum_j a_ij v_j over the keys j <= i, s_ij = q_i . k_j / sqrt(D). `a` receives the pattern, (B, H, T, T).
Tensor& attention(Tensor& qkv, const Operation& op, std::vector<double>& a) {
  Tensor &o = tape.make(N, C), &z = tape.make(B * H * T, 1), &s = tape.make(B * H * T, T);
  a.assign(B * H * T * T, 0);
  const auto place = [](int row, int j) { return row / (H * T) * T + j; };  // of key j of a row (b, h, i)
  for (int row = 0; row < B * H * T; ++row) {
    const int h = row / T % H, i = row % T;
    const double* q = qkv.row(place(row, i)) + h * D;
    double sum = op.one, *a_i = &a[row * T], *o_i = o.row(place(row, i)) + h * D;
    for (int j = 0; j <= i; ++j) {
      const double* k = qkv.row(place(row, j)) + C + h * D;
      for (int d = 0; d < D; ++d) s.row(row)[j] += q[d] * k[d] / std::sqrt(double(D));
      sum += a_i[j] = op.g(s.row(row)[j]);
    }
    z.x[row] = op.divides ? sum : 1;
    for (int j = 0; j <= i; ++j) {
      const double* v = qkv.row(place(row, j)) + 2 * C + h * D;
      a_i[j] /= z.x[row];
      for (int d = 0; d < D; ++d) o_i[d] += a_i[j] * v[d];
    }
  }
  tape.backward.push_back([&, place] {
    for (int row = 0; row < B * H * T; ++row) {
      const int h = row / T % H, i = row % T;
      const double *a_i = &a[row * T], *do_i = o.d_row(place(row, i)) + h * D;
      double da[T] = {}, mean = 0;  // sum_j a_ij da_ij, by which z_i changes
      for (int j = 0; j <= i; ++j) {
        const int v = 2 * C + h * D;
        for (int d = 0; d < D; ++d) da[j] += do_i[d] * qkv.row(place(row, j))[v + d];
        for (int d = 0; d < D; ++d) qkv.d_row(place(row, j))[v + d] += a_i[j] * do_i[d];
        mean += op.divides ? a_i[j] * da[j] : 0;
      }
      for (int j = 0; j <= i; ++j) {
        const double ds = op.dg(s.row(row)[j]) / z.x[row] * (da[j] - mean) / std::sqrt(double(D));
        const int q = h * D, k = C + h * D, at_i = place(row, i), at_j = place(row, j);
        for (int d = 0; d < D; ++d) qkv.d_row(at_i)[q + d] += ds * qkv.row(at_j)[k + d];
        for (int d = 0; d < D; ++d) qkv.d_row(at_j)[k + d] += ds * qkv.row(at_i)[q + d];
      }
    }
  });
  return o;
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double d_logistic(double x) { return logistic(x) * (1 - logistic(x)); }

// y = silu(gate) up, of the halves of each row; silu(x) = x logistic(x) (Shazeer 2020)
Tensor& swiglu(Tensor& gate_up) {
  Tensor& y = tape.make(N, F);
  for (int n = 0; n < N; ++n) {
    const double *gate = gate_up.row(n), *up = gate + F;
    for (int f = 0; f < F; ++f) y.row(n)[f] = gate[f] * logistic(gate[f]) * up[f];
  }
  backward_of_rows([&](int n) {
    const double *gate = gate_up.row(n), *up = gate + F, *dy = y.d_row(n);
    for (int f = 0; f < F; ++f) {
      const double l = logistic(gate[f]);
      gate_up.d_row(n)[f] += dy[f] * up[f] * l * (1 + gate[f] * (1 - l));
      gate_up.d_row(n)[F + f] += dy[f] * gate[f] * l;
    }
  });
  return y;
}

// The mean of -log softmax(logits)_target. Its gradient is left in the logits.
double cross_entropy(Tensor& logits, const Batch& batch) {
  double loss = 0, counted = B * (T - 1);
  for (int n = 0; n < N; ++n) {
    if (batch.target[n] < 0) continue;
    const double *row = logits.row(n), largest = *std::max_element(row, row + V);
    double sum = 0;
    double* d_row = logits.d_row(n);
    for (int v = 0; v < V; ++v) sum += d_row[v] = std::exp(row[v] - largest);
    for (int v = 0; v < V; ++v) d_row[v] = (d_row[v] / sum - (v == batch.target[n])) / counted;
    loss += (largest + std::log(sum) - row[batch.target[n]]) / counted;
  }
  return loss;
}

// ---- 5. The model: x = x + attention(norm(x)), x = x + feed_forward(norm(x)), and a norm before the logits.

enum class Init { ones, normal, uniform };  // uniform: from -1 / sqrt(I) to 1 / sqrt(I), for a matrix (O, I)
struct Parameter : Tensor {
  std::vector<double> m = x, v = x;  // moments of AdamW
  Parameter(const std::string& name, int rows, int columns, Init init) : Tensor(rows, columns) {
    const Random random(kSeed, "parameter/" + name);
    for (int i = 0; i < rows * columns; ++i) {
      const double uniform = (2 * random.uniform(i) - 1) / std::sqrt(double(columns));
      x[i] = init == Init::ones ? 1 : init == Init::normal ? random.normal(i) : uniform;
    }
  }
};

struct Model {
  Operation op;
  Parameter token{"embedding.token.weight", V, C, Init::normal};
  Parameter attention_gain{"blocks.0.attention.norm.gain", 1, C, Init::ones};
  Parameter qkv{"blocks.0.attention.qkv.weight", 3 * C, C, Init::uniform};
  Parameter out{"blocks.0.attention.out.weight", C, C, Init::uniform};
  Parameter feed_forward_gain{"blocks.0.feed_forward.norm.gain", 1, C, Init::ones};
  Parameter gate_up{"blocks.0.feed_forward.gate_up.weight", 2 * F, C, Init::uniform};
  Parameter down{"blocks.0.feed_forward.down.weight", C, F, Init::uniform};
  Parameter final_gain{"final_norm.gain", 1, C, Init::ones};
  Parameter unembedding{"unembedding.weight", V, C, Init::uniform};
  std::vector<Parameter*> parameters{&token,   &attention_gain, &qkv,        &out,        &feed_forward_gain,
                                     &gate_up, &down,           &final_gain, &unembedding};
  std::vector<double> a{};  // the attention pattern of the last batch
  Tensor& logits(const Batch& batch) {
    tape = Tape();
    Tensor& x = embedding(token, batch);
    Tensor& rotated = rotate(linear<C, 3 * C>(rms_norm(x, attention_gain), qkv));
    Tensor& u = add(x, linear<C, C>(attention(rotated, op, a), out));
    Tensor& inner = swiglu(linear<C, 2 * F>(rms_norm(u, feed_forward_gain), gate_up));
    Tensor& y = add(u, linear<F, C>(inner, down));
    return linear<C, V>(rms_norm(y, final_gain), unembedding);
  }
};

// ---- 6. A training step: batch, forward, backward, clip, update (AdamW, Loshchilov and Hutter 2019).

double train_step(auto& model, const Task& task, int step) {  // a Model; step 1, 2, ...
  const Batch batch = task.batch(task.train, std::int64_t{step - 1} * B);
  Tensor& logits = model.logits(batch);
  const double loss = cross_entropy(logits, batch);
  for (auto function = tape.backward.rbegin(); function != tape.backward.rend(); ++function) (*function)();
  double squares = 0;
  for (const Parameter* p : model.parameters)
    for (const double dx : p->dx) squares += dx * dx;
  const double norm = std::sqrt(squares), clip = norm > kClip ? kClip / (norm + 1e-6) : 1,
               correct_m = 1 - std::pow(kBeta1, step), correct_v = 1 - std::pow(kBeta2, step);
  const double cosine = std::cos(std::numbers::pi * (step - kWarmup) / (kSteps - kWarmup)),  // after a linear rise
      rate = kLearningRate * (step < kWarmup ? double(step) / kWarmup : (1 + cosine) / 2);
  for (Parameter* p : model.parameters)
    for (std::size_t i = 0; i < p->x.size(); ++i) {
      const double g = clip * p->dx[i];
      p->m[i] = kBeta1 * p->m[i] + (1 - kBeta1) * g;
      p->v[i] = kBeta2 * p->v[i] + (1 - kBeta2) * g * g;
      p->x[i] *= 1 - rate * kWeightDecay;
      p->x[i] -= rate * (p->m[i] / correct_m) / (std::sqrt(p->v[i] / correct_v) + kEpsilon);
      p->dx[i] = 0;
    }
  return loss;
}

// ---- 7. The sink score: alpha_1, the mean weight of the first key over the T rows of a head, as they are (raw).
// Sink_1 is the percentage of (sequence, head) with alpha_1 > 0.3.

std::array<double, 3> measure(auto& model, const Task& task, int batches) {  // loss, alpha_1, Sink_1
  double loss = 0, alpha_1 = 0, sink_1 = 0;
  for (int n = 0; n < batches; ++n) {
    const Batch batch = task.batch(task.validation, std::int64_t{n} * B);
    loss += cross_entropy(model.logits(batch), batch) / batches;
    for (int head = 0; head < B * H; ++head) {
      double alpha = 0;
      for (int i = 0; i < T; ++i) alpha += model.a[(head * T + i) * T] / T;
      alpha_1 += alpha / (batches * B * H), sink_1 += 100.0 * (alpha > 0.3) / (batches * B * H);
    }
  }
  return {loss, alpha_1, sink_1};
}

// The pattern of head 0 of the last sequence: a row per query, a character per key, from . (below 0.1) to @.
void draw(const double* a) {
  for (int i = 0; i < T; ++i, a += T) {
    for (int j = 0; j <= i; ++j) std::printf("%c", ".:-=+*#%@@"[std::clamp(int(10 * a[j]), 0, 9)]);
    std::printf("\n");
  }
}

int main() {
  const Operation softmax{"softmax", std::exp, std::exp, true}, sigmoid{"sigmoid", logistic, d_logistic, false};
  const Task task;
  for (const Operation& op : {softmax, sigmoid}) {
    Model model{op};
    for (int step = 1; step <= kSteps; ++step) {
      const double loss = train_step(model, task, step);
      if (step % 500 == 0) std::fprintf(stderr, "%s, step %d of %d: loss %.3f\n", op.name, step, kSteps, loss);
    }
    const auto [loss, alpha_1, sink_1] = measure(model, task, 10);
    std::printf("%s: loss %.3f, alpha_1 %.3f, Sink_1 %.1f %%\n", op.name, loss, alpha_1, sink_1);
    draw(&model.a[(B - 1) * H * T * T]);
  }
}
