// Times the attention operations, forward and backward, and prints one JSON line for each operation, type and shape.
// GFLOP/s count 4 B H T T D / 2 operations forward (causal: half of the pairs), 2.5 times that backward and half of it
// for the statistics; the median and the best of many calls.
//
//   bench_attention [B H T D]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "engine/ops/attention/attention.h"
#include "engine/rng.h"
#include "engine/threads.h"

using namespace sink;

namespace {

struct Shape4 {
  std::int64_t B, H, T, D;
};

Tensor normals(const Shape& shape, const char* stream, DType dtype) {
  Rng rng(1, stream);
  Tensor x = Tensor::empty(shape);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>(rng.normal(i));
  return x.to(dtype);
}

struct Milliseconds {
  double median, best;
};

// Over about half a second of calls.
template <class F>
Milliseconds measure(F&& f) {
  using Clock = std::chrono::steady_clock;
  auto time = [&] {
    auto start = Clock::now();
    f();
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  time();
  int calls = std::clamp(static_cast<int>(500.0 / time()), 5, 300);
  std::vector<double> ms;
  for (int call = 0; call < calls; ++call) ms.push_back(time());
  std::sort(ms.begin(), ms.end());
  return {ms[calls / 2], ms[0]};
}

template <class Op>
void bench(Shape4 size, DType dtype) {
  auto [B, H, T, D] = size;
  Shape shape{B, H, T, D}, row_shape{B, H, T};
  Tensor q = normals(shape, "q", dtype), k = normals(shape, "k", dtype), v = normals(shape, "v", dtype);
  Tensor upstream = normals(shape, "do", dtype), o = Tensor::empty(shape, dtype);
  Tensor m = Tensor::empty(row_shape), S = Tensor::empty(row_shape);
  Tensor dq = Tensor::empty(shape, dtype), dk = Tensor::empty(shape, dtype), dv = Tensor::empty(shape, dtype);
  AttentionConfig config{.scale = 1 / std::sqrt(static_cast<double>(D))};
  Milliseconds forward = measure([&] { attention<Op>(q, k, v, config, o, m, S); });
  Milliseconds backward = measure([&] { attention_backward<Op>(upstream, q, k, v, o, m, S, config, dq, dk, dv); });
  Milliseconds statistics =
      measure([&] { attention_statistics<Op>(q, k, m, S, config, std::min<std::int64_t>(T, 10)); });
  double gflop = 2e-9 * static_cast<double>(B * H * T * T * D);
  std::printf("{\"op\":\"%s\",\"dtype\":\"%s\",\"B\":%ld,\"H\":%ld,\"T\":%ld,\"D\":%ld,\"threads\":%d", Op::name,
              name_of(dtype), static_cast<long>(B), static_cast<long>(H), static_cast<long>(T), static_cast<long>(D),
              thread_count());
  auto print = [](const char* pass, Milliseconds ms, double gflop_of_pass) {
    std::printf(",\"%s_ms\":%.4g,\"%s_gflops\":%.4g,\"%s_best_gflops\":%.4g", pass, ms.median, pass,
                gflop_of_pass / ms.median * 1e3, pass, gflop_of_pass / ms.best * 1e3);
  };
  print("forward", forward, gflop);
  print("backward", backward, 2.5 * gflop);
  print("statistics", statistics, 0.5 * gflop);
  std::printf("}\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Shape4> sizes{{48, 4, 64, 32}, {48, 4, 64, 16}, {8, 8, 256, 64}, {1, 8, 2048, 96}, {1, 8, 2048, 128}};
  if (argc == 5) sizes = {{std::atol(argv[1]), std::atol(argv[2]), std::atol(argv[3]), std::atol(argv[4])}};
  if (argc != 1 && argc != 5) {
    std::fprintf(stderr, "bench_attention: error: expected no argument or B H T D\n");
    return static_cast<int>(Exit::usage);
  }
  for (Shape4 size : sizes)
    for (DType dtype : {DType::F32, DType::BF16}) {
#define SINK_ATTENTION_OP(Op) bench<Op>(size, dtype);
#include "engine/ops/attention/attention_ops.def"
    }
}
