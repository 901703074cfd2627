#include "eval/input_tokens.h"

#include <algorithm>

#include "engine/check.h"
#include "engine/rng.h"

namespace sink {
namespace {

// token(n, t) at every place; targets are the same sequence, one further.
template <class F>
InputTokens fill(std::int64_t N, std::int64_t T, std::int64_t ignored, F&& token) {
  InputTokens input{Tensor::empty({N, T}, DType::I32), Tensor::empty({N, T}, DType::I32)};
  auto *tokens = input.tokens_NT.data<std::int32_t>(), *targets = input.targets_NT.data<std::int32_t>();
  for (std::int64_t n = 0; n < N; ++n)
    for (std::int64_t t = 0; t < T; ++t) {
      tokens[n * T + t] = static_cast<std::int32_t>(token(n, t));
      targets[n * T + t] = t < ignored ? -1 : static_cast<std::int32_t>(token(n, t + 1));
    }
  return input;
}

}  // namespace

InputTokens random_tokens(std::int64_t vocabulary, std::int64_t N, std::int64_t T, std::uint64_t seed,
                          std::int64_t ignored) {
  Rng rng(seed, "random input");
  return fill(N, T, ignored, [&](std::int64_t n, std::int64_t t) {
    return rng.below(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(vocabulary),
                     static_cast<std::uint32_t>(t));
  });
}

InputTokens repeated_tokens(std::int64_t vocabulary, std::int64_t N, std::int64_t T, std::uint64_t seed,
                            std::int64_t ignored) {
  Rng rng(seed, "repeated input");
  return fill(N, T, ignored, [&](std::int64_t n, std::int64_t) {
    return rng.below(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(vocabulary));
  });
}

InputTokens given_tokens(const Tensor& tokens_NT, std::int64_t prefix) {
  std::int64_t N = tokens_NT.dim(0), T = tokens_NT.dim(1);
  SINK_CHECK(
      T >= 2 && T > prefix, "tokens",
      "sequences have " + std::to_string(T) + " tokens, expected more than the " +
          (prefix > 1 ? "prefix of " + std::to_string(prefix) + ", whose tokens all see" : std::string("first")) +
          ": nothing is left to predict",
      Exit::bad_input);
  Tensor targets_NT = tokens_NT.clone();
  for (std::int64_t n = 0; n < N; ++n) {
    std::int32_t* row = targets_NT.data<std::int32_t>() + n * T;
    std::copy(row + 1, row + T, row);
    row[T - 1] = -1;
    std::fill_n(row, std::max<std::int64_t>(0, prefix - 1), -1);
  }
  return {tokens_NT, targets_NT};
}

}  // namespace sink
