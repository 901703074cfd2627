// An answer to exercise 8 of the tour.
#pragma once

#include <algorithm>
#include <cmath>

namespace sink::tour {

struct Half {
  double m, S, o;
};

inline Half merged(const Half& one, const Half& other) {
  double m = std::max(one.m, other.m), of_one = std::exp(one.m - m), of_other = std::exp(other.m - m);
  return {m, of_one * one.S + of_other * other.S, of_one * one.o + of_other * other.o};
}

}  // namespace sink::tour
