// Interventions on learned positions: the position vectors and the embeddings with them.
#include "eval/interventions/position_intervention.h"

#include <doctest/doctest.h>

#include <array>

#include "engine/tensor_view.h"
#include "eval/input_tokens.h"
#include "tests/support/built_ablations.h"
#include "tests/support/check_refused.h"

using namespace sink;

namespace {

constexpr std::int64_t kT = 12, kC = 16;

// h_0, of one sequence.
struct EmbeddingHooks final : HiddenStateHooks {
  Tensor embedded_TC;
  void hidden_state(std::int64_t l, const Tensor& h_BTC) override {
    if (l == 0) embedded_TC = h_BTC.clone().reshape({kT, kC});
  }
};

std::unique_ptr<LanguageModel> model_of(const char* ablation) {
  const Sizes sizes{.layers = 1, .heads = 2, .width = kC, .feed_forward = 16, .context = kT, .vocabulary = 23};
  return ablation_named(ablation).make_model(sizes, InitScheme::torch, 3, DType::F64);
}

// For each place the position of the unedited model whose h_0, the token being the same, is this one; 0: none.
std::vector<std::int64_t> positions_seen(LanguageModel& model, LanguageModel& plain) {
  const Batch repeated = repeated_tokens(23, 1, kT, 5);
  EmbeddingHooks edited, original;
  model.loss(repeated, 1, {.hooks = &edited});
  plain.loss(repeated, 1, {.hooks = &original});
  auto a_TC = view<double, 2>(edited.embedded_TC), b_TC = view<double, 2>(original.embedded_TC);
  std::vector<std::int64_t> seen;
  for (std::int64_t t = 0; t < kT; ++t) {
    std::int64_t from = 0;  // position of the plain model with the same vector, from 1
    for (std::int64_t s = 0; s < kT; ++s) {
      bool same = true;
      for (std::int64_t c = 0; c < kC; ++c) same = same && a_TC(t, c) == b_TC(s, c);
      if (same) from = s + 1;
    }
    seen.push_back(from);
  }
  return seen;
}

}  // namespace

TEST_CASE("position edits: with one token repeated, places look like those whose vectors they have") {
  auto plain = model_of("pos_learnable");
  using Places = std::vector<std::int64_t>;
  auto after = [&](std::initializer_list<const char*> edits) {
    auto model = model_of("pos_learnable");
    for (const char* edit : edits) apply_to_positions(*model, position_intervention(edit));
    return positions_seen(*model, *plain);
  };
  CHECK(after({}) == Places{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(after({"swap:5"}) == Places{5, 2, 3, 4, 1, 6, 7, 8, 9, 10, 11, 12});
  CHECK(after({"swap:5", "swap:5"}) == after({}));
  CHECK(after({"swap:12", "swap:5"}) == Places{5, 2, 3, 4, 12, 6, 7, 8, 9, 10, 11, 1});
  // Places 1 and 5 are alike then: the later one is found.
  CHECK(after({"replace:5"}) == Places{5, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(after({"replace:5", "replace:2"}) == Places{2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
}

TEST_CASE("position edits: what cannot be edited is refused") {
  for (const char* text :
       {"", "swap", "swap:", ":5", "swap:1", "swap:-3", "replace:5x", "move:5", "swap:99999999999999999999"})
    check_refused([&] { position_intervention(text); }, {"replace:T or swap:T"}, Exit::usage);
  CHECK(position_intervention("swap:30").swap);
  CHECK(position_intervention("replace:30").t == 30);
  auto learned = model_of("pos_learnable"), rotary = model_of("baseline");
  check_refused([&] { apply_to_positions(*learned, position_intervention("swap:13")); }, {"12 positions of the model"},
                Exit::usage);
  check_refused([&] { apply_to_positions(*rotary, position_intervention("swap:2")); }, {"has none"}, Exit::usage);
}
