#include "eval/input_tokens.h"

#include <algorithm>
#include <xtensor/xview.hpp>

#include "engine/check.h"
#include "engine/rng.h"
#include "engine/tensor_view.h"

namespace sink {
namespace {

// token(n, t) at every position; the targets are the tokens one position later.
template <class F>
Batch sampled(std::int64_t vocabulary, std::int64_t N, std::int64_t T, std::int64_t ignored, F&& token) {
  auto target = [&](std::int64_t n, std::int64_t t) -> std::int64_t {
    return t < ignored ? -1 : static_cast<std::int64_t>(token(n, t + 1));
  };
  return {Tensor::table<std::int32_t>(N, T, token), Tensor::table<std::int32_t>(N, T, target), vocabulary};
}

Batch chosen_rows(const Batch& all, const std::vector<std::int64_t>& rows) {
  auto of = [&](const Tensor& ids_NT) {
    auto id = view<std::int32_t, 2>(ids_NT);
    return Tensor::table<std::int32_t>(
        static_cast<std::int64_t>(rows.size()), all.context(),
        [&](std::int64_t n, std::int64_t t) { return id(rows[static_cast<std::size_t>(n)], t); });
  };
  return {of(all.tokens_BT()), of(all.targets_BT()), all.vocabulary()};
}

}  // namespace

Batch random_tokens(std::int64_t vocabulary, std::int64_t N, std::int64_t T, std::uint64_t seed, std::int64_t ignored) {
  Rng rng(seed, "random input");
  return sampled(vocabulary, N, T, ignored, [&](std::int64_t n, std::int64_t t) {
    return rng.below(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(vocabulary),
                     static_cast<std::uint32_t>(t));
  });
}

Batch repeated_tokens(std::int64_t vocabulary, std::int64_t N, std::int64_t T, std::uint64_t seed,
                      std::int64_t ignored) {
  Rng rng(seed, "repeated input");
  return sampled(vocabulary, N, T, ignored, [&](std::int64_t n, std::int64_t) {
    return rng.below(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(vocabulary));
  });
}

Batch without_targets(const Batch& sequences) {
  const Tensor& tokens_BT = sequences.tokens_BT();
  auto none = [](std::int64_t, std::int64_t) { return -1; };
  return {tokens_BT, Tensor::table<std::int32_t>(tokens_BT.dim(0), tokens_BT.dim(1), none), sequences.vocabulary(),
          sequences.documents()};
}

Batch given_tokens(const Tensor& tokens_NT, std::int64_t vocabulary, std::int64_t prefix, std::int64_t min_tokens) {
  const std::int64_t N = tokens_NT.dim(0), T = tokens_NT.dim(1);
  SINK_CHECK(
      T >= min_tokens && (T > prefix || (T == 1 && prefix <= 1)), "tokens",
      "sequences have " + std::to_string(T) + " tokens, expected more than the " +
          (prefix > 1 ? "prefix of " + std::to_string(prefix) + ", whose tokens all see" : std::string("first")) +
          ": nothing is left to predict",
      Exit::bad_input);
  const std::int32_t* tokens = tokens_NT.data<std::int32_t>();
  auto target = [&](std::int64_t n, std::int64_t t) {
    return t < prefix - 1 || t + 1 == T ? -1 : tokens[n * T + t + 1];
  };
  return {tokens_NT, Tensor::table<std::int32_t>(N, T, target), vocabulary};
}

std::vector<NamedInput> inputs_by_domain(const Batch& natural, const std::vector<std::string>& domains) {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> rows_of;
  for (std::size_t n = 0; n < domains.size(); ++n) {
    auto known = std::find_if(rows_of.begin(), rows_of.end(), [&](const auto& d) { return d.first == domains[n]; });
    if (known == rows_of.end()) known = rows_of.insert(known, {domains[n], {}});
    known->second.push_back(static_cast<std::int64_t>(n));
  }
  std::vector<NamedInput> inputs;
  if (rows_of.size() < 2) return inputs;
  for (const auto& [domain, rows] : rows_of)
    inputs.push_back({"natural/" + (domain.empty() ? "(none)" : domain), chosen_rows(natural, rows)});
  return inputs;
}

Batch with_first_token(const Batch& sequences, std::int32_t first) {
  Tensor tokens = sequences.tokens_BT().clone();
  auto tokens_NT = view<std::int32_t, 2>(tokens);
  xt::view(tokens_NT, xt::all(), 0) = first;
  return {tokens, sequences.targets_BT(), sequences.vocabulary()};
}

}  // namespace sink
