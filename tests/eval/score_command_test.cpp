// Command lines of eval_<ablation> score, against log-probabilities made here of what `logits` writes; and lm-eval's
// adapter, against score.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/data/tokenizer/tokenizer.h"
#include "engine/io/checkpoint.h"
#include "eval/text_sequences.h"
#include "tests/model/open_golden.h"
#include "tests/support/check_command.h"
#include "tests/support/check_refused.h"
#include "tests/support/golden_file.h"

using namespace sink;
using namespace sink::test;
using Json = nlohmann::json;

namespace {

// A tokenizer of bytes, and of what it learned of this.
Tokenizer tokenizer() { return Tokenizer::train({"the cat sat on the mat"}, 262); }

std::string checkpoint_with_text(const TemporaryFolder& folder) {
  const std::string bare = folder / "bare.h5", path = folder / "model.h5";
  output_of(folder,
            "train_baseline init --layers 1 --heads 2 --width 16 --feed-forward 12 --context 30 --task text "
            "--vocabulary 262 --out " +
                bare);
  Checkpoint checkpoint = load_checkpoint(bare);
  checkpoint.attributes["tokenizer_json"] = tokenizer().json();
  save_checkpoint(path, checkpoint);
  return path;
}

// log p of the ids after the first `before`, each given all ids before it.
double log_probability(const TemporaryFolder& folder, const std::string& model, const std::vector<std::int32_t>& ids,
                       std::size_t before) {
  std::string text;
  for (std::int32_t id : ids) text += std::to_string(id) + " ";
  write_bytes(folder / "ids.txt", text + "\n");
  output_of(folder, "eval_baseline logits --force --precision f64 --checkpoint " + model + " --tokens " +
                        folder / "ids.txt" + " --out " + folder / "logits.h5");
  const Tensor logits_1TV = GoldenFile(folder / "logits.h5").tensor("logits");
  const std::int64_t V = logits_1TV.dim(2);
  double sum = 0;
  for (std::size_t t = before; t < ids.size(); ++t) {
    auto logit = [&](std::int64_t v) { return logits_1TV.item((static_cast<std::int64_t>(t) - 1) * V + v); };
    double total = 0;
    for (std::int64_t v = 0; v < V; ++v) total += std::exp(logit(v));
    sum += logit(ids[t]) - std::log(total);
  }
  return sum;
}

}  // namespace

TEST_CASE("score: log-probabilities of continuations and choices are those of the logits; the likeliest is chosen") {
  const TemporaryFolder folder;
  const std::string model = checkpoint_with_text(folder);
  write_bytes(
      folder / "lines.jsonl",
      "{\"context\": \"the cat\", \"continuation\": \" sat on\"}\n{\"context\": \"a\", \"continuation\": \"b\"}\n");
  write_bytes(folder / "questions.jsonl",
              "{\"query\": \"the\", \"choices\": [\"cat\", \"mat on a\", \"x\"], \"gold\": 1}\n");
  const Tokenizer words = tokenizer();
  auto expected = [&](const std::string& context, const std::string& whole) {
    return log_probability(folder, model, words.encode(whole), words.encode(context).size());
  };
  std::istringstream lines(output_of(folder, "eval_baseline score " + model + " " + folder / "lines.jsonl"));
  const std::vector<std::pair<std::string, std::string>> pairs{{"the cat", "the cat sat on"}, {"a", "ab"}};
  std::string line;
  for (const auto& [context, whole] : pairs) {
    REQUIRE(std::getline(lines, line));
    const Json score = Json::parse(line);
    CHECK(score["logprob"].get<double>() == doctest::Approx(expected(context, whole)).epsilon(1e-5));
    CHECK(score["tokens"] == words.encode(whole).size() - words.encode(context).size());
  }
  const Json question =
      Json::parse(output_of(folder, "eval_baseline score " + model + " " + folder / "questions.jsonl"));
  std::size_t best = 0;
  for (std::size_t n = 0; n < 3; ++n) {
    const std::string choice = std::vector<std::string>{" cat", " mat on a", " x"}[n];
    CHECK(question["logprobs"][n].get<double>() == doctest::Approx(expected("the", "the" + choice)).epsilon(1e-5));
    if (question["logprobs"][n] > question["logprobs"][best]) best = n;
  }
  CHECK(question["choice"] == best);
  CHECK(question["gold"] == 1);
}

TEST_CASE("score: what has no context stands behind the token that the model's files call the begin of a text") {
  const TemporaryFolder folder;
  const std::string model = folder / "llama";
  std::filesystem::copy(kModels + "llama", model);
  // Forty tokens, of characters; the model was made with as many.
  Json vocabulary = Json::object();
  for (int id = 0; id < 40; ++id)
    vocabulary[std::string(1, static_cast<char>(id < 26 ? 'a' + id : 'A' + id - 26))] = id;
  Json added = Json::array();
  for (const int id : {7, 8, 9})
    added.push_back({{"id", id},
                     {"content", std::string(1, static_cast<char>('a' + id))},
                     {"special", true},
                     {"normalized", false}});
  write_bytes(model + "/tokenizer.json",
              Json{{"version", "1.0"},
                   {"added_tokens", added},
                   {"normalizer", nullptr},
                   {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
                   {"post_processor", nullptr},
                   {"decoder", {{"type", "ByteLevel"}}},
                   {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}}
                  .dump());
  std::string config = read_bytes(model + "/config.json");
  write_bytes(folder / "lines.jsonl", "{\"context\": \"\", \"continuation\": \"dog\"}\n");
  for (const int begin : {7, 12}) {
    Json with = Json::parse(config);
    with["bos_token_id"] = begin;
    write_bytes(model + "/config.json", with.dump());
    const Json score = Json::parse(output_of(folder, "eval_baseline score " + model + " " + folder / "lines.jsonl"));
    const double expected = log_probability(folder, model, {begin, 3, 14, 6}, 1);
    CHECK(score["logprob"].get<double>() == doctest::Approx(expected).epsilon(1e-5));
    const Json given = Json::parse(output_of(folder, "eval_baseline score " + model + " " + folder / "lines.jsonl" +
                                                         " --prefix-token " + std::to_string(begin)));
    CHECK(given["logprob"] == score["logprob"]);
  }
  // The tokenizer's own word goes before config.json's, as with lm-evaluation-harness, which does not read the latter.
  const std::pair<const char*, std::int32_t> said[] = {
      {R"({"bos_token": "h", "eos_token": "i"})", 7},
      {R"({"bos_token": {"__type": "AddedToken", "content": "j"}})", 9},
      {R"({"bos_token": null, "eos_token": "i"})", 8},
      {R"({"model_max_length": 32})", 12}};
  for (const auto& [text, begin] : said) {
    CAPTURE(text);
    Json with = Json::parse(text);
    with["tokenizer_class"] = "PreTrainedTokenizerFast";
    write_bytes(model + "/tokenizer_config.json", with.dump());
    const Json score = Json::parse(output_of(folder, "eval_baseline score " + model + " " + folder / "lines.jsonl"));
    CHECK(score["logprob"].get<double>() ==
          doctest::Approx(log_probability(folder, model, {begin, 3, 14, 6}, 1)).epsilon(1e-5));
  }
}

TEST_CASE(
    "score: a run's fixed token comes first, else the begin token, or the one of --prefix-token without context") {
  const TemporaryFolder folder;
  Checkpoint checkpoint = load_checkpoint(checkpoint_with_text(folder));
  write_bytes(folder / "lines.jsonl",
              "{\"context\": \"the\", \"continuation\": \" cat\"}\n"
              "{\"context\": \"\", \"continuation\": \"the mat\"}\n");
  const std::string model = folder / "begins.h5";
  const Tokenizer words = tokenizer();
  const auto check = [&](const std::string& option, std::int32_t with_context, std::int32_t without_context) {
    CAPTURE(option);
    std::istringstream lines(output_of(folder, "eval_baseline score " + model + " " + folder / "lines.jsonl" + option));
    const auto expected = [&](std::int32_t first, const std::string& text, std::size_t context) {
      std::vector<std::int32_t> ids = words.encode(text);
      ids.insert(ids.begin(), first);
      return log_probability(folder, model, ids, 1 + context);
    };
    for (const double logprob :
         {expected(with_context, "the cat", words.encode("the").size()), expected(without_context, "the mat", 0)}) {
      std::string line;
      REQUIRE(std::getline(lines, line));
      CHECK(Json::parse(line)["logprob"].get<double>() == doctest::Approx(logprob).epsilon(1e-5));
    }
  };
  checkpoint.attributes["prefix_token"] = "9";
  save_checkpoint(model, checkpoint);
  check(" --bos", 9, 9);
  auto scored = [&](const std::string& flags) {
    return output_of(folder, "eval_baseline score " + model + " " + folder / "lines.jsonl" + flags);
  };
  const std::string without = scored("");
  CHECK(without != scored(" --bos"));
  checkpoint.attributes["begin_token"] = "7";
  save_checkpoint(model, checkpoint);
  CHECK(scored(" --no-bos") == without);
  check("", 7, 7);
  check(" --prefix-token 99", 7, 99);
  checkpoint.attributes["config_toml"] = "fixed-token = 3\n";
  save_checkpoint(model, checkpoint);
  check("", 3, 3);
  Subprocess refused(folder,
                     words_of("eval_baseline score " + model + " " + folder / "lines.jsonl" + " --prefix-token 262"));
  CHECK(refused.wait() == 2);
  CHECK_MESSAGE(refused.err().find("--prefix-token must be below the 262") != std::string::npos, refused.err());
}

TEST_CASE("score: lm-evaluation-harness's adapter hands on what score says") {
  const TemporaryFolder folder;
  if (!std::filesystem::exists("/usr/bin/python3")) return;
  const std::string model = checkpoint_with_text(folder);
  // Of lm_eval what the adapter takes from it.
  std::filesystem::create_directories(folder / "lm_eval/api");
  write_bytes(folder / "lm_eval/__init__.py", "");
  write_bytes(folder / "lm_eval/api/__init__.py", "");
  write_bytes(folder / "lm_eval/api/model.py", "class LM:\n    pass\n");
  write_bytes(folder / "lm_eval/api/registry.py", "def register_model(name):\n    return lambda made: made\n");
  write_bytes(folder / "ask.py",
              "import json, sys\nfrom types import SimpleNamespace as Request\nfrom sinklab_lm import Sinklab\n"
              "lm = Sinklab(sys.argv[1], sys.argv[2], prefix_token=5)\n"
              "asked = [Request(args=('the cat', ' sat on')), Request(args=('a', 'b'))]\n"
              "print(json.dumps([lm.loglikelihood(asked), lm.loglikelihood_rolling([Request(args=('the mat',))]), "
              "lm.loglikelihood([])]))\n");
  write_bytes(
      folder / "lines.jsonl",
      "{\"context\": \"the cat\", \"continuation\": \" sat on\"}\n{\"context\": \"a\", \"continuation\": \"b\"}\n"
      "{\"context\": \"\", \"continuation\": \"the mat\"}\n");
  const Json said =
      Json::parse(output_of(folder, "/usr/bin/env PYTHONPATH=" + folder.path + ":" + SINK_SOURCE_DIR +
                                        "/tools/lm_eval PYTHONDONTWRITEBYTECODE=1 "
                                        "/usr/bin/python3 " +
                                        folder / "ask.py" + " " + program_path("eval_baseline") + " " + model));
  std::istringstream lines(
      output_of(folder, "eval_baseline score --prefix-token 5 " + model + " " + folder / "lines.jsonl"));
  std::string line;
  for (const Json& answer : {said[0][0], said[0][1], Json{said[1][0], nullptr}}) {
    REQUIRE(std::getline(lines, line));
    const Json score = Json::parse(line);
    CHECK(answer[0] == score["logprob"]);
    if (!answer[1].is_null()) CHECK(answer[1] == score["greedy"]);
  }
  CHECK(said[2].empty());
}

TEST_CASE("a model that can be given no text says why, even if another tokenizer is given") {
  Checkpoint checkpoint;
  checkpoint.path = "falcon.gguf";
  checkpoint.attributes["text_refusal"] = "its pre-tokenizer is not computed here";
  for (const char* data : {"", "data/english"})
    check_refused([&] { tokenizer_of(checkpoint, data); },
                  {"falcon.gguf: its pre-tokenizer is not computed here, so it can be given no text"}, Exit::usage);
}
