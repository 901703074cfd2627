// The programs as people call them: train_* init, eval_* sink and logits, train_* --initial, and what they refuse.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "eval/token_sequences.h"
#include "model/checkpoint.h"
#include "tests/support/golden_file.h"
#include "tests/support/subprocess.h"

using namespace sink;
using Json = nlohmann::json;

namespace {

constexpr const char* kSizes =
    " --layers 2 --heads 2 --width 16 --feed-forward 12 --context 20 --task text --vocabulary 30 --seed 4 --out ";

std::string run(const TemporaryFolder& folder, const std::string& line) {
  Subprocess program(folder, words_of(line));
  int code = program.wait();
  CHECK_MESSAGE(code == 0, line, ": ", program.err());
  return program.out();
}

void check_error(const TemporaryFolder& folder, const std::string& line, int code, const std::string& clue) {
  Subprocess program(folder, words_of(line));
  CHECK(program.wait() == code);
  std::string message = program.err();
  CHECK_MESSAGE(message.find(clue) != std::string::npos, line, ": ", message);
  CHECK_MESSAGE(std::count(message.begin(), message.end(), '\n') == 1, message);
}

std::string checkpoint_in(const TemporaryFolder& folder, const std::string& ablation, const std::string& more = "") {
  std::string path = folder / (ablation + ".h5");
  run(folder, "train_" + ablation + " init" + kSizes + path + more);
  return path;
}

void check_shape(const GoldenFile& file, const std::string& name, const Shape& shape) {
  CHECK_MESSAGE(file.tensor(name).shape() == shape, name, ": ", file.tensor(name).str());
}

}  // namespace

TEST_CASE("init: writes the parameters that the same settings start a run from, and the same bytes every time") {
  TemporaryFolder folder;
  std::string first = checkpoint_in(folder, "baseline"), bytes = read_bytes(first);
  Checkpoint checkpoint = load_checkpoint(first);
  CHECK(checkpoint.attribute("ablation") == "baseline");
  CHECK(checkpoint.integer("vocabulary") == 30);
  CHECK(checkpoint.integer("step") == 0);
  CHECK(checkpoint.tensor("parameters/unembedding.weight").shape() == Shape{30, 16});
  CHECK(read_bytes(checkpoint_in(folder, "baseline")) == bytes);
  CHECK(read_bytes(checkpoint_in(folder, "baseline", " --seed 5")) != bytes);
  check_error(folder, "train_baseline init --vocabulary 30", 2, "--out");
  check_error(folder, "train_baseline init --out " + first, 2, "--vocabulary");
  check_error(folder, "train_baseline init --vocabulary none --out " + first, 2, "`none`");
  check_error(folder, "train_baseline init --vocabulary 30 --heads 3 --out " + first, 2, "--heads");
}

TEST_CASE("initial: a run starts from the parameters of a checkpoint, of the same policies and sizes") {
  TemporaryFolder folder;
  std::string sizes = " --layers 1 --heads 2 --width 16 --feed-forward 12 --context 20 --task bigram-backcopy",
              initial = folder / "initial.h5", run_flags = " --steps 1 --warmup 0 --batch 2 --eval-sequences 2 --run ";
  run(folder, "train_baseline init" + sizes + " --seed 9 --out " + initial);
  // Seed 1 draws other values; a learning rate of 0 leaves the ones it was given.
  run(folder,
      "train_baseline" + sizes + " --seed 1 --learning-rate 0 --initial " + initial + run_flags + (folder / "a"));
  Checkpoint given = load_checkpoint(initial), after = load_checkpoint(folder / "a/checkpoint.h5");
  for (const auto& [path, tensor] : given.tensors)
    for (std::int64_t i = 0; i < tensor.size(); ++i) REQUIRE(after.tensor(path).item(i) == tensor.item(i));
  check_error(folder, "train_baseline" + sizes + " --layers 2 --initial " + initial + run_flags + (folder / "b"), 2,
              "layers = 1");
  check_error(folder, "train_baseline" + sizes + " --resume " + initial + run_flags + (folder / "c"), 2, "--initial");
  check_error(folder, "train_bias_kv" + sizes + " --initial " + initial + run_flags + (folder / "d"), 4,
              "train_baseline");
}

TEST_CASE("sink: any input, any length up to the context, and every documented key") {
  TemporaryFolder folder;
  std::string checkpoint = checkpoint_in(folder, "bias_kv");
  Json json = Json::parse(run(folder, "eval_bias_kv sink " + checkpoint + " --input random --sequences 7"));
  CHECK(json["sequences"] == 7);
  CHECK(json["context"] == 20);  // 64, or the training context if it is shorter
  CHECK(json["input"] == "random");
  CHECK(json["extra"] == "key");
  for (const char* key : {"val_loss", "alpha_1", "alpha_1_raw", "alpha_1_max", "row_mass", "slot_mass", "entropy",
                          "alpha_star", "alpha_star_raw", "first_value_norm_ratio"})
    CHECK_MESSAGE(json[key].is_number(), key);
  auto check_table = [&](const char* key, std::size_t rows, std::size_t columns) {
    CHECK_MESSAGE(json[key].size() == rows, key);
    CHECK_MESSAGE(json[key][rows - 1].size() == columns, key);
  };
  check_table("sink_k_epsilon", 3, 10);
  check_table("alpha_1_layer_head", 2, 2);
  check_table("alpha_star_layer_head_raw", 2, 2);
  check_table("row_mass_layer_head", 2, 2);
  check_table("slot_mass_layer_head", 2, 2);
  check_table("entropy_layer_head", 2, 2);
  check_table("hidden_norm_layer_position", 3, 20);
  check_table("key_norm_layer_position", 2, 20);
  CHECK(json["alpha_layer_head_k"][1][1].size() == 10);
  CHECK(json["sink_star"].size() == 3);
  CHECK(json["massive_ratio_layer"].size() == 3);
  CHECK(json["qk_first_key"]["cosine"][1].size() == 2);
  CHECK(json["qk_other_keys"]["norm_product"][1].size() == 2);
  CHECK(json["input_seed"] == 0);
  CHECK(json["maps"]["extra_key"] == true);
  CHECK(json["maps"]["weights"].size() == 4);
  CHECK(json["maps"]["weights"][3][1][1].size() == 20);
  CHECK(json["maps"]["weights"][3][1][1][19].size() == 21);
  CHECK(json["row_mass"].get<double>() + json["slot_mass"].get<double>() == doctest::Approx(1));

  json = Json::parse(run(folder, "eval_bias_kv sink " + checkpoint + " --input repeated --context 12 --map 1,0"));
  CHECK(json["context"] == 12);
  CHECK(json["sequences"] == 100);
  CHECK(json["maps"]["chosen"] == Json({{"sequence", 0}, {"layer", 1}, {"head", 0}}));
  std::string first = json["maps"]["tokens"][0][0];
  for (const Json& token : json["maps"]["tokens"][0]) CHECK(token == first);
  Json other = Json::parse(
      run(folder, "eval_bias_kv sink " + checkpoint + " --input repeated --context 12 --map none --seed 1"));
  CHECK_FALSE(other.contains("maps"));
  CHECK(other["alpha_1"] != json["alpha_1"]);

  check_error(folder, "eval_bias_kv sink " + checkpoint + " --input random --context 21", 2, "20 tokens");
  check_error(folder, "eval_bias_kv sink " + checkpoint, 2, "--data");
  check_error(folder, "eval_bias_kv sink " + checkpoint + " --input random --map 2,0", 2, "layer");
  check_error(folder, "eval_bias_kv sink " + checkpoint + " --input random --map first", 2, "LAYER,HEAD");
  check_error(folder, "eval_baseline sink " + checkpoint + " --input random", 4, "eval_bias_kv");
}

TEST_CASE("logits: the file holds what was asked for, in the sizes that CHECKPOINT.md names") {
  TemporaryFolder folder;
  std::string checkpoint = checkpoint_in(folder, "bias_kv", " --kv-heads 1"), out = folder / "numbers.h5";
  write_bytes(folder / "tokens.txt", "1 2 3 4 5\n\n29, 0,7,7 8\n6 5 4 3 2");
  std::string command =
      "eval_bias_kv logits --checkpoint " + checkpoint + " --tokens " + (folder / "tokens.txt") + " --out " + out + " ";
  CHECK(run(folder, command + "--layers 1 --batch 2") == out + "\n");
  {
    GoldenFile file(out);
    check_shape(file, "tokens", {3, 5});
    CHECK(file.tensor("tokens").item(5) == 29);
    check_shape(file, "logits", {3, 5, 30});
    check_shape(file, "token_loss", {3, 4});
    check_shape(file, "hidden/1", {3, 5, 16});
    check_shape(file, "hidden/2", {3, 5, 16});
    check_shape(file, "blocks/1/query", {3, 2, 5, 8});
    check_shape(file, "blocks/1/key", {3, 1, 5, 8});
    check_shape(file, "blocks/1/value", {3, 1, 5, 8});
    check_shape(file, "blocks/1/attention", {3, 2, 5, 6});
    CHECK_FALSE(file.has("hidden/0"));
    CHECK_FALSE(file.has("blocks/0"));
    double mean = 0;
    for (std::int64_t i = 0; i < 12; ++i) mean += file.tensor("token_loss").item(i) / 12;
    CHECK(file.tensor("loss").item() == doctest::Approx(mean).epsilon(1e-6));
  }
  run(folder, command + "--precision f64");
  GoldenFile file(out);
  CHECK(file.has("hidden/0"));
  double mean = 0;
  for (std::int64_t i = 0; i < 12; ++i) mean += file.tensor("token_loss").item(i) / 12;
  CHECK(file.tensor("loss").item() == doctest::Approx(mean).epsilon(1e-13));

  check_error(folder, command + "--layers 2", 2, "layers from 0 to 1");
  check_error(folder, command + "--precision bf16", 2, "precision");
  std::string before = read_bytes(out);
  write_bytes(folder / "tokens.txt", "1 2 30\n");
  check_error(folder, command, 3, "30");
  CHECK(read_bytes(out) == before);
  check_error(folder,
              "eval_bias_kv logits --checkpoint " + checkpoint + " --tokens " + (folder / "tokens.txt") + " --out " +
                  (folder / "none/numbers.h5"),
              3, "30");
}

TEST_CASE("logits: token files that cannot be used are refused, saying where") {
  TemporaryFolder folder;
  std::string path = folder / "tokens";
  auto error = [&](const std::string& bytes) {
    write_bytes(path, bytes);
    return error_of([&] { read_token_sequences(path, 30, 5); });
  };
  CHECK(error("1 2\n3\t4\r\n") == "no error");
  CHECK(read_token_sequences(path, 30, 5).shape() == Shape{2, 2});
  CHECK(error("1 2\n3 x4\n") == "exit 3 " + path + ": line 2: expected token ids, got `x4`");
  CHECK(contains(error("1 2\n\n3 4 5\n"), "line 3 has 3 ids, the first sequence has 2"));
  CHECK(contains(error("1 -2\n"), "token 2 of sequence 1 is -2"));
  CHECK(contains(error("1 2\n3 30\n"), "token 2 of sequence 2 is 30; expected an id from 0 to 29"));
  CHECK(contains(error("1 99999999999\n"), "99999999999"));
  CHECK(contains(error("1 2 3 4 5 6\n"), "6 tokens, the model takes at most 5"));
  CHECK(contains(error("7\n8\n"), "at least two"));
  CHECK(contains(error("\n \n"), "at least two"));
  CHECK(contains(error("\x89HDF\r\n\x1a\nand nothing"), "exit 3"));
  std::filesystem::remove(path);
  CHECK(contains(error_of([&] { read_token_sequences(path, 30, 5); }), "exit 3"));
}
