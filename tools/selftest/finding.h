// What one check of the self test compared, and the first number that was wrong.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace sink::selftest {

struct Finding {
  std::int64_t numbers = 0;
  double worst = 0;  // difference
  std::string wrong;

  // Right if they differ by at most `allowed`, are the same infinity, or both NaN. where(): "lane 5, register 2".
  template <class Where>
  void compare(double got, double expected, double allowed, Where&& where) {
    ++numbers;
    bool same = got == expected || (std::isnan(got) && std::isnan(expected));
    double difference = same ? 0 : std::abs(got - expected);
    if (difference > worst || std::isnan(difference)) worst = difference;
    if (difference <= allowed || !wrong.empty()) return;
    char numbers_text[80];
    std::snprintf(numbers_text, sizeof numbers_text, ": got %.9g, expected %.9g", got, expected);
    wrong = where() + numbers_text;
  }
};

struct Check {
  std::string what;
  std::function<Finding()> run;
};

std::vector<Check> instruction_checks();  // shuffles, barriers, copies, approximations
std::vector<Check> matrix_checks();       // the tensor cores' registers, against CuTe's tables
std::vector<Check> gemm_checks();         // products of whole matrices, against sums in double

}  // namespace sink::selftest
