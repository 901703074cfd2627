// The sizes and parameters that a checkpoint keeps of a model.
#include "model/model_checkpoint.h"

#include <doctest/doctest.h>

#include "tests/support/compare.h"
#include "tests/support/files.h"

using namespace sink;

namespace {

// Sizes and parameters are all that a checkpoint sees.
struct ParametersOnly : LanguageModel {
  explicit ParametersOnly(const Sizes& sizes, std::uint64_t seed) : LanguageModel(sizes, 0) {
    for (const auto& [name, shape] :
         std::vector<std::pair<std::string, Shape>>{{"embedding.sink_token.weight", {1, 6}},
                                                    {"position.bias.weight", {4, 32}},
                                                    {"blocks.0.attention.norm.bias", {6}},
                                                    {"blocks.0.attention.query_norm.gain", {3}},
                                                    {"blocks.0.attention.extra.logit", {4}},
                                                    {"blocks.0.attention.extra.key", {4, 3}},
                                                    {"blocks.0.attention.extra.value", {3}},
                                                    {"blocks.0.attention.out.weight", {6, 12}}})
      parameters_.push_back(std::make_unique<Parameter>(name, shape, Init{Init::Kind::normal, 1}, seed, DType::F32));
  }
  Var loss(const Tensor&, const Tensor&, double, Probe*) override { return {}; }
  Tensor logits(const Tensor&, Probe*) override { return {}; }
};

}  // namespace

TEST_CASE("model checkpoint: sizes and values come back, from a file too") {
  TemporaryFolder folder;
  Sizes sizes{.layers = 1,
              .heads = 4,
              .width = 12,
              .feed_forward = 5,
              .context = 9,
              .vocabulary = 11,
              .kv_heads = 2,
              .window = 3,
              .prefix = 7};
  ParametersOnly model(sizes, 1), other(sizes, 2);
  Checkpoint saved;
  store_model({.name = "a", .policies = "p", .make_model = {}}, model, saved);
  save_checkpoint(folder / "checkpoint.h5", saved);
  Checkpoint loaded = load_checkpoint(folder / "checkpoint.h5");
  for (const Checkpoint& checkpoint : {saved, loaded}) {
    Sizes read = sizes_of(checkpoint);
    CHECK(read.layers == 1);
    CHECK(read.heads == 4);
    CHECK(read.width == 12);
    CHECK(read.feed_forward == 5);
    CHECK(read.context == 9);
    CHECK(read.vocabulary == 11);
    CHECK(read.kv_heads == 2);
    CHECK(read.window == 3);
    CHECK(read.prefix == 7);
  }
  restore_parameters(loaded, other);
  for (std::size_t i = 0; i < model.parameters().size(); ++i)
    check_close(model.parameters()[i]->name(), other.parameters()[i]->master(), model.parameters()[i]->master(), 0);
}

TEST_CASE("model checkpoint: files from before heads were shared mean none of it") {
  ParametersOnly model({.layers = 1, .heads = 4, .width = 12, .feed_forward = 5, .context = 9, .vocabulary = 11}, 1);
  Checkpoint checkpoint;
  store_model({.name = "a", .policies = "p", .make_model = {}}, model, checkpoint);
  for (const char* name : {"kv_heads", "window", "prefix"}) CHECK(checkpoint.attributes.erase(name) == 1);
  Sizes read = sizes_of(checkpoint);
  CHECK(read.kv_heads == 0);
  CHECK(read.window == 0);
  CHECK(read.prefix == 0);
  checkpoint.attributes["window"] = "wide";
  CHECK(contains(error_of([&] { sizes_of(checkpoint); }), "exit 4"));
}

TEST_CASE("model checkpoint: axes say what the numbers of a parameter mean") {
  ParametersOnly model({.layers = 1, .heads = 4, .width = 12}, 1);
  Checkpoint checkpoint;
  store_model({.name = "a", .policies = "p", .make_model = {}}, model, checkpoint);
  const std::string attention = "parameters/blocks.0.attention.";
  CHECK(checkpoint.axes.at("parameters/embedding.sink_token.weight") == "1 C");
  CHECK(checkpoint.axes.at("parameters/position.bias.weight") == "H bucket");
  CHECK(checkpoint.axes.at(attention + "norm.bias") == "C");
  CHECK(checkpoint.axes.at(attention + "query_norm.gain") == "D");
  CHECK(checkpoint.axes.at(attention + "extra.logit") == "H");
  CHECK(checkpoint.axes.at(attention + "extra.key") == "H D");
  CHECK(checkpoint.axes.at(attention + "extra.value") == "D");
  CHECK(checkpoint.axes.at(attention + "out.weight") == "out in");
}
