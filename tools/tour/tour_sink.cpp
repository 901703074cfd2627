// Chapter 7 of the tour: alpha_k of a map small enough to add up by hand, raw and proxy.
#include <cstdio>

#include "eval/sink/sink_score.h"
#include "tools/tour/tour_chapters.h"

namespace sink::tour {
namespace {

// Row i holds what query i gives to the keys 1 ... i.
using Map = std::vector<std::vector<double>>;

SinkScores scores_of(const Map& map, bool proxy) {
  std::int64_t T = static_cast<std::int64_t>(map.size());
  std::vector<double> column_sums(map.size(), 0);
  for (const std::vector<double>& row : map) {
    double mass = 0;
    for (double a : row) mass += a;
    for (std::size_t k = 0; k < row.size(); ++k) column_sums[k] += proxy ? row[k] / mass : row[k];
  }
  AlphaTable table(/*N=*/1, /*L=*/1, /*H=*/1, T, /*K=*/T);
  table.store(0, 0, Tensor::from<double>({1, 1, T}, column_sums), /*extra_tokens=*/0, /*extra_key=*/false, Tensor());
  return table.scores();
}

void print(const char* what, const SinkScores& scores) {
  std::printf("%-14s alpha_k", what);
  for (double alpha : scores.alpha_k) std::printf(" %.4f", alpha);
  std::printf("   Sink_1 %3.0f %%\n", scores.sink_k[kStudyEpsilon][0]);
}

}  // namespace

void sink_chapter() {
  Map softmax{{1}, {0.6, 0.4}, {0.5, 0.3, 0.2}, {0.7, 0.1, 0.1, 0.1}}, sigmoid = softmax;
  for (auto& row : sigmoid)
    for (double& a : row) a /= 100;  // the same shape, almost no weight: as sigmoid may have it, and softmax not
  print("softmax", scores_of(softmax, false));
  print("sigmoid, raw", scores_of(sigmoid, false));
  print("sigmoid, proxy", scores_of(sigmoid, true));
}

}  // namespace sink::tour
