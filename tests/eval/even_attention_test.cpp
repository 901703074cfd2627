// alpha of even attention, compared with sums over the whole mask and with values by hand.
#include "eval/sink/even_attention.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace sink;

namespace {

// The definition: one row of weights after the other, one block after the other. alpha_1 is that of key k.
EvenAttention by_mask(const VisibleKeys& keys, std::int64_t k = 1) {
  double first = 0, extra = 0;
  for (std::int64_t layer = 1; layer <= keys.layers; ++layer)
    for (std::int64_t i = 1; i <= keys.T; ++i) {
      double visible = keys.extra_key ? 1 : 0;
      bool sees_k = false;
      for (std::int64_t j = 1; j <= keys.T; ++j) {
        const bool windowed = keys.window > 0 && !(keys.global_every > 0 && layer % keys.global_every == 0);
        const bool sees = (j <= i && (!windowed || i - j < keys.window)) || j <= keys.prefix;
        visible += sees;
        sees_k |= sees && j == k;
      }
      first += sees_k ? 1 / visible : 0;
      extra += 1 / visible;
    }
  const double L = static_cast<double>(keys.layers), T = static_cast<double>(keys.T);
  return {first / L / (T - static_cast<double>(k) + 1), keys.extra_key ? (1 + extra / L) / (T + 1) : NAN};
}

}  // namespace

TEST_CASE("even attention: values by hand") {
  CHECK(even_attention({.T = 64}).alpha_1 == doctest::Approx(0.0741228).epsilon(1e-6));  // harmonic number of 64, / 64
  CHECK(std::isnan(even_attention({.T = 64}).alpha_star));
  const EvenAttention extra = even_attention({.T = 3, .extra_key = true});
  CHECK(extra.alpha_1 == doctest::Approx((1 / 2.0 + 1 / 3.0 + 1 / 4.0) / 3).epsilon(1e-14));
  CHECK(extra.alpha_star == doctest::Approx((1 + 1 / 2.0 + 1 / 3.0 + 1 / 4.0) / 4).epsilon(1e-14));
  CHECK(even_attention({.T = 4, .window = 2}).alpha_1 == doctest::Approx((1 + 1 / 2.0) / 4).epsilon(1e-14));
  CHECK(even_attention({.T = 3, .prefix = 2}).alpha_1 ==
        doctest::Approx((1 / 2.0 + 1 / 2.0 + 1 / 3.0) / 3).epsilon(1e-14));
}

TEST_CASE("even attention: every window, prefix, block and extra key as the sum over the mask") {
  for (std::int64_t window : {0, 1, 3, 9, 100})
    for (std::int64_t prefix : {0, 1, 2, 7, 20})
      for (std::int64_t global_every : {0, 2})
        for (bool extra_key : {false, true}) {
          const VisibleKeys keys{10, 3, window, prefix, global_every, extra_key};
          CAPTURE(window);
          CAPTURE(prefix);
          CHECK(even_attention(keys).alpha_1 == doctest::Approx(by_mask(keys).alpha_1).epsilon(1e-14));
          for (std::int64_t k : {1, 2, 5, 10})
            CHECK(even_alpha(keys, k) == doctest::Approx(by_mask(keys, k).alpha_1).epsilon(1e-14));
          if (extra_key)
            CHECK(even_attention(keys).alpha_star == doctest::Approx(by_mask(keys).alpha_star).epsilon(1e-14));
        }
}
