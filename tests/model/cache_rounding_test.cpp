// Rounded keys and values of a cache are those of NumPy (tests/golden/cache/make_cache_golden.py).
#include "model/cache_rounding.h"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "model/key_value_cache.h"
#include "tests/support/keep_worst.h"

using namespace sink;
using namespace sink::test;

namespace {

constexpr std::int64_t T = 34, D = 36;

double key(std::int64_t t, std::int64_t d) {
  const double x = static_cast<double>((t * D + d) * 7919 % 1009 - 504) / 128;
  return (t == 0 ? 8 * x : x) + (d == 3 ? 16 : 0);
}
double value(std::int64_t t, std::int64_t d) {
  const double x = static_cast<double>((t * D + d) * 6007 % 997 - 498) / 128;
  return t == 0 ? x / 8 : x;
}

// Rows [begin, end) for two heads; the second one has twice the values.
Tensor rows(double (*of)(std::int64_t, std::int64_t), std::int64_t begin, std::int64_t end) {
  const std::int64_t n = (end - begin) * D;
  return Tensor::table<double>(2, n,
                               [&](std::int64_t g, std::int64_t i) { return (g + 1.0) * of(begin + i / D, i % D); })
      .reshape({1, 2, end - begin, D});
}

}  // namespace

TEST_CASE("cache rounding: a whole group of tokens and the tokens after it, as NumPy rounds them") {
  std::ifstream file(SINK_SOURCE_DIR "/tests/golden/cache/rounded_cache.json");
  const auto cases = nlohmann::json::parse(file);
  REQUIRE(cases.size() == 16);
  for (const auto& one : cases) {
    CAPTURE(one["bits"].get<int>());
    CAPTURE(one["scheme"].get<std::string>());
    CacheRounding rounding{
        .bits = one["bits"],
        .scheme = one["scheme"] == "kivi" ? CacheRounding::Scheme::kivi : CacheRounding::Scheme::token};
    for (std::int64_t position : one["kept"]) {
      if (position == rounding.keep_first)
        ++rounding.keep_first;
      else
        rounding.keep.push_back(position);
    }
    KeyValueCache cache(T, KeyValueCache::Positions::of_text, {}, rounding);
    KeyValueCache::KeysValues held;
    for (std::int64_t begin : {0, 7, 20, 32}) {
      const std::int64_t end = begin == 0 ? 7 : begin == 7 ? 20 : begin == 20 ? 32 : T;
      held = cache.append(0, rows(key, begin, end), rows(value, begin, end));
      cache.advance(end - begin);
    }
    double worst = 0;
    for (std::int64_t t = 0; t < T; ++t)
      for (std::int64_t g = 0; g < 2; ++g) {
        double k = 0, v = 0;
        for (std::int64_t d = 0; d < D; ++d) {
          const std::int64_t n = (g * held.k_BGKD.dim(2) + t) * D + d;
          k += static_cast<double>(d + 1) * held.k_BGKD.item(n);
          v += static_cast<double>(d + 1) * held.v_BGKD.item(n);
        }
        const auto row = static_cast<std::size_t>(t);
        keep_worst(worst, std::abs(k - (g + 1.0) * one["k"][row].get<double>()));
        keep_worst(worst, std::abs(v - (g + 1.0) * one["v"][row].get<double>()));
      }
    CHECK(worst < 1e-10);
  }
}

TEST_CASE("cache rounding: equal values, which have no step, stay") {
  Tensor k = Tensor::full({1, 1, 32, 4}, 0.3, DType::F64), v = k.clone();
  CacheRounding{.bits = 2}.round(k, v, 0, 32, 0);
  for (std::int64_t n = 0; n < k.size(); ++n) CHECK((k.item(n) == 0.3 && v.item(n) == 0.3));
}
