// The patterns that a page of `view` holds: as many weights as it can, close to the exact ones, or sums over cells.
#include "eval/attention/view_page.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/tensor_view.h"

using namespace sink;

namespace {

// The weights that a page makes of a text: bytes of base64, each 255 sqrt(weight).
std::vector<double> weights_of(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<double> weights;
  unsigned bits = 0;
  int count = 0;
  for (char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<unsigned>(digits.find(c));
    if ((count += 6) < 8) continue;
    count -= 8;
    weights.push_back(std::pow((bits >> count & 255u) / 255.0, 2));
  }
  return weights;
}

// Causal weights whose rows sum to one: (i, j) has (j + 1) / sum_{k <= i} (k + 1).
Tensor causal_weights(std::size_t T) {
  Tensor weights_TT = Tensor::zeros({static_cast<std::int64_t>(T), static_cast<std::int64_t>(T)}, DType::F64);
  auto p = view<double, 2>(weights_TT);
  for (std::size_t i = 0; i < T; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      p(i, j) = static_cast<double>(j + 1) / (static_cast<double>((i + 1) * (i + 2)) / 2);
  return weights_TT;
}

}  // namespace

TEST_CASE("view: the weights of a short text are within 0.004, row by row") {
  for (std::size_t T : {1, 2, 3, 12}) {  // every remainder of base64
    CAPTURE(T);
    const Tensor weights_TT = causal_weights(T);
    const auto p = view<double, 2>(weights_TT);
    for (std::int64_t prefix : {0, 3}) {
      ViewMaps maps({.layers = 1, .heads = 1, .prefix = prefix}, static_cast<std::int64_t>(T));
      maps.add(weights_TT);
      CHECK(maps.cell() == 1);
      CHECK(maps.is_square() == (prefix > 0));
      const std::vector<double> weights = weights_of(maps.base64_LH().at(0));
      REQUIRE(weights.size() == (prefix > 0 ? T * T : T * (T + 1) / 2));
      std::size_t at = 0;
      for (std::size_t i = 0; i < T; ++i)
        for (std::size_t j = 0; j < (prefix > 0 ? T : i + 1); ++j) CHECK(std::abs(weights[at++] - p(i, j)) < 0.004);
    }
  }
}

TEST_CASE("view: a cell of a long text is the mean over its queries of the sum over its keys") {
  const std::size_t T = 1023;
  ViewMaps maps({.layers = 30, .heads = 9}, T);
  CHECK(maps.cell() == 4);
  maps.add(causal_weights(T));
  const std::vector<double> weights = weights_of(maps.base64_LH().at(0));
  REQUIRE(weights.size() == 256 * 257 / 2);
  // Row r of cells covers queries 4 r to 4 r + 3: a row of weights sums to one, so does a row of cells.
  for (std::size_t row : {0, 1, 100, 255}) {
    double sum = 0;
    for (std::size_t column = 0; column <= row; ++column) sum += weights[row * (row + 1) / 2 + column];
    CHECK(sum == doctest::Approx(1).epsilon(0.02));
  }
  double exact = 0;  // cell (1, 0): queries 4 to 7, keys 0 to 3, whose weights sum to 10 / ((i + 1) (i + 2) / 2)
  for (double i : {4, 5, 6, 7}) exact += 10 / ((i + 1) * (i + 2) / 2) / 4;
  CHECK(weights[1] == doctest::Approx(exact).epsilon(0.02));
}
