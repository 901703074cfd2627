// Text generation: the sampled tokens, the cache with eviction, and the printed text.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "eval/generate/continuation.h"
#include "eval/generate/streaming.h"
#include "tests/model/model_support.h"
#include "tests/support/check_refused.h"
#include "tests/support/keep_worst.h"

using namespace sink;
using namespace sink::test;

namespace {

constexpr std::int64_t V = 31;

Sizes one_block() {
  Sizes sizes = small_sizes();
  sizes.layers = 1;
  return sizes;
}

std::vector<std::int32_t> ids_of(const Tensor& tokens) {
  const std::int32_t* first = tokens.data<std::int32_t>();
  return {first, first + tokens.size()};
}
Tensor sequence(const std::vector<std::int32_t>& ids) {
  return Tensor::from<std::int32_t>({1, static_cast<std::int64_t>(ids.size())}, ids);
}

// Of the last token of a sequence that is read at once.
Tensor last_logits(LanguageModel& model, const std::vector<std::int32_t>& ids) {
  const Tensor all = model.logits(sequence(ids));
  return all.slice((static_cast<std::int64_t>(ids.size()) - 1) * V, {1, V});
}

double difference(const Tensor& x, const Tensor& y) {
  REQUIRE(x.size() == y.size());
  double worst = 0;
  for (std::int64_t n = 0; n < x.size(); ++n) keep_worst(worst, std::abs(x.item(n) - y.item(n)));
  return worst;
}

}  // namespace

TEST_CASE("sampling: at temperature 0 the largest, the first of equals") {
  const Tensor logits = Tensor::from<double>({4}, {1, 3, 3, 2});
  CHECK(Sampling{}.choose(logits, 0) == 1);
  CHECK(Sampling{}.choose(logits, 7) == 1);
  check_refused([] { Sampling{}.choose(Tensor::from<double>({2}, {1, NAN}), 0); }, {"NaN"}, Exit::diverged);
}

TEST_CASE("sampling: tokens come as often as softmax says, at any temperature, among the most likely alone") {
  const Tensor logits = Tensor::from<float>({4}, {0.0f, 1.0f, 2.0f, -1.0f});
  constexpr int kDraws = 40000;
  struct Expected {
    double temperature, top_p;
    std::vector<double> p;
  };
  const double e = std::exp(1.0), whole = 1 + e + e * e + 1 / e, r = std::exp(0.5);
  const std::vector<Expected> all{
      {1, 1, {1 / whole, e / whole, e * e / whole, 1 / e / whole}},
      {2, 1, {1 / (1 + r + e + 1 / r), r / (1 + r + e + 1 / r), e / (1 + r + e + 1 / r), 1 / r / (1 + r + e + 1 / r)}},
      {1, 0.8, {0, 1 / (1 + e), e / (1 + e), 0}},  // 0.64 + 0.24 reach it
      {1, 0.5, {0, 0, 1, 0}}};
  for (const Expected& expected : all) {
    const Sampling sampling{.temperature = expected.temperature, .top_p = expected.top_p, .seed = 3};
    std::vector<int> count(4);
    for (int n = 0; n < kDraws; ++n)
      ++count[static_cast<std::size_t>(sampling.choose(logits, static_cast<std::uint64_t>(n)))];
    for (std::size_t v = 0; v < 4; ++v) {
      const double p = expected.p[v], error = std::sqrt(p * (1 - p) / kDraws);
      CHECK(std::abs(count[v] / double(kDraws) - p) <= 4 * error);
    }
  }
}

TEST_CASE("sampling: a token is a function of the seed and its number") {
  const Tensor logits = Tensor::zeros({1000}, DType::F32);
  const Sampling one{.temperature = 1, .seed = 1}, other{.temperature = 1, .seed = 2};
  int same = 0;
  for (std::uint64_t n = 0; n < 50; ++n) {
    CHECK(one.choose(logits, n) == one.choose(logits, n));
    same += one.choose(logits, n) == other.choose(logits, n);
  }
  CHECK(same < 5);
}

TEST_CASE("log probability: logit less the logarithm of the sum") {
  const Tensor logits = Tensor::from<double>({3}, {1000, 1001, 1002});
  const double e = std::exp(1.0);
  CHECK(log_probability(logits, 2) == doctest::Approx(-std::log(1 + 1 / e + 1 / e / e)).epsilon(1e-13));
  CHECK(log_probability(logits, 0) == doctest::Approx(-2 - std::log(1 + 1 / e + 1 / e / e)).epsilon(1e-13));
}

TEST_CASE("text pieces: characters come once, and whole") {
  const Tokenizer tokenizer = Tokenizer::train({"aa"}, 258);  // bytes, and "aa"
  const std::string text = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z";
  TextPieces pieces(tokenizer);
  std::vector<std::string> given;
  for (std::int32_t id : tokenizer.encode(text)) given.push_back(pieces.add(id));
  CHECK(given ==
        std::vector<std::string>{"a", "", "\xc3\xa4", "", "", "\xe2\x82\xac", "", "", "", "\xf0\x9f\x98\x80", "z"});
  CHECK(pieces.rest().empty());
  TextPieces cut(tokenizer, tokenizer.encode("before"));
  CHECK(cut.add(tokenizer.encode("\xc3\xa4")[0]).empty());
  CHECK(cut.rest() == "\xc3");
}

TEST_CASE("reader: in parts as at once") {
  auto model = make_model("baseline");
  const std::vector<std::int32_t> ids = ids_of(random_tokens(1, 13, V));
  TokenReader reader(*model);
  CHECK(reader.room() == 13);
  reader.read({ids.data(), 5});
  reader.read({ids.data() + 5, 1});
  CHECK(reader.room() == 7);
  CHECK(difference(reader.read({ids.data() + 6, 7}), last_logits(*model, ids)) < 1e-12);
  check_refused([&] { reader.read({ids.data(), 1}); }, {"at most 0", "13", "--window"}, Exit::usage);
}

// In a model of one block, and none that tells absolute positions, a text of which a part was forgotten is the rest.
TEST_CASE("reader: forgets all but the first and the last tokens") {
  const std::vector<std::int32_t> ids = ids_of(random_tokens(1, 40, V));
  for (const char* name : {"baseline", "pos_alibi", "op_sigmoid_none"}) {
    if (!is_built(name)) continue;
    CAPTURE(name);
    auto model = make_model(name, one_block());
    for (const Eviction& eviction : {Eviction{0, 4}, Eviction{3, 4}, Eviction{1, 12}}) {
      TokenReader reader(*model, eviction);
      for (std::size_t t = 0; t < ids.size(); ++t) {
        const Tensor logits = reader.read({ids.data() + t, 1});
        const auto first = static_cast<std::size_t>(eviction.first), window = static_cast<std::size_t>(eviction.window);
        std::vector<std::int32_t> kept(ids.begin(), ids.begin() + static_cast<std::int64_t>(t) + 1);
        if (kept.size() > first + window) kept.erase(kept.begin() + eviction.first, kept.end() - eviction.window);
        CHECK(difference(logits, last_logits(*model, kept)) < 1e-12);
        CHECK(reader.cache().length() >= static_cast<std::int64_t>(kept.size()));
      }
      TokenReader at_once(*model, eviction);
      TokenReader one_by_one(*model, eviction);
      Tensor last;
      for (std::size_t t = 0; t < ids.size(); ++t) last = one_by_one.read({ids.data() + t, 1});
      CHECK(difference(at_once.read(ids), last) < 1e-12);
    }
  }
}

TEST_CASE("reader: a token that the model puts first is not forgotten") {
  if (!is_built("bias_sinktoken")) return;
  auto model = make_model("bias_sinktoken", one_block());
  const std::vector<std::int32_t> ids = ids_of(random_tokens(1, 20, V));
  TokenReader reader(*model, {0, 4});
  Tensor last;
  for (std::size_t t = 0; t < ids.size(); ++t) last = reader.read({ids.data() + t, 1});
  CHECK(difference(last, last_logits(*model, {ids.end() - 4, ids.end()})) < 1e-12);
}

TEST_CASE("continuation: at temperature 0 each token is the most likely one behind all before it") {
  auto model = make_model("baseline");
  const std::vector<std::int32_t> prompt{3, 1, 4, 1, 5};
  std::vector<std::int32_t> expected = prompt, seen;
  while (expected.size() < 11) expected.push_back(Sampling{}.choose(last_logits(*model, expected), 0));
  TokenReader reader(*model);
  auto see = [&](std::int32_t id) { seen.push_back(id); };
  const Continuation text = continue_text(reader, prompt, 6, {}, {}, see);
  CHECK(text.ids == std::vector<std::int32_t>(expected.begin() + 5, expected.end()));
  CHECK(seen == text.ids);
  CHECK(text.end == ContinuationEnd::tokens);

  TokenReader to_the_end(*model);
  const Continuation longest = continue_text(to_the_end, prompt, 100, {}, {}, [](std::int32_t) {});
  CHECK(longest.end == ContinuationEnd::context);
  CHECK(longest.ids.size() == 9);  // the thirteenth token is read, and one more follows

  TokenReader stopped(*model);
  const Continuation stop = continue_text(stopped, prompt, 100, {}, {text.ids[2]}, [](std::int32_t) {});
  const auto first =
      static_cast<std::size_t>(std::find(text.ids.begin(), text.ids.end(), text.ids[2]) - text.ids.begin());
  CHECK(stop.end == ContinuationEnd::stop_token);
  CHECK(stop.ids.size() == first);
  CHECK(stop.stop_token == text.ids[2]);
}

TEST_CASE("stream: where all is kept, the loss of the text; in stretches") {
  auto model = make_model("baseline");
  const std::vector<std::int32_t> ids = ids_of(random_tokens(1, 13, V));
  const Tensor logits = model->logits(sequence(ids));
  std::vector<double> expected;
  for (std::int64_t t = 0; t < 12; ++t)
    expected.push_back(-log_probability(logits.slice(t * V, {V}), ids[static_cast<std::size_t>(t) + 1]));
  std::int64_t told = 0;
  const StreamLoss loss = stream_losses(*model, ids, {}, {}, 5, [&](std::int64_t n) { told = n; }).at(0);
  CHECK(told == 13);
  REQUIRE(loss.stretches.size() == 4);  // of 3, 3, 3 and 3
  double all = 0;
  for (std::size_t n = 0; n < 4; ++n) {
    CHECK(loss.stretches[n].begin == static_cast<std::int64_t>(3 * n));
    CHECK(loss.stretches[n].end == static_cast<std::int64_t>(3 * n + 3));
    const double mean = (expected[3 * n] + expected[3 * n + 1] + expected[3 * n + 2]) / 3;
    CHECK(loss.stretches[n].loss == doctest::Approx(mean).epsilon(1e-12));
    all += mean / 4;
  }
  CHECK(loss.all.loss == doctest::Approx(all).epsilon(1e-12));
  check_refused(
      [&] {
        stream_losses(*model, {ids.data(), 1}, {}, {}, 5, [](std::int64_t) {});
      },
      {"two tokens", "1"}, Exit::usage);
  const auto json = nlohmann::json::parse(stream_json("m.h5", "baseline", 13, 13, {loss}));
  CHECK(json["policies"][0]["kept"] == "all");
  CHECK(json["policies"][0]["perplexity"].get<double>() == doctest::Approx(std::exp(all)).epsilon(1e-12));
  CHECK(stream_table({loss}).find("all") != std::string::npos);
}

TEST_CASE("stream: what is kept, as people write it") {
  CHECK_FALSE(eviction_named("all").any());
  CHECK(eviction_named("60").name() == "window 60");
  CHECK(eviction_named("4+60").name() == "first 4 + window 60");
  CHECK(eviction_named("h4+60").name() == "heavy 4 + window 60");
  for (const char* wrong :
       {"", "+", "h60", "h0+4", "h+4", "4+h4", "4+", "+4", "4+0", "0", "-1", "4 + 60", "1e3", "9999999999", "window"})
    check_refused([&] { eviction_named(wrong); }, {"4+1020", std::string("`") + wrong + "`"}, Exit::usage);
  auto model = make_model("baseline");
  check_refused([&] { TokenReader(*model, {4, 10}); }, {"13", "first 4 + window 10"}, Exit::usage);
}
