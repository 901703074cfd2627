#include "eval/input_tokens.h"

#include "engine/check.h"
#include "engine/rng.h"
#include "engine/tensor_view.h"

namespace sink {
namespace {

// token(n, t) at every place; targets are the same sequence, one further.
template <class F>
Batch fill(std::int64_t vocabulary, std::int64_t N, std::int64_t T, std::int64_t ignored, F&& token) {
  Tensor tokens = Tensor::empty({N, T}, DType::I32), targets = Tensor::empty_like(tokens);
  auto tokens_NT = view<std::int32_t, 2>(tokens), targets_NT = view<std::int32_t, 2>(targets);
  for (std::int64_t n = 0; n < N; ++n)
    for (std::int64_t t = 0; t < T; ++t) {
      tokens_NT(n, t) = static_cast<std::int32_t>(token(n, t));
      targets_NT(n, t) = t < ignored ? -1 : static_cast<std::int32_t>(token(n, t + 1));
    }
  return {tokens, targets, vocabulary};
}

}  // namespace

Batch random_tokens(std::int64_t vocabulary, std::int64_t N, std::int64_t T, std::uint64_t seed, std::int64_t ignored) {
  Rng rng(seed, "random input");
  return fill(vocabulary, N, T, ignored, [&](std::int64_t n, std::int64_t t) {
    return rng.below(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(vocabulary),
                     static_cast<std::uint32_t>(t));
  });
}

Batch repeated_tokens(std::int64_t vocabulary, std::int64_t N, std::int64_t T, std::uint64_t seed,
                      std::int64_t ignored) {
  Rng rng(seed, "repeated input");
  return fill(vocabulary, N, T, ignored, [&](std::int64_t n, std::int64_t) {
    return rng.below(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(vocabulary));
  });
}

Batch given_tokens(const Tensor& tokens, std::int64_t vocabulary, std::int64_t prefix) {
  std::int64_t N = tokens.dim(0), T = tokens.dim(1);
  SINK_CHECK(
      T >= 2 && T > prefix, "tokens",
      "sequences have " + std::to_string(T) + " tokens, expected more than the " +
          (prefix > 1 ? "prefix of " + std::to_string(prefix) + ", whose tokens all see" : std::string("first")) +
          ": nothing is left to predict",
      Exit::bad_input);
  Tensor targets = Tensor::empty_like(tokens);
  auto tokens_NT = view<std::int32_t, 2>(tokens);
  auto targets_NT = view<std::int32_t, 2>(targets);
  for (std::int64_t n = 0; n < N; ++n)
    for (std::int64_t t = 0; t < T; ++t) targets_NT(n, t) = t < prefix - 1 || t + 1 == T ? -1 : tokens_NT(n, t + 1);
  return {tokens, targets, vocabulary};
}

}  // namespace sink
