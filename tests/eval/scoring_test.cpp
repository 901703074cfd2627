// Log-probabilities of continuations, their tokenisation, and the accuracy of choices.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/io/bounded_json.h"
#include "engine/io/utf8.h"
#include "eval/score/accuracy.h"
#include "eval/score/continuation_score.h"
#include "eval/score/scored_item.h"
#include "tests/model/model_support.h"
#include "tests/support/check_refused.h"
#include "tests/support/files.h"

using namespace sink;
using namespace sink::test;

namespace {

std::vector<std::int32_t> some_ids(std::int64_t count, const char* stream) {
  const Tensor ids = random_tokens(1, count, small_sizes().vocabulary, stream);
  return {ids.data<std::int32_t>(), ids.data<std::int32_t>() + count};
}

// By the whole map of logits, of all tokens at once.
ContinuationScore by_softmax(LanguageModel& model, const ContinuationTokens& tokens) {
  const auto count = static_cast<std::int64_t>(tokens.ids.size()), V = model.sizes().vocabulary;
  const std::vector<std::int32_t> read(tokens.ids.begin(), tokens.ids.end() - 1);
  const Tensor logits_1TV = model.logits(Tensor::from<std::int32_t>({1, count - 1}, read));
  ContinuationScore score;
  for (std::int64_t t = count - static_cast<std::int64_t>(tokens.scored); t < count; ++t) {
    double sum = 0;
    std::int64_t best = 0;
    auto logit = [&](std::int64_t v) { return logits_1TV.item((t - 1) * V + v); };
    for (std::int64_t v = 0; v < V; ++v) {
      sum += std::exp(logit(v));
      if (logit(v) > logit(best)) best = v;
    }
    const std::int32_t id = tokens.ids[static_cast<std::size_t>(t)];
    score.logprobs.push_back(logit(id) - std::log(sum));
    score.greedy.push_back(best == id);
  }
  return score;
}

PairEncoder bytes_with(const Tokenizer& tokenizer, std::vector<std::int32_t> begin, std::int64_t longest) {
  return {.tokenizer = tokenizer, .begin = std::move(begin), .prefix = tokenizer.end_of_text(), .longest = longest};
}

}  // namespace

TEST_CASE("score: what several continuations have in common is read once, and is as if each were read alone") {
  for (const char* name : {"baseline", "pos_learnable", "op_sigmoid_none", "bias_k", "bias_sinktoken"})
    for (const std::int64_t prefix : {0, 3}) {
      if (!is_built(name)) continue;
      Sizes sizes = small_sizes();
      sizes.prefix = prefix;
      auto model = make_model(name, sizes);
      const std::vector<std::int32_t> context = some_ids(8, "context"), other = some_ids(9, "other");
      std::vector<ContinuationTokens> all;
      for (const std::size_t kept : {8u, 4u, 8u, 6u}) {
        std::vector<std::int32_t> ids(context.begin(), context.begin() + static_cast<std::ptrdiff_t>(kept));
        for (const std::int32_t id : some_ids(4, kept == 6 ? "c" : kept == 4 ? "a" : "b")) ids.push_back(id);
        all.push_back({ids, 4});
        all.push_back({ids, 1});
      }
      all.push_back({other, 2});
      all.push_back({context, 3});
      std::vector<std::int32_t> greedy = context;  // so that a most likely token is among them
      const Tensor logits = model->logits(Tensor::from<std::int32_t>({1, 8}, context));
      std::int32_t best = 0;
      for (std::int32_t v = 0; v < 31; ++v) best = logits.item(7 * 31 + v) > logits.item(7 * 31 + best) ? v : best;
      greedy.push_back(best);
      all.push_back({greedy, 1});
      const std::vector<ContinuationScore> scores = score_continuations(*model, all);
      REQUIRE(scores.size() == all.size());
      for (std::size_t i = 0; i < all.size(); ++i) {
        const ContinuationScore expected = by_softmax(*model, all[i]);
        REQUIRE(scores[i].logprobs.size() == all[i].scored);
        for (std::size_t t = 0; t < all[i].scored; ++t)
          CHECK(scores[i].logprobs[t] == doctest::Approx(expected.logprobs[t]).epsilon(1e-10));
        CHECK(scores[i].greedy == expected.greedy);
      }
      CHECK(scores.back().all_greedy());
      CHECK(scores[0].sum() == doctest::Approx(scores[0].logprobs[0] + scores[0].logprobs[1] + scores[0].logprobs[2] +
                                               scores[0].logprobs[3]));
    }
}

TEST_CASE("score: nothing is scored among the tokens that see each other, or that the model does not have") {
  Sizes sizes = small_sizes();
  sizes.prefix = 3;
  auto model = make_model("baseline", sizes);
  check_refused([&] { score_continuations(*model, {{{1, 2, 3, 4}, 2}}); }, {"3 tokens", "got 2"}, Exit::bad_input);
  check_refused([&] { score_continuations(*model, {{{1, 2, 3, 31}, 1}}); }, {"31"}, Exit::bad_input);
}

TEST_CASE("score: pairs become tokens as in lm-evaluation-harness") {
  const Tokenizer bytes = Tokenizer::train({"x"}, 258);  // a token for each byte
  EncodeCache cache;
  auto encoded = [&](const PairEncoder& encode, const ScorePair& pair) {
    const std::vector<ContinuationTokens> parts = encode(pair, cache);
    REQUIRE(parts.size() == 1);
    return parts[0];
  };
  auto text_of = [&](const ContinuationTokens& tokens) { return bytes.decode(tokens.ids); };
  const PairEncoder plain = bytes_with(bytes, {}, 100), begun = bytes_with(bytes, {bytes.end_of_text()}, 100);

  CHECK(encoded(plain, {"ab", " cd"}).ids == bytes.encode("ab cd"));
  CHECK(encoded(plain, {"ab", " cd"}).scored == 3);
  CHECK(encoded(plain, {"ab \n", "cd"}).scored == 4);  // white space goes to the continuation
  CHECK(encoded(plain, {"ab\u3000", "cd"}).scored == 5);
  CHECK(encoded(plain, {"ab", "cd "}).scored == 3);
  CHECK(text_of(encoded(begun, {"ab", "cd"})) == "<|endoftext|>abcd");
  CHECK(encoded(begun, {"ab", "cd"}).scored == 2);
  for (const PairEncoder& encode : {plain, begun}) {
    CHECK(text_of(encoded(encode, {"", "cd"})) == "<|endoftext|>cd");
    CHECK(encoded(encode, {"", "cd"}).scored == 2);
    CHECK(encoded(encode, {" ", "cd"}).scored == 3);
    CHECK(text_of(encoded(encode, {"", "<|endoftext|>cd"})) == "<|endoftext|>cd");
    CHECK(encoded(encode, {"", "<|endoftext|>cd"}).scored == 2);
  }
  // "ab" is one token of the whole text, and "a" the context's own.
  const Tokenizer joined = Tokenizer::train({"ab ab ab ab"}, 259);
  REQUIRE(joined.encode("ab").size() == 1);
  CHECK(encoded(bytes_with(joined, {}, 100), {"a", "bx"}).ids ==
        std::vector<std::int32_t>{joined.encode("a")[0], joined.encode("x")[0]});
  CHECK(encoded(bytes_with(joined, {}, 100), {"a", "bx"}).scored == 1);

  // Of `longest` 4 the last five: four that are read, and the last that is only scored.
  CHECK(text_of(encoded(bytes_with(bytes, {}, 4), {"abcdefg", "hi"})) == "efghi");
  CHECK(encoded(bytes_with(bytes, {}, 4), {"abcdefg", "hi"}).scored == 2);

  // The example of loglikelihood_rolling's text: windows of 4, of 0 ... 9.
  const std::vector<ContinuationTokens> windows = bytes_with(bytes, {}, 4)({"", "0123456789"}, cache);
  REQUIRE(windows.size() == 3);
  CHECK(text_of(windows[0]) == "<|endoftext|>0123");
  CHECK(text_of(windows[1]) == "34567");
  CHECK(text_of(windows[2]) == "56789");
  CHECK(windows[0].scored == 4);
  CHECK(windows[1].scored == 4);
  CHECK(windows[2].scored == 2);

  auto refusal = [&](const PairEncoder& encode, const ScorePair& pair) -> std::string {
    try {
      encode(pair, cache);
    } catch (const JsonFailure& failure) { return failure.what(); }
    return "";
  };
  CHECK(refusal(plain, {"ab", ""}).find("expected a continuation") == 0);
  CHECK(refusal(plain, {"ab ", ""}).find("expected a continuation") == 0);
  CHECK(refusal(bytes_with(bytes, {}, 4), {"ab", "cdefg"}).find("5 tokens") != std::string::npos);
  PairEncoder without = plain;
  without.prefix = -1;
  CHECK(refusal(without, {"", "a"}).find("--prefix-token") != std::string::npos);
}

TEST_CASE("score: white space ends where Python's rstrip says") {
  CHECK(without_white_space_at_end("") == 0);
  CHECK(without_white_space_at_end(" \t\n") == 0);
  CHECK(without_white_space_at_end("a b\x1f \u00a0\u2003\u3000") == 3);
  CHECK(without_white_space_at_end("a\u200b") == 4);  // a zero width space is none
  CHECK(without_white_space_around(" \t\u3000a b\n\u00a0") == "a b");
  CHECK(without_white_space_around("\u200b") == "\u200b");
  CHECK(without_white_space_around(" \n").empty());
}

TEST_CASE("score: lines of four kinds, and what is wrong with others") {
  using nlohmann::json;
  const ScoredItem pair = scored_item(json::parse(R"({"context": "a", "continuation": "b", "id": 3})"), 1);
  CHECK(pair.pairs[0].continuation == "b");
  CHECK_FALSE(pair.gold);
  const ScoredItem choices = scored_item(json::parse(R"({"query": "q", "choices": ["é", "yes"], "gold": 1})"), 1);
  CHECK(choices.pairs[1].context == "q");
  CHECK(choices.pairs[1].continuation == " yes");
  CHECK(choices.bytes == std::vector<std::size_t>{2, 3});
  CHECK(choices.gold == 1u);
  const ScoredItem blank = scored_item(
      json::parse(R"({"sentence": "The _ is red.", "option1": "cat", "option2": "dog", "answer": "2"})"), 1);
  CHECK(blank.pairs[0].context == "The cat");
  CHECK(blank.pairs[1].context == "The dog");
  CHECK(blank.pairs[1].continuation == " is red.");
  CHECK(blank.gold == 1u);
  // lm-evaluation-harness joins by one space what Python's strip() leaves of the rest.
  for (const char* rest : {"is red.", "  is red. ", "\\n\\u00a0is red.\\u3000\\u001f\\t"}) {
    CAPTURE(rest);
    const std::string sentence = std::string(R"("The _)") + rest + "\"";
    const ScoredItem stripped = scored_item(
        json::parse(R"({"option1": "cat", "option2": "dog", "answer": "1", "sentence": )" + sentence + "}"), 1);
    CHECK(stripped.pairs[0].context == "The cat");
    CHECK(stripped.pairs[0].continuation == " is red.");
    CHECK(stripped.bytes == std::vector<std::size_t>{7, 7});
  }
  const ScoredItem word = scored_item(json::parse(R"({"text": "one two three"})"), 1);
  CHECK(word.pairs[0].context == "one two");
  CHECK(word.pairs[0].continuation == " three");

  TemporaryFolder folder;
  auto refused = [&](const std::string& lines, std::initializer_list<std::string> words) {
    write_bytes(folder / "lines.jsonl", lines);
    check_refused([&] { read_scored_items(folder / "lines.jsonl", 0); }, words, Exit::bad_input);
  };
  const std::string good = R"({"context": "a", "continuation": "b"})"
                           "\n";
  refused("", {"no line"});
  refused(good + "\n[1]\n", {"line 3", "array"});
  refused(good + "{\"continuation\": 1}\n", {"line 2", "`context`"});
  refused(good + "{\"text\": \"a b\"}\n", {"line 2", "as in line 1"});
  refused("{\"a\": 1", {"line 1", "not JSON"});
  refused("{\"text\": \"\xff\"}", {"line 1", "UTF-8"});
  refused("{\"text\": \"word\"}", {"line 1", "last word"});
  refused(R"({"query": "q", "choices": ["a", "b"], "gold": 2})", {"line 1", "0 to 1"});
  refused(R"({"query": "q", "choices": ["a", "b"], "gold": -1})", {"line 1", "`gold`"});
  refused(R"({"query": "q", "choices": ["a"], "gold": 0})", {"two texts"});
  refused(R"({"query": "q", "choices": ["a", ""], "gold": 0})", {"not empty"});
  refused(R"({"sentence": "no", "option1": "a", "option2": "b", "answer": "1"})", {"underscore"});
  refused(R"({"sentence": "a _ \n", "option1": "a", "option2": "b", "answer": "1"})", {"continues after"});
  write_bytes(folder / "lines.jsonl", good + good + "nothing that is read\n");
  CHECK(read_scored_items(folder / "lines.jsonl", 2).size() == 2);
}

TEST_CASE("accuracy: by the sum, by the bytes, by chance, with their standard errors") {
  // Choice 1 has the larger sum, choice 0 the larger share per byte.
  const Choices question{.logprobs = {-6, -4}, .bytes = {10, 2}, .gold = 0};
  CHECK(question.by_sum() == 1);
  CHECK(question.by_bytes() == 0);
  CHECK(Choices{.logprobs = {-1, -1}, .bytes = {1, 1}}.by_sum() == 0);  // the first of equals, as argmax
  const Choices of_four{.logprobs = {-1, -2, -3, -4}, .bytes = {1, 1, 1, 1}, .gold = 0};
  const Accuracy accuracy = accuracy_of({question, of_four, of_four, question});
  CHECK(accuracy.by_sum.share == 0.5);
  CHECK(accuracy.by_sum.error == doctest::Approx(std::sqrt(0.25 / 3)));
  CHECK(accuracy.by_bytes.share == 1);
  CHECK(accuracy.by_bytes.error == 0);
  CHECK(accuracy.chance == doctest::Approx(0.375));
  CHECK(accuracy.chance_error == doctest::Approx(std::sqrt(2 * 0.25 + 2 * 0.1875) / 4));
  CHECK(share_of(1, 1).error == 0);
}
