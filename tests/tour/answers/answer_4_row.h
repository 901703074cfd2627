// An answer to exercise 4 of the tour.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace sink::tour {

struct Weights {
  double m, S;
  std::vector<double> a;
};

inline Weights softmax_of(const std::vector<double>& s) {
  Weights row{*std::max_element(s.begin(), s.end()), 0, {}};
  for (double s_j : s) row.S += std::exp(s_j - row.m);
  for (double s_j : s) row.a.push_back(std::exp(s_j - row.m) / row.S);
  return row;
}

inline Weights sigmoid_of(const std::vector<double>& s) {
  Weights row{0, 0, {}};
  for (double s_j : s) {
    row.a.push_back(1 / (1 + std::exp(-s_j)));
    row.S += row.a.back();
  }
  return row;
}

}  // namespace sink::tour
