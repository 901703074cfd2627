// A cache that drops keys computes what plain loops compute that know only the kept ones.
#include <doctest/doctest.h>

#include <algorithm>

#include "eval/generate/sampling.h"
#include "eval/generate/streaming.h"
#include "tests/eval/plain_decoder.h"
#include "tests/support/check_refused.h"
#include "tests/support/keep_worst.h"

using namespace sink;
using namespace sink::test;

namespace {

constexpr std::int64_t V = 31, kTokens = 70;

// `context` bounds the tokens that the cache holds ahead of dropping them.
Sizes cache_sizes(std::int64_t context = 40) {
  Sizes sizes = small_sizes();
  sizes.heads = 4;
  sizes.kv_heads = 2;
  sizes.width = 32;
  sizes.context = context;
  return sizes;
}

std::vector<std::int32_t> some_ids() {
  const Tensor tokens = random_tokens(1, kTokens, V);
  return {tokens.data<std::int32_t>(), tokens.data<std::int32_t>() + kTokens};
}

// The logits after every token, (T, V), read in parts of at most `part` tokens.
Tensor all_logits(TokenReader& reader, std::span<const std::int32_t> ids, std::size_t part) {
  const auto T = static_cast<std::int64_t>(ids.size());
  Tensor all_TV;
  for (std::int64_t t = 0; t < T;) {
    const Tensor logits_1TV = reader.read_part(
        ids.subspan(static_cast<std::size_t>(t)).first(std::min(part, static_cast<std::size_t>(T - t))));
    if (t == 0) all_TV = Tensor::zeros({T, V}, logits_1TV.dtype());
    all_TV.slice(t * V, {logits_1TV.size()}).copy_from(logits_1TV.reshape({logits_1TV.size()}));
    t += logits_1TV.dim(1);
  }
  return all_TV;
}

double worst_against(PlainDecoder& plain, const Tensor& logits_TV, const std::vector<std::int32_t>& ids) {
  double worst = 0;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    const Vector expected = plain.read(ids[t]);
    for (std::size_t v = 0; v < expected.size(); ++v)
      keep_worst(worst, std::abs(logits_TV.item(static_cast<std::int64_t>(t) * V + static_cast<std::int64_t>(v)) -
                                 expected[v]));
  }
  return worst;
}

const std::vector<Eviction> kEvictions{{0, 4}, {3, 4}, {1, 12}, {6, 2}, {4, 30}};

}  // namespace

TEST_CASE("bounded cache: without eviction, the plain decoder") {
  auto model = make_model("baseline", cache_sizes(kTokens));
  PlainDecoder plain(*model);
  TokenReader reader(*model);
  CHECK(worst_against(plain, all_logits(reader, some_ids(), 7), some_ids()) < 1e-12);
}

TEST_CASE("bounded cache: first tokens and a window are what plain loops over the kept tokens compute") {
  for (const Eviction& eviction : kEvictions)
    for (std::int64_t context : {eviction.first + eviction.window, std::int64_t{40}}) {  // a row at a time, and ahead
      CAPTURE(eviction.name());
      CAPTURE(context);
      auto model = make_model("baseline", cache_sizes(context));
      PlainDecoder plain(*model);
      plain.positions_of_cache = true;
      plain.before = [&](PlainKeys& keys, std::int64_t) {
        if (static_cast<std::int64_t>(keys.size()) == eviction.first + eviction.window)
          keys.erase(keys.begin() + eviction.first);
      };
      TokenReader reader(*model, eviction);
      CHECK(worst_against(plain, all_logits(reader, some_ids(), 100), some_ids()) < 1e-12);
    }
}

TEST_CASE("bounded cache: layers with a window of their own see it in the cache") {
  Sizes sizes = cache_sizes();
  for (std::int64_t window : {3, 6, 20}) {
    sizes.window = window;
    for (const Eviction& eviction : kEvictions) {
      sizes.context = eviction.first + eviction.window;
      auto row_by_row = make_model("baseline", sizes);
      sizes.context = 40;
      auto ahead = make_model("baseline", sizes);
      TokenReader slow(*row_by_row, eviction), fast(*ahead, eviction);
      CHECK(relative_difference(all_logits(fast, some_ids(), 100), all_logits(slow, some_ids(), 1)) < 1e-13);
    }
  }
}

TEST_CASE("bounded cache: the same bits in parts of any length") {
  for (DType compute : {DType::F32, DType::F64})
    for (const Eviction& eviction : kEvictions) {
      CAPTURE(eviction.name());
      auto model = make_model("baseline", cache_sizes(), compute);
      TokenReader one(*model, eviction), five(*model, eviction), most(*model, eviction);
      const Tensor slow = all_logits(one, some_ids(), 1);
      CHECK(relative_difference(all_logits(five, some_ids(), 5), slow) == 0);
      CHECK(relative_difference(all_logits(most, some_ids(), 100), slow) == 0);
    }
}

TEST_CASE("bounded cache: it moves its rows once in many tokens") {
  auto model = make_model("baseline", cache_sizes());
  TokenReader reader(*model, {2, 8});
  std::int64_t moves = 0, before = 0;
  for (std::int32_t id : some_ids()) {
    reader.read({&id, 1});
    moves += reader.cache().length() <= before;
    before = reader.cache().length();
  }
  CHECK(moves == (kTokens - 10) / 31);  // the context has 40 - 10 + 1 rows more than are kept
}

TEST_CASE("bounded cache: heavy hitters are those that plain loops find, in every layer and head") {
  for (const Eviction& eviction : {Eviction{0, 4, 1}, Eviction{0, 1, 5}, Eviction{0, 6, 6}}) {
    CAPTURE(eviction.name());
    auto model = make_model("baseline", cache_sizes(kTokens));
    PlainDecoder plain(*model);
    plain.before = [&](PlainKeys& keys, std::int64_t i) {
      if (static_cast<std::int64_t>(keys.size()) < eviction.kept()) return;
      auto lightest = keys.end();
      for (auto key = keys.begin(); key != keys.end(); ++key)
        if (key->text <= i - eviction.window && (lightest == keys.end() || key->received < lightest->received))
          lightest = key;
      keys.erase(lightest);
    };
    TokenReader reader(*model, eviction);
    CHECK(worst_against(plain, all_logits(reader, some_ids(), 100), some_ids()) < 1e-12);
    CHECK(reader.cache().length() == eviction.kept());
    CHECK(reader.room() == 0);
  }
}

namespace {

// The same rounding of one group, from its formula.
void round_in_place(std::vector<double*> group, int bits) {
  double lo = INFINITY, hi = -INFINITY;
  for (double* x : group) {
    lo = std::min(lo, *x);
    hi = std::max(hi, *x);
  }
  const double levels = std::pow(2, bits) - 1;
  for (double* x : group) *x = hi > lo ? lo + std::round((*x - lo) / (hi - lo) * levels) * (hi - lo) / levels : *x;
}

// After token i of the text: rounds what `rounding` says, with D = 8, so that all channels are one group.
void round_keys(PlainKeys& keys, std::int64_t i, const CacheRounding& rounding) {
  auto exact = [&](const PlainKey& key) {
    return key.text < rounding.keep_first || std::ranges::count(rounding.keep, key.text) > 0;
  };
  for (std::size_t d = 0; (i + 1) % 32 == 0 && d < 8; ++d) {
    std::vector<double*> group;
    for (PlainKey& key : keys)
      if (key.text > i - 32 && !exact(key)) group.push_back(&key.k[d]);
    round_in_place(group, rounding.bits);
  }
  for (PlainKey& key : keys) {
    std::vector<double*> group;
    if ((i + 1) % 32 != 0 || key.text <= i - 32 || exact(key)) continue;
    for (double& x : key.v) group.push_back(&x);
    round_in_place(group, rounding.bits);
  }
}

}  // namespace

TEST_CASE("bounded cache: rounded keys and values enter what plain loops compute, with and without eviction") {
  const CacheRounding rounding{.bits = 3, .keep_first = 2, .keep = {5, 40}};
  for (const Eviction& eviction : {Eviction{}, Eviction{2, 33}, Eviction{0, 32}}) {
    CAPTURE(eviction.name());
    auto model = make_model("baseline", cache_sizes(kTokens));
    PlainDecoder plain(*model);
    plain.positions_of_cache = eviction.any();
    plain.rotated_before_kept = !eviction.any();
    plain.before = [&](PlainKeys& keys, std::int64_t) {
      if (eviction.any() && static_cast<std::int64_t>(keys.size()) == eviction.kept())
        keys.erase(keys.begin() + eviction.first);
    };
    plain.after = [&](PlainKeys& keys, std::int64_t i) { round_keys(keys, i, rounding); };
    TokenReader reader(*model, eviction, rounding);
    CHECK(worst_against(plain, all_logits(reader, some_ids(), 100), some_ids()) < 1e-12);
  }
}

TEST_CASE("bounded cache: what does not go together is refused") {
  auto model = make_model("baseline", cache_sizes());
  const CacheRounding kivi{.bits = 4}, token{.bits = 4, .scheme = CacheRounding::Scheme::token};
  check_refused(
      [&] {
        TokenReader(*model, {0, 20}, kivi);
      },
      {"at least 32", "window 20", "--kv-scheme token"}, Exit::usage);
  check_refused([&] { TokenReader(*model, {0, 20, 4}, kivi); }, {"without heavy hitters"}, Exit::usage);
  TokenReader(*model, {0, 20, 4}, token);
  check_refused([&] { TokenReader(*model, {0, 40, 4}); }, {"40 tokens", "heavy 4 + window 40"}, Exit::usage);
  if (is_built("pos_alibi"))
    check_refused([&] { TokenReader(*make_model("pos_alibi", cache_sizes()), {0, 20, 4}); }, {"rotary"}, Exit::usage);
}

TEST_CASE("stream: a rounded cache is compared with the exact one, by position") {
  auto model = make_model("baseline", cache_sizes(kTokens));
  const std::vector<CacheRounding> roundings{{.bits = 2}, {.bits = 2, .keep_first = 70}};
  const std::vector<StreamLoss> losses = stream_losses(*model, some_ids(), {}, roundings, 2, [](std::int64_t) {});
  REQUIRE(losses.size() == 3);
  TokenReader exact(*model), rounded(*model, {}, roundings[0]);
  const Tensor p_TV = all_logits(exact, some_ids(), 100), q_TV = all_logits(rounded, some_ids(), 100);
  for (std::int64_t part : {0, 1}) {
    double divergence = 0, same = 0;
    const std::int64_t begin = part * 35, end = part == 0 ? 35 : 69;
    for (std::int64_t t = begin; t < end; ++t) {
      std::int64_t top_p = 0, top_q = 0;
      for (std::int64_t v = 0; v < V; ++v) {
        const double p = log_probability(p_TV.slice(t * V, {V}), static_cast<std::int32_t>(v));
        divergence += std::exp(p) * (p - log_probability(q_TV.slice(t * V, {V}), static_cast<std::int32_t>(v)));
        if (p_TV.item(t * V + v) > p_TV.item(t * V + top_p)) top_p = v;
        if (q_TV.item(t * V + v) > q_TV.item(t * V + top_q)) top_q = v;
      }
      same += top_p == top_q;
    }
    const StreamStretch& found = losses[1].stretches.at(static_cast<std::size_t>(part));
    CHECK(found.divergence == doctest::Approx(divergence / static_cast<double>(end - begin)).epsilon(1e-9));
    CHECK(found.same_top == doctest::Approx(same / static_cast<double>(end - begin)));
  }
  CHECK(losses[1].stretches[1].divergence > 1e-6);
  CHECK(losses[2].all.divergence == doctest::Approx(0));  // all tokens stay exact
  CHECK(losses[2].all.loss == losses[0].all.loss);
}

TEST_CASE("stream: the mean of texts, and a picture with a line for each row") {
  auto model = make_model("baseline", cache_sizes(kTokens));
  const std::vector<std::int32_t> ids = some_ids();
  std::vector<std::vector<StreamLoss>> texts;
  for (std::size_t first : {0, 35})
    texts.push_back(stream_losses(*model, {ids.data() + first, 35}, {}, {{.bits = 2}}, 2, [](std::int64_t) {}));
  const std::vector<StreamLoss> mean = mean_of(texts);
  REQUIRE(mean.size() == 2);
  auto half = [](double a, double b) { return doctest::Approx((a + b) / 2); };
  CHECK(mean[0].all.loss == half(texts[0][0].all.loss, texts[1][0].all.loss));
  CHECK(mean[1].stretches[1].divergence ==
        half(texts[0][1].stretches[1].divergence, texts[1][1].stretches[1].divergence));
  CHECK(mean[1].stretches[1].divergence > 0);
  CHECK(mean[1].stretches[1].end == 34);
  const std::string picture = stream_svg(mean);
  CHECK(picture.find("kivi 2 bits") != std::string::npos);
  std::size_t lines = 0;
  for (std::size_t at = picture.find("<polyline"); at != std::string::npos; at = picture.find("<polyline", at + 1))
    ++lines;
  CHECK(lines == 2);
}
