// Times the attention operations, forward and backward, on the CPU or on the CUDA device, and prints one JSON line for
// each operation, type and shape.
// GFLOP/s count 4 B H T T D / 2 operations forward (causal: half of the pairs, whatever the window), 2.5 times that
// backward and half of it for the statistics; the median and the best of many calls.
//
//   bench_attention [B H T D] [--op NAME] [--window N] [--prefix N] [--key-heads G] [--bias] [--extra-key]
//                   [--dtype bf16] [--device cuda]
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "engine/check.h"
#include "engine/io/command_line.h"
#include "engine/io/program.h"
#include "engine/io/setting.h"
#include "engine/ops/attention/attention.h"
#include "engine/ops/attention/op/attention_ops.h"
#include "engine/rng.h"
#include "engine/threads.h"

using namespace sink;

namespace {

struct Options {
  std::string op;  // empty: all
  KeyRange range;
  std::int64_t key_heads = 0;  // 0: as many as query heads
  bool bias = false, extra_key = false;
  std::string dtype, device = "cpu";  // dtype empty: both
};

Tensor normals(const Shape& shape, const char* stream, DType dtype, Device device) {
  Rng rng(1, stream);
  Tensor x = Tensor::empty(shape);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>(rng.normal(i));
  return x.to(dtype).to(device);
}

struct Milliseconds {
  double median, best;
};

// The time of one call, from about a third of a second of calls. On a GPU ten calls per synchronization.
template <class F>
Milliseconds measure(Device device, F&& f) {
  using Clock = std::chrono::steady_clock;
  Tensor sync = Tensor::zeros({1}, DType::F32, device);
  int calls_per_sync = device == Device::cpu ? 1 : 10;
  auto time = [&] {
    auto start = Clock::now();
    for (int call = 0; call < calls_per_sync; ++call) f();
    sync.to(Device::cpu);  // waits for a GPU
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count() / calls_per_sync;
  };
  time();
  int calls = std::clamp(static_cast<int>(300.0 / time() / calls_per_sync), 5, 300);
  std::vector<double> ms;
  for (int call = 0; call < calls; ++call) ms.push_back(time());
  std::sort(ms.begin(), ms.end());
  return {ms[calls / 2], ms[0]};
}

template <class Op>
void bench(const std::vector<std::int64_t>& size, DType dtype, const Options& options) {
  if (!options.op.empty() && options.op != operation_name<Op>()) return;
  std::int64_t B = size[0], H = size[1], T = size[2], D = size[3];
  Shape shape{B, H, T, D}, row_shape{B, H, T};
  Shape key_shape{B, options.key_heads > 0 ? options.key_heads : H, T, D};
  Device device = device_named(options.device);
  auto values = [&](const Shape& of, const char* stream, DType type) { return normals(of, stream, type, device); };
  Tensor q = values(shape, "q", dtype), k = values(key_shape, "k", dtype), v = values(key_shape, "v", dtype);
  Tensor upstream = values(shape, "do", dtype), o = Tensor::empty(shape, dtype, device);
  Tensor m = Tensor::empty(row_shape, DType::F32, device), S = Tensor::empty(row_shape, DType::F32, device);
  AttentionConfig config{.scale = 1 / std::sqrt(static_cast<double>(D)), .range = options.range};
  if (options.bias) config.bias_HT = values({H, T}, "bias", DType::F32);
  if (options.extra_key)
    config.extra_key = {.k_HD = values({H, D}, "extra_key.k", DType::F32),
                        .v_HD = values({H, D}, "extra_key.v", DType::F32)};
  Op op;
  Milliseconds forward = measure(device, [&] { attention(op, q, k, v, config, o, m, S); });
  Milliseconds backward = measure(device, [&] { attention_backward(op, upstream, q, k, v, o, m, S, config); });
  Milliseconds statistics =
      measure(device, [&] { attention_statistics(op, q, k, v, m, S, config, std::min<std::int64_t>(T, 10)); });
  double gflop = 2e-9 * static_cast<double>(B * H * T * T * D);
  std::printf(
      "{\"op\":\"%s\",\"dtype\":\"%s\",\"B\":%ld,\"H\":%ld,\"T\":%ld,\"D\":%ld,\"device\":\"%s\",\"threads\":%d",
      operation_name<Op>(), name_of(dtype), static_cast<long>(B), static_cast<long>(H), static_cast<long>(T),
      static_cast<long>(D), description_of(device).c_str(), thread_count());
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

int run(int argc, char** argv) {
  std::vector<std::vector<std::int64_t>> sizes{
      {48, 4, 64, 32}, {48, 4, 64, 16}, {8, 8, 256, 64}, {1, 8, 2048, 96}, {1, 8, 2048, 128}};
  std::vector<std::int64_t> size;
  Options options;
  CLI::App app(
      "Times the attention operations, forward and backward; prints one JSON line per operation, type and shape.",
      "bench_attention");
  app.add_option("shape", size, "B H T D")->expected(0, 4)->check(whole_number(1));
  std::vector<std::string> operations;
#define SINK_ATTENTION_OP(Op) operations.push_back(operation_name<Op>());
  SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
  app.add_option("--op", options.op, "only this operation")->check(CLI::IsMember(operations))->option_text("NAME");
  app.add_option("--window", options.range.window, "keys a query sees; 0: all")->check(whole_number(0));
  app.add_option("--prefix", options.range.prefix, "first keys that every query sees")->check(whole_number(0));
  app.add_option("--key-heads", options.key_heads, "0: as many as query heads")->check(whole_number(0));
  app.add_flag("--bias", options.bias, "a bias by distance");
  app.add_flag("--extra-key", options.extra_key, "an extra key with vector and value");
  app.add_option("--dtype", options.dtype, "only this type")->check(CLI::IsMember({"f32", "bf16"}));
  app.add_option("--device", options.device)->check(CLI::IsMember({"cpu", "cuda"}));
  if (!parse_command_line(app, argc, argv)) return 0;
  if (!size.empty() && size.size() != 4) throw Error("expected a shape B H T D, or none", Exit::usage);
  if (!size.empty()) sizes = {size};
  for (const auto& one : sizes)
    for (DType dtype : {DType::F32, DType::BF16}) {
      if (!options.dtype.empty() && options.dtype != name_of(dtype)) continue;
#define SINK_ATTENTION_OP(Op) bench<Op>(one, dtype, options);
      SINK_ATTENTION_OPS(SINK_ATTENTION_OP)
#undef SINK_ATTENTION_OP
    }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("bench_attention", [&] { return run(argc, argv); });
}
