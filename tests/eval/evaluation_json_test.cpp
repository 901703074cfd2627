// evaluation.json: every value of an Evaluation and of its context is under its key, compared with literals.
#include "eval/sink/evaluation_json.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/support/distinct_evaluation.h"

using namespace sink;
using Json = nlohmann::json;

namespace {

EvaluationContext distinct_context() {
  EvaluationContext context;
  context.run = "a run";
  context.task = "a task";
  context.ablation = "an ablation";
  context.policies = "policies";
  context.precision = "a precision";
  context.device = "a device";
  context.commit = "a commit";
  context.config_toml = "batch = 48\n";
  context.machine = "a machine";
  context.input = "begin+random";
  context.input_seed = 61;
  context.data_sha256 = "checksum of the data";
  context.initial_sha256 = "checksum of the parameters";
  context.positions = "swap:7";
  context.data = "a folder";
  context.input_sha256 = "checksum of the input";
  context.seed = 62;
  context.step = 63;
  context.steps = 64;
  context.tokens = 6000;
  context.parameters = 65;
  context.domains = {{"web", 2000, 0.25}, {"code", 500, 0.75}};
  context.token_text = [](std::int32_t id) { return "t" + std::to_string(id); };
  return context;
}

void without_star(SinkScores& scores) {
  scores.sink_star.clear();
  scores.alpha_star_layer_head.clear();
}

// The keys and values are those of `expected`, and there are no others.
void check_json(const Json& found, const Json& expected) {
  for (const auto& [key, value] : expected.items()) {
    CAPTURE(key);
    REQUIRE(found.contains(key));
    CHECK(found[key] == value);
  }
  for (const auto& [key, value] : found.items()) CHECK_MESSAGE(expected.contains(key), key, " is not expected");
}

// "a.b" is the key b of the object a.
Json::json_pointer pointer_of(std::string key) {
  std::ranges::replace(key, '.', '/');
  return Json::json_pointer("/" + key);
}

// Without the date, which is now, and what is said about the keys.
Json written(const Evaluation& evaluation, const EvaluationContext& context) {
  Json json = Json::parse(evaluation_json(evaluation, context));
  const std::string date = json["date"];  // 2026-11-27T22:03:35Z
  CHECK(date.size() == 20);
  CHECK(date.starts_with("2"));
  CHECK(date.ends_with("Z"));
  json.erase("date");
  for (const auto& [key, about] : json["measures"].items()) CHECK(json.contains(pointer_of(key)));
  json.erase("measures");
  return json;
}

// Of the context and of the input.
const Json kContext = Json::parse(R"({
  "schema": 1, "run": "a run", "task": "a task", "ablation": "an ablation", "policies": "policies", "seed": 62,
  "step": 63, "steps": 64, "tokens": 6000, "parameters": 65, "commit": "a commit", "precision": "a precision",
  "device": "a device", "machine": "a machine", "config_toml": "batch = 48\n", "val_loss": 1.001, "sequences": 5,
  "context": 3, "input": "begin+random", "input_seed": 61, "positions": "swap:7", "data": "a folder",
  "input_sha256": "checksum of the input", "data_sha256": "checksum of the data",
  "initial_sha256": "checksum of the parameters", "epochs": 2.4,
  "domains": [{"name": "web", "tokens": 2000, "share": 0.25, "epochs": 0.75},
              {"name": "code", "tokens": 500, "share": 0.75, "epochs": 9}]
})");

// What every model has.
const Json kEveryModel = Json::parse(R"({
  "sink_epsilon": [0.2, 0.3, 0.4], "first_key_rows": [3, 2],
  "sink_1": [13, 14, 15], "sink_k": [16, 17], "sink_k_epsilon": [[21, 22], [23, 24], [25, 26]],
  "alpha_1": 10, "alpha_k": [11, 12], "alpha_1_layer_head": [[31, 32], [33, 34]],
  "alpha_layer_head_k": [[[41, 42], [43, 44]], [[45, 46], [47, 48]]],
  "sink_1_raw": [113, 114, 115], "sink_k_raw": [116, 117], "sink_k_epsilon_raw": [[121, 122], [123, 124], [125, 126]],
  "alpha_1_raw": 110, "alpha_k_raw": [111, 112], "alpha_1_layer_head_raw": [[131, 132], [133, 134]],
  "alpha_layer_head_k_raw": [[[141, 142], [143, 144]], [[145, 146], [147, 148]]],
  "alpha_1_max": 1.02,
  "row_mass": 1.041, "row_mass_layer_head": [[2.011, 2.012], [2.013, 2.014]],
  "entropy": 1.043, "entropy_layer_head": [[2.031, 2.032], [2.033, 2.034]],
  "first_value_norm_ratio": 1.051,
  "value_share": 1.052, "value_share_layer_head": [[2.041, 2.042], [2.043, 2.044]],
  "loss_position": [1.011, 1.012, "nan"],
  "hidden_norm_layer_position": [[3.01, 3.02, 3.03], [3.04, 3.05, 3.06], [3.07, 3.08, 3.09]],
  "key_norm_layer_position": [[3.21, 3.22, 3.23], [3.24, 3.25, 3.26]],
  "value_norm_layer_position": [[3.31, 3.32, 3.33], [3.34, 3.35, 3.36]],
  "hidden_kurtosis_layer_position": [[3.41, 3.42, 3.43], [3.44, 3.45, 3.46], [3.47, 3.48, 3.49]],
  "hidden_largest_layer_position": [[3.51, 3.52, 3.53], [3.54, 3.55, 3.56], [3.57, 3.58, 3.59]],
  "massive_ratio": 4.04, "massive_ratio_layer": [4.01, 4.03, 4.02],
  "qk_first_key": {"dot": [[5.01, 5.02], [5.03, 5.04]], "norm_product": [[5.11, 5.12], [5.13, 5.14]],
                   "cosine": [[5.21, 5.22], [5.23, 5.24]]},
  "qk_other_keys": {"dot": [[5.31, 5.32], [5.33, 5.34]], "norm_product": [[5.41, 5.42], [5.43, 5.44]],
                    "cosine": [[5.51, 5.52], [5.53, 5.54]]}
})");

// Of an extra key or sink token.
const Json kStar = Json::parse(R"({
  "sink_star": [52, 53, 54], "alpha_star": 51, "alpha_star_layer_head": [[55, 56], [57, 58]],
  "sink_star_raw": [152, 153, 154], "alpha_star_raw": 151, "alpha_star_layer_head_raw": [[155, 156], [157, 158]]
})");

const Json kExtraKey = Json::parse(R"({
  "extra": "key", "extra_key_mass": 1.042, "extra_key_mass_layer_head": [[2.021, 2.022], [2.023, 2.024]]
})");

const Json kPostNorm = Json::parse(R"({
  "hidden_before_norm_layer_position": [[3.11, 3.12, 3.13], [3.14, 3.15, 3.16]],
  "massive_ratio_before_norm_layer": [4.11, 4.12]
})");

const Json kOnRequest = Json::parse(R"({
  "alpha_fixed": 1.031, "alpha_fixed_over_even": 1.032,
  "by_length": {
    "length": [2, 3], "epsilon": [0.25, 0.35, 0.45],
    "alpha_k": [[211, 212], [311, 312]],
    "sink_k": [[[221, 222], [223, 224], [225, 226]], [[321, 322], [323, 324], [325, 326]]],
    "alpha_star": [251, 351], "sink_star": [[252, 253, 254], [352, 353, 354]],
    "alpha_k_raw": [[411, 412], [511, 512]],
    "sink_k_raw": [[[421, 422], [423, 424], [425, 426]], [[521, 522], [523, 524], [525, 526]]],
    "alpha_star_raw": [451, 551], "sink_star_raw": [[452, 453, 454], [552, 553, 554]]
  }
})");

Json joined(std::initializer_list<Json> objects) {
  Json all;
  for (const Json& object : objects) all.update(object);
  return all;
}

}  // namespace

TEST_CASE("evaluation.json: every value of an extra key, of post-norm and of the context is under its key") {
  check_json(written(test::distinct_evaluation(), distinct_context()),
             joined({kContext, kEveryModel, kStar, kExtraKey, kPostNorm, kOnRequest}));
}

TEST_CASE("evaluation.json: what a model or a request does not have has no key") {
  Evaluation e = test::distinct_evaluation();
  e.alpha_fixed = e.alpha_fixed_over_even = kNotMeasured;
  e.extra_key_weight_layer_head.clear();
  e.by_length = {};
  e.hidden_before_norm_norm.clear();
  e.massive_ratio_before_norm.clear();
  SUBCASE("a sink token") {
    e.extra = Evaluation::Extra::token;
    check_json(written(e, distinct_context()),
               joined({kContext, kEveryModel, kStar, Json::object({{"extra", "token"}})}));
  }
  SUBCASE("neither an extra key nor a sink token") {
    e.extra = Evaluation::Extra::none;
    without_star(e.proxy), without_star(e.raw);
    check_json(written(e, distinct_context()), joined({kContext, kEveryModel, Json::object({{"extra", "none"}})}));
  }
  SUBCASE("lengths without an extra key or sink token, of text") {
    e.extra = Evaluation::Extra::none;
    without_star(e.proxy), without_star(e.raw);
    e.by_length = test::distinct_evaluation().by_length;
    for (auto* scores : {&e.by_length.proxy, &e.by_length.raw})
      for (SinkScores& of_length : *scores) without_star(of_length);
    EvaluationContext context = distinct_context();
    context.input = "text";
    context.domains.clear();
    for (std::string* text : {&context.machine, &context.positions, &context.data, &context.input_sha256,
                              &context.data_sha256, &context.initial_sha256})
      text->clear();
    Json expected =
        joined({kContext, kEveryModel, Json::object({{"extra", "none"}, {"by_length", kOnRequest["by_length"]}})});
    expected["input"] = "text";
    for (const char* key : {"machine", "positions", "data", "input_sha256", "data_sha256", "initial_sha256",
                            "input_seed", "epochs", "domains"})
      expected.erase(key);
    for (const char* key : {"alpha_star", "sink_star", "alpha_star_raw", "sink_star_raw"})
      expected["by_length"].erase(key);
    check_json(written(e, context), expected);
  }
}

TEST_CASE("evaluation.json: values that JSON does not have are words, and others have nine digits") {
  Evaluation e = test::distinct_evaluation();
  e.loss = -std::numeric_limits<double>::infinity();
  e.row_sum = 1.0 / 3;
  e.entropy = std::numeric_limits<double>::infinity();
  e.alpha_1_max = std::nan("");
  const Json json = written(e, distinct_context());
  CHECK(json["val_loss"] == "-inf");
  CHECK(json["row_mass"] == 0.333333333);
  CHECK(json["entropy"] == "inf");
  CHECK(json["alpha_1_max"] == "nan");
}

TEST_CASE("evaluation.json: maps have their layer, head and tokens; a row ends with its last nonzero weight") {
  Evaluation e = test::distinct_evaluation();
  e.patterns.layers = 2;
  e.patterns.heads = 3;
  e.patterns.extra_key = true;
  e.patterns.layer = 1;
  e.patterns.head = 2;
  e.patterns.tokens = {{-1, 7}, {-1, 8}};
  e.patterns.weights.resize(2 * 2 * 3);
  for (std::size_t i : {1u, 5u, 6u})  // heads 1 and 5 = layer 1, head 2 of sequence 0; head 0 of sequence 1
    e.patterns.weights[i] =
        Tensor::from<double>({2, 3}, {0.5, static_cast<double>(i), 0, 0.25, 0.125, 0.0625 * static_cast<double>(i)});
  const Json expected = Json::parse(R"({
    "layers": 2, "heads": 3, "extra_key": true, "chosen": {"sequence": 0, "layer": 1, "head": 2},
    "tokens": [["<sink token>", "t7"], ["<sink token>", "t8"]],
    "weights": [[[null, [[0.5, 1], [0.25, 0.125, 0.0625]], null], [null, null, [[0.5, 5], [0.25, 0.125, 0.3125]]]],
                [[[[0.5, 6], [0.25, 0.125, 0.375]], null, null], [null, null, null]]]
  })");
  check_json(written(e, distinct_context())["maps"], expected);
}
