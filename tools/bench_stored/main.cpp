// Times products with stored weights of every type on one thread, and prints one JSON line for each type: billions of
// weights per second that dot() multiplies, as in generating a token, and that decode() writes, as for a prompt; the
// best of many calls over rows that stay in the cache.
//
//   bench_stored [TYPE]...
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "engine/io/command_line.h"
#include "engine/io/program.h"
#include "engine/rng.h"
#include "engine/stored/grouped_dot.h"
#include "engine/stored/stored_type.h"
#include "engine/tensor.h"

using namespace sink;

namespace {

constexpr std::int64_t kColumns = 4096, kRows = 64;

// Bytes whose scales are neither 0 nor subnormal, so that no product takes the slow path of the processor.
std::vector<unsigned char> random_rows(std::int64_t bytes) {
  Rng rng(1, "weights");
  std::vector<unsigned char> rows(static_cast<std::size_t>(kRows * bytes));
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<unsigned char>(0x30 + rng.below(static_cast<std::int64_t>(i), 12));
  return rows;
}

// Billions of weights per second.
template <class F>
double best_rate(F&& of_row) {
  using Clock = std::chrono::steady_clock;
  double best = 0;
  for (int call = 0; call < 200; ++call) {
    const auto start = Clock::now();
    for (std::int64_t row = 0; row < kRows; ++row) of_row(row);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::max(best, static_cast<double>(kRows * kColumns) / seconds / 1e9);
  }
  return best;
}

void bench(StoredType type) {
  const StoredLayout& block = layout_of(type);
  const std::int64_t bytes = kColumns / block.elements * block.bytes;
  const std::vector<unsigned char> w = random_rows(bytes);
  std::vector<float> x(kColumns), decoded(kColumns);
  Rng rng(1, "x");
  for (std::int64_t i = 0; i < kColumns; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(rng.normal(i));
  volatile float kept = 0;  // so that the product is not left out
  Tensor grouped = Tensor::empty({grouped_size(kColumns)});
  group_input(type, x.data(), kColumns, grouped.data<float>());
  const double dots = best_rate([&](std::int64_t row) {
    const unsigned char* w_row = w.data() + row * bytes;
    float sum;
    if (has_groups(type))
      grouped_dots(type, &w_row, 1, grouped.data<float>(), kColumns, &sum);
    else
      sum = dot(type, w_row, x.data(), kColumns);
    kept = sum;
  });
  const double decodes = best_rate([&](std::int64_t row) {
    decode(type, w.data() + row * bytes, kColumns, decoded.data());
    kept = decoded[static_cast<std::size_t>(row)];
  });
  std::printf("{\"type\": \"%s\", \"dot_gw\": %.2f, \"decode_gw\": %.2f}\n", block.name, dots, decodes);
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  std::vector<std::string> types, known;
  for (const StoredLayout& block : kStoredLayouts) known.push_back(block.name);
  CLI::App app("Times products with stored weights of every type on one thread; prints one JSON line per type.",
               "bench_stored");
  app.add_option("type", types, "only these")->check(CLI::IsMember(known))->option_text("NAME");
  if (!parse_command_line(app, argc, argv)) return 0;
  for (std::size_t type = 0; type < known.size(); ++type)
    if (types.empty() || std::ranges::find(types, known[type]) != types.end()) bench(static_cast<StoredType>(type));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("bench_stored", [&] { return run(argc, argv); });
}
