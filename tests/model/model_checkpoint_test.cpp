// The sizes and parameters of a model in a checkpoint.
#include "model/model_checkpoint.h"

#include <doctest/doctest.h>

#include <regex>
#include <set>
#include <tuple>

#include "model/size_settings.h"
#include "tests/model/model_support.h"
#include "tests/support/compare.h"
#include "tests/support/files.h"

using namespace sink;

namespace {

// Sizes and parameters are all that a checkpoint sees.
struct ParametersOnly : LanguageModel {
  explicit ParametersOnly(const Sizes& s, std::uint64_t seed) : LanguageModel(s, 0, DType::F32) {
    for (const auto& [name, shape, axes] : std::vector<std::tuple<std::string, Shape, std::string>>{
             {"embedding.token.weight", {s.vocabulary, s.width}, "V C"},
             {"blocks.0.attention.qkv.weight", {(s.heads + 2 * s.key_heads()) * s.width_of_head(), s.width}, "out in"},
             {"blocks.0.feed_forward.down.weight", {s.width, s.feed_forward}, "out in"},
             {"blocks.0.attention.extra.key", {4, 3}, "H D"},
             {"blocks.0.attention.extra.value", {3}, "D"}})
      parameters_.add({name, shape, axes, ParameterRole::weight, {Init::Kind::normal, 1}});
    parameters_.allocate(seed);
  }
  Var forward(const Tensor&, const ForwardContext&) const override { return {}; }
  Var forward_from(std::size_t, Residual, const ForwardContext&) const override { return {}; }
  Var final_norm(const Var&) const override { return {}; }
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
              .prefix = 7,
              .head_width = 5};
  ParametersOnly model(sizes, 1), other(sizes, 2);
  Checkpoint saved;
  store_model({.name = "a", .policies = "p", .make = {}}, model, saved);
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
    CHECK(read.head_width == 5);
  }
  restore_parameters(loaded, other);
  for (std::size_t i = 0; i < model.parameters().size(); ++i)
    check_close(model.parameters()[i]->name(), other.parameters()[i]->master(), model.parameters()[i]->master(), 0);
}

TEST_CASE("model checkpoint: that of every ablation comes back") {
  TemporaryFolder folder;
  Sizes sizes = test::small_sizes();
  sizes.head_width = 64;  // of which bias_k_d64 learns all
  for (const Ablation& ablation : all_ablations()) {
    CAPTURE(ablation.name);
    const auto model = test::make_model(ablation.name, sizes, DType::F32);
    Checkpoint saved;
    store_model(ablation, *model, saved);
    save_checkpoint(folder / "checkpoint.h5", saved);
    const auto again = load_model(load_checkpoint(folder / "checkpoint.h5"), ablation, DType::F32, "test", Device::cpu);
    REQUIRE(again->parameters().size() == model->parameters().size());
    for (std::size_t i = 0; i < model->parameters().size(); ++i)
      check_close(model->parameters()[i]->name(), again->parameters()[i]->master(), model->parameters()[i]->master(),
                  0);
  }
}

TEST_CASE("model checkpoint: files from before heads were shared mean none of it") {
  ParametersOnly model({.layers = 1, .heads = 4, .width = 12, .feed_forward = 5, .context = 9, .vocabulary = 11}, 1);
  Checkpoint checkpoint;
  store_model({.name = "a", .policies = "p", .make = {}}, model, checkpoint);
  for (const char* name : {"kv_heads", "window", "prefix", "head_width"}) CHECK(checkpoint.attributes.erase(name) == 1);
  Sizes read = sizes_of(checkpoint);
  CHECK(read.kv_heads == 0);
  CHECK(read.window == 0);
  CHECK(read.prefix == 0);
  CHECK(read.head_width == 0);
  checkpoint.attributes["window"] = "wide";
  CHECK(contains(error_of([&] { sizes_of(checkpoint); }), "exit 4"));
}

namespace {

constexpr Sizes kSizes{.layers = 1, .heads = 4, .width = 12, .feed_forward = 5, .context = 9, .vocabulary = 11};

Checkpoint stored_model() {
  Checkpoint checkpoint;
  store_model({.name = "a", .policies = "p", .make = {}}, ParametersOnly(kSizes, 1), checkpoint);
  checkpoint.path = "made.h5";
  return checkpoint;
}

std::string error_with(const char* attribute, const char* value) {
  Checkpoint checkpoint = stored_model();
  checkpoint.attributes[attribute] = value;
  return error_of([&] { sizes_of(checkpoint); });
}

}  // namespace

TEST_CASE("model checkpoint: every size of the table is an attribute, and CHECKPOINT.md tells of it") {
  const std::string page = read_bytes(SINK_SOURCE_DIR "/engine/io/CHECKPOINT.md");
  const std::string attributes =
      page.substr(page.find("| attribute |"), page.find("**Datasets**") - page.find("| attribute |"));
  Checkpoint checkpoint = stored_model();
  for (const Setting<Sizes>& size : size_settings()) {
    CAPTURE(size.flag);
    CHECK(checkpoint.attribute(size.key()) == plain_text(size.value(kSizes)));
    const bool told = std::regex_search(attributes, std::regex("`([a-z_]+ )*" + size.key() + "( [a-z_]+)*` \\|"));
    CHECK(told);
  }
}

TEST_CASE("model checkpoint: CHECKPOINT.md lists every parameter of every ablation") {
  const std::string page = read_bytes(SINK_SOURCE_DIR "/engine/io/CHECKPOINT.md");
  Sizes sizes = test::small_sizes();
  sizes.head_width = 64;  // of which bias_k_d64 learns all
  std::set<std::string> names;
  for (const Ablation& ablation : all_ablations()) {
    const auto model = test::make_model(ablation.name, sizes, DType::F32);
    for (const auto& parameter : model->parameters())
      names.insert(std::regex_replace(parameter->name(), std::regex("^blocks\\.[0-9]+"), "blocks.<l>"));
  }
  CHECK(names.size() > 30);
  for (const std::string& name : names)  // a norm has a bias where it has a gain, as the page says
    CHECK_MESSAGE(contains(page, "`" + std::regex_replace(name, std::regex("norm\\.bias$"), "norm.gain") + "`"), name);
}

TEST_CASE("model checkpoint: sizes that no model has are refused by name") {
  CHECK(error_with("heads", "5") == "exit 4 made.h5: `heads` must divide `width`, got 5 heads and width 12");
  CHECK(error_with("kv_heads", "3") ==
        "exit 4 made.h5: `kv_heads` must divide `heads`, got 3 heads of keys and values and 4 heads");
  CHECK(error_with("prefix", "9") ==
        "exit 4 made.h5: `prefix` must be less than `context`, got a prefix of 9 and a context of 9");
  for (const char* size : {"layers", "heads", "width", "feed_forward", "context", "vocabulary"})
    for (const char* value : {"0", "-1", "-9223372036854775808", "9223372036854775807"}) {
      std::string message = error_with(size, value);
      CHECK_MESSAGE(
          message.starts_with("exit 4 made.h5: `" + std::string(size) + "` must be a whole number from 1 to "),
          message);
      CHECK_MESSAGE(message.ends_with(", got `" + std::string(value) + "`"), message);
    }
  for (const char* size : {"kv_heads", "window", "prefix", "head_width"})
    for (const char* value : {"-1", "1000000000"})
      CHECK(contains(error_with(size, value), "`" + std::string(size) + "` must be a whole number from 0 to "));
}

TEST_CASE("model checkpoint: sizes that its own parameters do not have are refused by name, before a model is made") {
  CHECK(error_with("layers", "1024") ==
        "exit 4 made.h5: `layers` = 1024, but it holds the parameters of 1 blocks (parameters/blocks.<l>, l from 0)");
  CHECK(error_with("vocabulary", "12") ==
        "exit 4 made.h5: parameters/embedding.token.weight is (11, 12), but with `vocabulary` = 12 and `width` = 12 it "
        "is (12, 12); one of these attributes is wrong, or the parameter is");
  CHECK(contains(error_with("width", "65536"), "`width` = 65536"));
  CHECK(contains(error_with("feed_forward", "262144"), "`feed_forward` = 262144"));
  CHECK(contains(error_with("kv_heads", "2"), "(36, 12), but with `heads` = 4, `kv_heads` = 2 and `width` = 12"));
  CHECK(contains(error_with("head_width", "4"),
                 "is (36, 12), but with `heads` = 4, `kv_heads` = 0, `head_width` = 4 "
                 "and `width` = 12 it is (48, 12);"));
  // A second block that has nothing but a name.
  Checkpoint checkpoint = stored_model();
  checkpoint.attributes["layers"] = "2";
  checkpoint.tensors.emplace_back("parameters/blocks.1.x", Tensor::zeros({1}));
  CHECK(contains(error_of([&] { sizes_of(checkpoint); }), "no tensor parameters/blocks.1.attention.qkv.weight"));
}

TEST_CASE("model checkpoint: parameters that the model does not have are refused") {
  ParametersOnly model(kSizes, 2);
  Checkpoint checkpoint = stored_model();
  checkpoint.tensors.emplace_back("optimizer/first_moment/x", Tensor::zeros({1}));
  CHECK(error_of([&] { restore_parameters(checkpoint, model); }) == "no error");
  checkpoint.tensors.emplace_back("parameters/blocks.0.attention.bias", Tensor::zeros({1}));
  CHECK(error_of([&] { restore_parameters(checkpoint, model); }) ==
        "exit 4 made.h5: it holds parameters/blocks.0.attention.bias, which a model of its policies does not have; "
        "engine/io/CHECKPOINT.md lists the parameters");
}

TEST_CASE("model checkpoint: axes say what the numbers of a parameter mean") {
  Checkpoint checkpoint = stored_model();
  CHECK(checkpoint.axes.at("parameters/embedding.token.weight") == "V C");
  CHECK(checkpoint.axes.at("parameters/blocks.0.attention.extra.value") == "D");
}

TEST_CASE("model checkpoint: a small file does not make a large model, whatever sizes it names") {
  struct Case {
    std::string ablation;
    Sizes sizes;       // of the parameters
    std::string says;  // with a context of 65536
  };
  const Sizes wide{
      .layers = 1, .heads = 1, .width = 8192, .feed_forward = 1, .context = 2, .vocabulary = 3, .head_width = 2};
  const Sizes wide_heads{
      .layers = 1, .heads = 1, .width = 2, .feed_forward = 1, .context = 2, .vocabulary = 3, .head_width = 8192};
  for (const auto& [ablation, sizes, says] :
       {Case{"pos_learnable", wide,
             "parameters/embedding.position.weight is (2, 8192), a model of the sizes it names has (65536, 8192)"},
        Case{"pos_absolute", wide, "a table of 65536 positions with 8192 values each is too large"},
        Case{"baseline", wide_heads, "a table of 65536 positions with 4096 values each is too large"}}) {
    CAPTURE(ablation);
    if (!test::is_built(ablation)) continue;
    const Ablation& made = ablation_named(ablation);
    Checkpoint checkpoint;
    store_model(made, *test::make_model(ablation, sizes, DType::F32), checkpoint);
    checkpoint.attributes["context"] = "65536";
    const std::string error = error_of([&] { load_model(checkpoint, made, DType::F32, "test", Device::cpu); });
    CHECK_MESSAGE(error.starts_with("exit 4 "), error);
    CHECK_MESSAGE(contains(error, says), error);
    CHECK(allocator_stats().peak_bytes_in_use < std::size_t{256} << 20);
  }
}
