// Reading part by part with a key-value cache gives the results of reading at once.
#include "model/key_value_cache.h"

#include <doctest/doctest.h>

#include "tests/model/model_support.h"
#include "tests/support/check_refused.h"
#include "tests/support/keep_worst.h"

using namespace sink;
using namespace sink::test;

namespace {

constexpr std::int64_t T = 13, V = 31;
const std::vector<std::int64_t> kParts{5, 1, 1, 4, 2};

Sizes cached_sizes(std::int64_t window = 0, std::int64_t prefix = 0) {
  Sizes sizes = small_sizes();
  sizes.head_width = 64;  // wide enough for every ablation that learns elements of a key
  sizes.window = window;
  sizes.prefix = prefix;
  return sizes;
}

KeyValueCache cache_for(const LanguageModel& model,
                        KeyValueCache::Positions positions = KeyValueCache::Positions::of_text) {
  return KeyValueCache(model.sizes().context + model.extra_tokens(), positions);
}

Tensor columns(const Tensor& ids_BT, std::int64_t begin, std::int64_t end) {
  return Tensor::table<std::int32_t>(ids_BT.dim(0), end - begin, [&](std::int64_t b, std::int64_t t) {
    return ids_BT.data<std::int32_t>()[b * ids_BT.dim(1) + begin + t];
  });
}

// Largest difference of logits from those at once, over their largest.
double part_by_part(LanguageModel& model, const Tensor& tokens_BT, KeyValueCache& cache) {
  Tensor at_once = model.logits(tokens_BT);
  double worst = 0, largest = 0;
  std::int64_t begin = 0;
  for (std::int64_t n : kParts) {
    Tensor part = model.logits(columns(tokens_BT, begin, begin + n), {.cache = &cache});
    for (std::int64_t b = 0; b < part.dim(0); ++b)
      for (std::int64_t t = 0; t < n; ++t)
        for (std::int64_t id = 0; id < V; ++id) {
          double expected = at_once.item((b * T + begin + t) * V + id);
          largest = std::max(largest, std::abs(expected));
          keep_worst(worst, std::abs(part.item((b * n + t) * V + id) - expected));
        }
    begin += n;
    CHECK(cache.length() == begin + model.extra_tokens());
  }
  return worst / largest;
}

double part_by_part(const Ablation& ablation, const Sizes& sizes, DType compute,
                    KeyValueCache::Positions positions = KeyValueCache::Positions::of_text) {
  auto model = ablation.make_model(sizes, InitScheme::torch, 5, compute);
  KeyValueCache cache = cache_for(*model, positions);
  return part_by_part(*model, random_tokens(2, T, V), cache);
}

}  // namespace

TEST_CASE("key and value cache: every ablation predicts part by part what it predicts at once") {
  for (const Ablation& ablation : all_ablations()) {
    CAPTURE(ablation.name);
    CHECK(part_by_part(ablation, cached_sizes(), DType::F64) < 1e-12);
    CHECK(part_by_part(ablation, cached_sizes(), DType::F32) < 1e-5);
    CHECK(part_by_part(ablation, cached_sizes(4), DType::F64) < 1e-12);
    CHECK(part_by_part(ablation, cached_sizes(0, 3), DType::F64) < 1e-12);
    CHECK(part_by_part(ablation, cached_sizes(), DType::F64, KeyValueCache::Positions::of_cache) < 1e-12);
  }
  Sizes sizes = cached_sizes();
  sizes.no_rope_every = 2;
  for (auto positions : {KeyValueCache::Positions::of_text, KeyValueCache::Positions::of_cache})
    CHECK(part_by_part(ablation_named("baseline"), sizes, DType::F64, positions) < 1e-12);
}

TEST_CASE("key and value cache: a gated delta rule keeps its state, from which no token can be dropped") {
  if (!is_built("qwen3_5")) return;
  Sizes sizes = cached_sizes();
  sizes.layers = 4, sizes.attention_every = 2, sizes.convolution = 6;  // longer than some parts
  for (auto positions : {KeyValueCache::Positions::of_text, KeyValueCache::Positions::of_cache}) {
    CHECK(part_by_part(ablation_named("qwen3_5"), sizes, DType::F64, positions) < 1e-12);
    CHECK(part_by_part(ablation_named("qwen3_5"), sizes, DType::F32, positions) < 1e-5);
  }
  const auto model = ablation_named("qwen3_5").make_model(sizes, InitScheme::torch, 5, DType::F32);
  KeyValueCache cache = cache_for(*model, KeyValueCache::Positions::of_cache);
  model->logits(random_tokens(1, T, V), {.cache = &cache});
  check_refused([&] { cache.drop(2, 6); }, {"layers without attention keep a state of all tokens"}, Exit::usage);
  CHECK(cache.bytes() > 0);
}

TEST_CASE("key and value cache: the logits behind the last token are the last of all") {
  auto model = make_model("baseline");
  Tensor tokens = random_tokens(2, T, V), all = model->logits(tokens), next = model->next_logits(tokens);
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t id = 0; id < V; ++id)
      CHECK(next.item(b * V + id) == doctest::Approx(all.item((b * T + T - 1) * V + id)).epsilon(1e-12));
}

// In a model of one block a key depends only on its token: dropping tokens equals not reading them, except for their
// positions.
TEST_CASE("key and value cache: what was dropped has never been, where positions are those of the cache") {
  Sizes sizes = cached_sizes();
  sizes.layers = 1;
  Tensor tokens = random_tokens(1, T, V), without = Tensor::empty({1, T - 4}, DType::I32);
  for (std::int64_t t = 0, n = 0; t < T; ++t)
    if (t < 2 || t >= 6) without.data<std::int32_t>()[n++] = tokens.data<std::int32_t>()[t];
  for (const char* name : {"baseline", "pos_nope", "pos_alibi", "pos_t5", "bias_k", "op_sigmoid_none", "kern_elu_norm",
                           "qk_norm", "llama3"}) {
    if (!is_built(name)) continue;
    CAPTURE(name);
    auto model = make_model(name, sizes);
    KeyValueCache cache = cache_for(*model, KeyValueCache::Positions::of_cache);
    model->logits(columns(tokens, 0, 9), {.cache = &cache});
    cache.drop(2, 6);
    CHECK(cache.length() == 5);
    Tensor later = model->logits(columns(tokens, 9, T), {.cache = &cache}), expected = model->logits(without);
    double worst = 0;
    for (std::int64_t n = 0; n < later.size(); ++n)
      keep_worst(worst, std::abs(later.item(n) - expected.item((without.dim(1) - 4) * V + n)));
    CHECK(worst < 1e-12);
  }
}

TEST_CASE("key and value cache: the last tokens can be taken back") {
  auto model = make_model("baseline", cached_sizes());
  Tensor tokens = random_tokens(1, T, V);
  KeyValueCache cache = cache_for(*model);
  model->logits(columns(tokens, 0, 9), {.cache = &cache});
  cache.drop(5, 9);
  CHECK(part_by_part(*model, tokens, *std::make_unique<KeyValueCache>(cache_for(*model))) < 1e-12);
  Tensor again = model->logits(columns(tokens, 5, T), {.cache = &cache}), expected = model->logits(tokens);
  double worst = 0;
  for (std::int64_t n = 0; n < again.size(); ++n) keep_worst(worst, std::abs(again.item(n) - expected.item(5 * V + n)));
  CHECK(worst < 1e-12);
}

TEST_CASE("key and value cache: what cannot be is refused") {
  auto model = make_model("baseline", cached_sizes());
  Tensor tokens = random_tokens(1, T, V);
  KeyValueCache cache = cache_for(*model);
  model->logits(columns(tokens, 0, 9), {.cache = &cache});
  check_refused([&] { model->logits(columns(tokens, 0, 5), {.cache = &cache}); }, {"13", "after 9"}, Exit::bad_input);
  check_refused([&] { cache.drop(2, 6); }, {"positions of the text", "last ones"}, Exit::usage);
  check_refused([&] { cache.drop(2, 10); }, {"[2, 10)", "9"});
  check_refused([&] { model->logits(random_tokens(2, 2, V), {.cache = &cache}); }, {"1 sequences", "2"});
  auto prefix = make_model("baseline", cached_sizes(0, 4));
  KeyValueCache of_prefix = cache_for(*prefix);
  check_refused([&] { prefix->logits(columns(tokens, 0, 2), {.cache = &of_prefix}); }, {"prefix", "at once", "2"},
                Exit::usage);
  if (!is_built("bias_sinktoken")) return;
  auto token = make_model("bias_sinktoken", cached_sizes(0, 4));  // its own token comes before the prefix
  KeyValueCache of_token = cache_for(*token);
  check_refused([&] { token->logits(columns(tokens, 0, 3), {.cache = &of_token}); }, {"prefix", "at once", "got 3"},
                Exit::usage);
  token->logits(columns(tokens, 0, 4), {.cache = &of_token});
}
