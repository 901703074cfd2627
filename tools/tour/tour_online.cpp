// Chapter 8 of the tour: a row of softmax that sees its keys two at a time, and never all of its scores.
#include <cmath>
#include <cstdio>
#include <vector>

#include "tools/tour/tour_chapters.h"

namespace sink::tour {
namespace {

// What is kept of the keys that have passed: their largest score, the sum of e^(s - m), and that of e^(s - m) v.
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

}  // namespace

void online_chapter() {
  Running row;
  row.take({-1, 0}, {10, 20});
  std::printf("after two keys:  m = %2g, S = %.4f, o = %.4f\n", row.m, row.S, row.o);
  row.take({1, 2}, {30, 40});
  std::printf("after four keys: m = %2g, S = %.4f, o = %.4f\n", row.m, row.S, row.o);
  std::printf("output o / S = %.4f\n", row.o / row.S);
}

}  // namespace sink::tour
