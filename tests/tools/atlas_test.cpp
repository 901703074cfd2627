// sinklab atlas: rows have the values of `sinklab sink`, and a model that cannot be measured is a row with the reason.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/data/tokenizer/tokenizer.h"
#include "engine/io/checkpoint.h"
#include "tests/support/built_ablations.h"
#include "tests/support/check_command.h"

using namespace sink;
using Json = nlohmann::json;

namespace {

constexpr const char* kTexts =
    "{\"text\": \"the cat sat on the mat\"}\n{\"text\": \"the mat sat on a cat, and so on\"}\n";

// A small model whose tokenizer is of bytes; `begin`: the id of its begin token, or none; `even`: all its queries and
// keys are 0.
std::string model_in(const TemporaryFolder& folder, const std::string& ablation, const std::string& begin,
                     const std::string& sizes = "", bool even = false) {
  const std::string path = folder / (ablation + begin + ".h5");
  CHECK(outcome_of(folder, "train_" + ablation +
                               " init --layers 2 --heads 2 --width 16 --feed-forward 12 --context 20 --task text "
                               "--vocabulary 262 --seed 4 --out " +
                               path + sizes)
            .code == 0);
  Checkpoint checkpoint = load_checkpoint(path);
  checkpoint.attributes["tokenizer_json"] = Tokenizer::train({"the cat sat on the mat"}, 262).json();
  if (!begin.empty()) checkpoint.attributes["begin_token"] = begin;
  for (auto& [name, tensor] : checkpoint.tensors)
    if (even && name.ends_with("attention.qkv.weight")) tensor = Tensor::zeros(tensor.shape(), tensor.dtype());
  save_checkpoint(path, checkpoint);
  return path;
}

}  // namespace

TEST_CASE("atlas: rows have the values that `sink` measures, with and without the begin token") {
  TemporaryFolder folder;
  write_bytes(folder / "texts.jsonl", kTexts);
  const std::string texts = " --threads 1 --context 8 --text-file " + (folder / "texts.jsonl");
  std::vector<std::pair<std::string, std::vector<std::string>>> models;  // and what its rows have before the texts
  std::string line = "sinklab atlas";
  for (const auto& [ablation, begin, sizes] : {std::tuple{"baseline", "7", " --window 4 --global-every 2"},
                                               {"bias_k", "", ""},
                                               {"op_sink_logit", "7", ""},
                                               {"bias_sinktoken", "", ""},
                                               {"pos_alibi", "", ""}}) {
    if (!test::is_built(ablation)) continue;
    models.emplace_back(model_in(folder, ablation, begin, sizes), std::vector<std::string>{"--no-bos"});
    if (*begin) models.back().second.push_back("--bos");
    line += " " + models.back().first;
  }
  const Outcome atlas = outcome_of(folder, line + texts + " --picture " + (folder / "atlas.svg"));
  REQUIRE_MESSAGE(atlas.code == 0, atlas.err);
  const Json json = Json::parse(atlas.out), &rows = json.at("rows");
  CHECK(json["atlas"]["sequences"] == 2);
  std::size_t r = 0;
  for (const auto& [model, flags] : models)
    for (const std::string& flag : flags) {
      CAPTURE(model);
      CAPTURE(flag);
      REQUIRE(r < rows.size());
      const Json& row = rows[r++];
      const Json sink = Json::parse(output_of(folder, "sinklab sink " + model + texts + " --map none " + flag));
      CHECK(row["begin"].is_null() == (flag == "--no-bos"));
      CHECK(row["family"] == sink["ablation"]);
      CHECK(row["parameters"] == sink["parameters"]);
      for (const char* key :
           {"alpha_1", "alpha_1_raw", "zero_score_alpha_1", "zero_score_sink_1", "entropy", "val_loss"})
        CHECK_MESSAGE(row[key].get<double>() == doctest::Approx(sink[key].get<double>()).epsilon(1e-8), key);
      CHECK(row["sink_1"].get<double>() == doctest::Approx(sink["sink_1"][1].get<double>()));
      double others = 0;
      for (std::size_t k = 1; k < 8; ++k) others += sink["alpha_k"][k].get<double>() / 7;
      CHECK(row["alpha_others"].get<double>() == doctest::Approx(others).epsilon(1e-7));
      if (sink["extra"] != "none")
        CHECK(row["alpha_star"].get<double>() == doctest::Approx(sink["alpha_star"].get<double>()).epsilon(1e-8));
    }
  CHECK(r == rows.size());
  CHECK(rows[0]["attention"] == "Softmax, window 4 in 1 of 2 layers");
  CHECK(contains(read_bytes(folder / "atlas.svg"), "baseline7.h5"));
  CHECK(contains(atlas.err, "baseline7.h5"));
}

TEST_CASE("atlas: rows of zero scores have the entropy of even rows, with a window, an extra key and a sink token") {
  TemporaryFolder folder;
  write_bytes(folder / "texts.jsonl", kTexts);
  std::string line = "sinklab atlas --context 8 --text-file " + (folder / "texts.jsonl");
  for (const auto& [ablation, sizes] :
       {std::pair{"baseline", " --window 4 --global-every 2"}, {"bias_k", ""}, {"bias_sinktoken", " --window 3"}})
    if (test::is_built(ablation)) line += " " + model_in(folder, ablation, "", sizes, true);
  const Outcome atlas = outcome_of(folder, line);
  REQUIRE_MESSAGE(atlas.code == 0, atlas.err);
  const Json rows = Json::parse(atlas.out).at("rows");
  CHECK(rows.size() > 0);
  for (const Json& row : rows)
    CHECK_MESSAGE(row["entropy_over_even"].get<double>() == doctest::Approx(1).epsilon(1e-6), row["family"]);
  CHECK(contains(atlas.err, "1.000!"));
}

TEST_CASE("atlas: a model that cannot be measured is a row, and the exit code tells") {
  TemporaryFolder folder;
  write_bytes(folder / "texts.jsonl", kTexts);
  const std::string good = model_in(folder, "baseline", "7"), none = folder / "none.gguf",
                    texts = " --context 8 --text-file " + (folder / "texts.jsonl"), out = folder / "atlas.json";
  CHECK(outcome_of(folder, "sinklab atlas " + good + " " + none + texts + " --out " + out).code == 3);
  Json rows = Json::parse(read_bytes(out)).at("rows");
  REQUIRE(rows.size() == 3);
  CHECK(rows[1]["begin"].is_string());
  CHECK(rows[2]["model"] == none);
  CHECK(contains(rows[2]["error"], "none.gguf"));
  CHECK_FALSE(rows[2].contains("alpha_1"));
  // Texts that are too short for one of two models would make rows of other texts.
  write_bytes(folder / "short.jsonl", std::string(kTexts) + "{\"text\": \"a cat\"}\n");
  const Outcome shorter =
      outcome_of(folder, "sinklab atlas " + good + " --context 8 --text-file " + (folder / "short.jsonl"));
  CHECK(shorter.code == 3);
  CHECK(contains(shorter.err, "only 2 of the 3 texts have 8 tokens of this model"));
  CHECK(Json::parse(shorter.out).at("rows").size() == 1);
  check_error(folder, "sinklab atlas " + good + " --text-file " + (folder / "texts.txt"), 2, "must be .jsonl");
  check_error(folder, "sinklab atlas" + texts, 2, "models is required");
  write_bytes(folder / "mine", "mine");
  check_error(folder, "sinklab atlas " + good + texts + " --picture " + (folder / "mine"), 2, "--force");
}

TEST_CASE("atlas: the accuracy is the share of right lines of `score`, of the same questions for each model") {
  TemporaryFolder folder;
  write_bytes(folder / "texts.jsonl", kTexts);
  const std::string model = model_in(folder, "baseline", "7"), other = model_in(folder, "baseline", "");
  write_bytes(folder / "questions.jsonl",
              "{\"query\": \"the\", \"choices\": [\" cat\", \" mat\"], \"gold\": 0}\n"
              "{\"query\": \"the\", \"choices\": [\" cat\", \" mat\"], \"gold\": 1}\n"
              "{\"query\": \"the\", \"choices\": [\" cat\", \" mat\"], \"gold\": 1}\n");
  const std::string scores = folder / "scores.jsonl";
  output_of(folder, "sinklab score " + model + " " + (folder / "questions.jsonl") + " --out " + scores);
  std::istringstream lines(read_bytes(scores));
  double right = 0;
  for (std::string line; std::getline(lines, line);) right += Json::parse(line)["choice"] == Json::parse(line)["gold"];
  const std::string both =
      "sinklab atlas " + model + " " + other + " --context 8 --text-file " + (folder / "texts.jsonl");
  const Json rows = Json::parse(output_of(folder, both + " --score " + scores + " --score -")).at("rows");
  for (std::size_t r : {0, 1}) CHECK(rows[r]["accuracy"].get<double>() == doctest::Approx(100 * right / 3));
  CHECK(rows[2]["accuracy"].is_null());
  check_error(folder, both + " --score " + scores, 2, "once for each of the 2 models");
  write_bytes(folder / "fewer.jsonl", "{\"greedy\": true}\n");
  check_error(folder, both + " --score " + scores + " --score " + (folder / "fewer.jsonl"), 3, "1 line");
  write_bytes(folder / "bad.jsonl", "{\"gold\": 1}\n");
  check_error(folder, both + " --score - --score " + (folder / "bad.jsonl"), 3,
              "line 1: expected a line of `sinklab score`");
}
