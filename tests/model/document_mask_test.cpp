// A sequence of several documents in whole models: each has the results of a sequence with that document only.
#include <doctest/doctest.h>

#include "tests/model/model_support.h"
#include "tests/support/check_refused.h"
#include "tests/support/keep_worst.h"

using namespace sink;
using namespace sink::test;

namespace {

constexpr std::int64_t T = 13;

// Wide enough for every ablation with learned elements of a key.
Sizes wide_heads() {
  Sizes sizes = small_sizes();
  sizes.head_width = 64;
  return sizes;
}

const std::vector<Span> kDocuments{{0, 5}, {5, 6}, {6, T}};

DocumentPlaces places(bool positions) {
  DocumentPlaces documents{Tensor::empty({1, T}, DType::I32), positions ? Tensor::empty({1, T}, DType::I32) : Tensor()};
  for (Span document : kDocuments)
    for (std::int64_t t = document.begin; t < document.end; ++t) {
      documents.starts_BT.data<std::int32_t>()[t] = static_cast<std::int32_t>(document.begin);
      if (positions) documents.positions_BT.data<std::int32_t>()[t] = static_cast<std::int32_t>(t - document.begin);
    }
  return documents;
}

Tensor part_of(const Tensor& ids_1T, Span span) {
  Tensor part = Tensor::empty({1, span.end - span.begin}, DType::I32);
  std::copy_n(ids_1T.data<std::int32_t>() + span.begin, part.size(), part.data<std::int32_t>());
  return part;
}

Tensor losses_of(LanguageModel& model, const Batch& batch) {
  Tensor losses_BT;
  model.loss(batch, 1, {}, &losses_BT);
  return losses_BT;
}

}  // namespace

TEST_CASE("documents: every ablation predicts each as if it stood alone, with positions that begin anew") {
  for (const Ablation& ablation : all_ablations()) {
    CAPTURE(ablation.name);
    auto model = ablation.make_model(wide_heads(), InitScheme::torch, 5, DType::F64);
    Tensor tokens = random_tokens(1, T, 31), targets = random_tokens(1, T, 31, "targets");
    Batch packed(tokens, targets, 31, places(true));
    if (model->extra_tokens() > 0) {
      check_refused([&] { losses_of(*model, packed); }, {"--reset-positions", "a token of its own"}, Exit::usage);
      continue;
    }
    Tensor losses = losses_of(*model, packed);
    double worst = 0;
    for (Span span : kDocuments) {
      Tensor alone = losses_of(*model, Batch(part_of(tokens, span), part_of(targets, span), 31));
      for (std::int64_t t = span.begin; t < span.end; ++t)
        keep_worst(worst, std::abs(losses.item(t) - alone.item(t - span.begin)));
    }
    CHECK(worst < 1e-11);
  }
}

TEST_CASE("documents: tokens of another one change nothing, those of one's own do, wherever positions begin") {
  for (const Ablation& ablation : all_ablations()) {
    CAPTURE(ablation.name);
    auto model = ablation.make_model(wide_heads(), InitScheme::torch, 5, DType::F64);
    Tensor tokens = random_tokens(1, T, 31), targets = random_tokens(1, T, 31, "targets"), other = tokens.clone();
    other.data<std::int32_t>()[6] = (tokens.data<std::int32_t>()[6] + 1) % 31;
    Tensor losses = losses_of(*model, Batch(tokens, targets, 31, places(false)));
    Tensor changed = losses_of(*model, Batch(other, targets, 31, places(false)));
    for (std::int64_t t = 0; t < T; ++t) CHECK((losses.item(t) == changed.item(t)) == (t < 6));
    other = tokens.clone();
    other.data<std::int32_t>()[5] = (tokens.data<std::int32_t>()[5] + 1) % 31;
    changed = losses_of(*model, Batch(other, targets, 31, places(false)));
    for (std::int64_t t = 0; t < T; ++t) CHECK((losses.item(t) == changed.item(t)) == (t != 5));
  }
}

TEST_CASE("documents: without an extra key only learned and sinusoidal positions know whether they begin anew") {
  for (std::string name :
       {"baseline", "pos_nope", "pos_alibi", "pos_relative", "pos_t5", "pos_learnable", "pos_absolute", "bias_k"}) {
    if (!is_built(name)) continue;
    CAPTURE(name);
    auto model = make_model(name);
    Tensor tokens = random_tokens(1, T, 31);
    Batch through(tokens, tokens, 31, places(false)), anew(tokens, tokens, 31, places(true));
    double difference = relative_difference(losses_of(*model, through), losses_of(*model, anew));
    if (name == "pos_learnable" || name == "pos_absolute" || name == "bias_k")  // whose key is not rotated
      CHECK(difference > 1e-5);
    else
      CHECK(difference < 1e-11);
  }
}
