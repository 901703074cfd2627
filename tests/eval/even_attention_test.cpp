// alpha of even attention, compared with sums over the whole mask and with values by hand.
#include "eval/sink/even_attention.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace sink;

namespace {

// The definition, with positions that count from 1: sink tokens first, then the T others. One row of weights after the
// other, one block after the other. alpha_1 is that of key k.
EvenAttention by_mask(const VisibleKeys& keys, std::int64_t k = 1) {
  const std::int64_t X = keys.extra_tokens, P = X + keys.T;
  const auto document = [&](std::int64_t i) { return keys.document_starts[i - X - 1]; };
  const double L = static_cast<double>(keys.layers);
  EvenAttention even{0, keys.extra_key || X > 0 ? 0 : NAN};
  for (std::int64_t layer = 1; layer <= keys.layers; ++layer) {
    double on_k = 0, rows_of_k = 0, on_star = keys.extra_key ? 1 : 0, rows_of_star = on_star;  // its own row
    for (std::int64_t i = 1; i <= P; ++i) {
      double visible = keys.extra_key ? 1 : 0;
      bool sees_k = false, sees_star = keys.extra_key;
      for (std::int64_t j = 1; j <= P; ++j) {
        const bool windowed = keys.window > 0 && layer > keys.global_layers;
        bool sees = j <= i && (!windowed || i - j < keys.window);
        if (keys.document_starts)
          sees = j <= X || (sees && i > X && document(i) == document(j));
        else
          sees |= keys.prefix > 0 && j <= X + keys.prefix;
        visible += sees;
        sees_k |= sees && j == X + k;
        sees_star |= sees && j <= X;
      }
      on_k += sees_k ? 1 / visible : 0;
      on_star += sees_star ? 1 / visible : 0;
      rows_of_k += sees_k;
      rows_of_star += sees_star;
    }
    even.alpha_1 += on_k / rows_of_k / L;
    even.alpha_star += on_star / rows_of_star / L;
  }
  return even;
}

}  // namespace

TEST_CASE("even attention: values by hand") {
  CHECK(even_attention({.T = 64}).alpha_1 == doctest::Approx(0.0741228).epsilon(1e-6));  // harmonic number of 64, / 64
  CHECK(std::isnan(even_attention({.T = 64}).alpha_star));
  const EvenAttention extra = even_attention({.T = 3, .extra_key = true});
  CHECK(extra.alpha_1 == doctest::Approx((1 / 2.0 + 1 / 3.0 + 1 / 4.0) / 3).epsilon(1e-14));
  CHECK(extra.alpha_star == doctest::Approx((1 + 1 / 2.0 + 1 / 3.0 + 1 / 4.0) / 4).epsilon(1e-14));
  CHECK(even_attention({.T = 4, .window = 2}).alpha_1 == doctest::Approx((1 + 1 / 2.0) / 2).epsilon(1e-14));
  CHECK(even_alpha({.T = 4, .window = 2}, 2) == doctest::Approx(1 / 2.0).epsilon(1e-14));
  CHECK(even_alpha({.T = 4, .window = 2}, 4) == doctest::Approx(1 / 2.0).epsilon(1e-14));  // its own row alone
  CHECK(even_alpha({.T = 3, .prefix = 2}, 2) == doctest::Approx((1 / 2.0 + 1 / 2.0 + 1 / 3.0) / 3).epsilon(1e-14));
  CHECK(even_attention({.T = 3, .prefix = 2}).alpha_1 ==
        doctest::Approx((1 / 2.0 + 1 / 2.0 + 1 / 3.0) / 3).epsilon(1e-14));
}

TEST_CASE("even attention: every window, prefix, block, extra key and sink token as the sum over the mask") {
  constexpr std::int32_t kStarts[] = {0, 0, 0, 3, 4, 4, 4, 4, 8, 8};
  for (std::int64_t window : {0, 1, 3, 9, 100})
    for (std::int64_t prefix : {0, 1, 2, 7, 20})
      for (std::int64_t global_layers : {0, 1, 3})
        for (const std::int32_t* starts : {(const std::int32_t*)nullptr, prefix > 0 ? nullptr : kStarts})
          for (int extra : {0, 1, 2}) {
            const VisibleKeys keys{10, 3, window, prefix, global_layers, extra == 1, extra == 2 ? 1 : 0, starts};
            CAPTURE(window);
            CAPTURE(prefix);
            CAPTURE(extra);
            for (std::int64_t k : {1, 2, 5, 10})
              CHECK(even_alpha(keys, k) == doctest::Approx(by_mask(keys, k).alpha_1).epsilon(1e-14));
            CHECK(even_attention(keys).alpha_1 == doctest::Approx(by_mask(keys).alpha_1).epsilon(1e-14));
            if (extra > 0)
              CHECK(even_attention(keys).alpha_star == doctest::Approx(by_mask(keys).alpha_star).epsilon(1e-14));
          }
}

TEST_CASE("even attention: as older programs divided, by T - k + 1 in every block") {
  const VisibleKeys keys{.T = 4, .window = 2, .by_all_rows = true};
  CHECK(even_attention(keys).alpha_1 == doctest::Approx((1 + 1 / 2.0) / 4).epsilon(1e-14));
  CHECK(even_alpha(keys, 3) == doctest::Approx((1 / 2.0 + 1 / 2.0) / 2).epsilon(1e-14));
  const VisibleKeys token{.T = 3, .window = 2, .extra_tokens = 1, .by_all_rows = true};
  CHECK(even_attention(token).alpha_star == doctest::Approx((1 + 1 / 2.0) / 4).epsilon(1e-14));
}

// Rows 0 and 1 see the sink token, rows 2 and 3 do not.
TEST_CASE("even attention: a sink token under a window, by hand") {
  const EvenAttention even = even_attention({.T = 3, .window = 2, .extra_tokens = 1});
  CHECK(even.alpha_star == doctest::Approx((1 + 1 / 2.0) / 2).epsilon(1e-14));
  CHECK(even.alpha_1 == doctest::Approx((1 / 2.0 + 1 / 2.0) / 2).epsilon(1e-14));
}
