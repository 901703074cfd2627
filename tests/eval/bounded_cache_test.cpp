// A cache that drops keys computes what plain loops compute that know only the kept ones.
#include <doctest/doctest.h>

#include <algorithm>

#include "eval/generate/token_reader.h"
#include "tests/eval/plain_decoder.h"
#include "tests/support/keep_worst.h"

using namespace sink;
using namespace sink::test;

namespace {

constexpr std::int64_t V = 31, kTokens = 60;

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
