// Command lines of train_* init, eval_* sink and logits and train_* --initial, with their errors.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "engine/data/tokenizer/tokenizer.h"
#include "engine/io/checkpoint.h"
#include "engine/io/hdf5_file.h"
#include "engine/io/sha256.h"
#include "eval/token_sequences.h"
#include "tests/support/check_command.h"
#include "tests/support/golden_file.h"
#include "tests/support/in_turn.h"

using namespace sink;
using Json = nlohmann::json;

namespace {

constexpr const char* kSizes =
    " --layers 2 --heads 2 --width 16 --feed-forward 12 --context 20 --task text --vocabulary 30 --seed 4 --out ";

std::string checkpoint_in(const TemporaryFolder& folder, const std::string& ablation, const std::string& more = "") {
  std::string path = folder / (ablation + ".h5");
  output_of(folder, "train_" + ablation + " init" + kSizes + path + more);
  return path;
}

// A checkpoint from another program, made by changing one of ours.
std::string changed(const std::string& path, const std::function<void(Checkpoint&)>& change) {
  Checkpoint checkpoint = load_checkpoint(path);
  change(checkpoint);
  std::string to = path.substr(0, path.size() - 3) + "-changed.h5";
  save_checkpoint(to, checkpoint);
  return to;
}
std::string with_attribute(const std::string& path, const std::string& name, const std::string& value) {
  return changed(path, [&](Checkpoint& checkpoint) { checkpoint.attributes[name] = value; });
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
  output_of(folder, "train_baseline init" + sizes + " --seed 9 --out " + initial);
  // Seed 1 draws other values; a learning rate of 0 leaves the ones it was given.
  output_of(folder,
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

TEST_CASE("initial: rotations that were slowed down for the context of the checkpoint stay as they are") {
  if (!std::filesystem::exists(program_path("train_llama3"))) return;  // a build of few programs
  TemporaryFolder folder;
  const std::string sizes =
                        "train_llama3 --layers 1 --heads 2 --width 16 --feed-forward 12 --task bigram-backcopy "
                        "--rotary-factor 8 --context ",
                    initial = folder / "initial.h5";
  output_of(folder, "train_llama3 init" + sizes.substr(sizes.find(' ')) + "40 --out " + initial);
  const std::string shorter = sizes + "20 --steps 1 --warmup 0 --batch 2 --eval-sequences 2 --initial " + initial +
                              " --run " + (folder / "run");
  check_error(folder, shorter, 2, "this run has 20: give --rotary-context 40");
  output_of(folder, shorter + " --rotary-context 40");
}

TEST_CASE("sink: any input, any length up to the context, and every documented key") {
  TemporaryFolder folder;
  std::string checkpoint = checkpoint_in(folder, "bias_kv");
  Json json = Json::parse(output_of(folder, "eval_bias_kv sink " + checkpoint + " --input random --sequences 7"));
  CHECK(json["sequences"] == 7);
  CHECK(json["context"] == 20);  // 64, or the training context if it is shorter
  CHECK(json["input"] == "random");
  CHECK(json["extra"] == "key");
  for (const char* key : {"val_loss", "alpha_1", "alpha_1_raw", "alpha_1_max", "row_mass", "extra_key_mass", "entropy",
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
  check_table("extra_key_mass_layer_head", 2, 2);
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
  CHECK(json["row_mass"].get<double>() + json["extra_key_mass"].get<double>() == doctest::Approx(1));

  json = Json::parse(output_of(folder, "eval_bias_kv sink " + checkpoint + " --input repeated --context 12 --map 1,0"));
  CHECK(json["context"] == 12);
  CHECK(json["sequences"] == 100);
  CHECK(json["maps"]["chosen"] == Json({{"sequence", 0}, {"layer", 1}, {"head", 0}}));
  std::string first = json["maps"]["tokens"][0][0];
  for (const Json& token : json["maps"]["tokens"][0]) CHECK(token == first);
  Json other = Json::parse(
      output_of(folder, "eval_bias_kv sink " + checkpoint + " --input repeated --context 12 --map none --seed 1"));
  CHECK_FALSE(other.contains("maps"));
  CHECK(other["alpha_1"] != json["alpha_1"]);

  check_error(folder, "eval_bias_kv sink " + checkpoint + " --input random --context 21", 2, "20 tokens");
  check_error(folder, "eval_bias_kv sink " + checkpoint, 2, "--data");
  check_error(folder, "eval_bias_kv sink " + checkpoint + " --input random --data none", 2, "--data is not read");
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
  CHECK(output_of(folder, command + "--layers 1 --batch 2") == out + "\n");
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
  output_of(folder, command + "--precision f64");
  GoldenFile file(out);
  CHECK(file.has("hidden/0"));
  double mean = 0;
  for (std::int64_t i = 0; i < 12; ++i) mean += file.tensor("token_loss").item(i) / 12;
  CHECK(file.tensor("loss").item() == doctest::Approx(mean).epsilon(1e-13));

  check_error(folder, command + "--layers 2", 2, "--layers must be from 0 to 1");
  check_error(folder, command + "--precision bf16", 2, "precision");
  check_error(folder, command + "--precision tf32", 2, "needs --device cuda");
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

TEST_CASE("prefix and window: the attribute of a checkpoint is the truth, not what its settings once were") {
  TemporaryFolder folder;
  std::string path = folder / "prefix.h5",
              sizes = " --layers 1 --heads 2 --width 16 --feed-forward 12 --context 20 --task bigram-backcopy";
  output_of(folder, "train_baseline init" + sizes + " --window 4 --prefix 5 --out " + path);
  auto loss = [&](const std::string& checkpoint) {
    return Json::parse(output_of(folder, "eval_baseline sink --map none --sequences 9 " + checkpoint))["val_loss"]
        .get<double>();
  };
  double own = loss(path);
  for (const char* settings : {"task = \"bigram-backcopy\"\nprefix = 0\n", "task = \"bigram-backcopy\"\nprefix = 9\n"})
    CHECK(loss(with_attribute(path, "config_toml", settings)) == own);
  CHECK(loss(with_attribute(path, "prefix", "0")) != own);
  check_error(folder, "eval_baseline sink --context 5 " + path, 2,
              "--context must be more than the 5 tokens of the checkpoint's prefix, got 5");
  check_error(folder, "eval_baseline sink --input random --context 4 " + path, 2, "prefix");

  std::string begin = "train_baseline" + sizes + " --steps 1 --warmup 0 --batch 2 --eval-sequences 2 --initial " +
                      path + " --run " + (folder / "run");
  check_error(folder, begin + " --prefix 5", 2, path + " has window = 4, this run has 0: give --window 4");
  check_error(folder, begin + " --window 4", 2, path + " has prefix = 5, this run has 0: give --prefix 5");
  output_of(folder, begin + " --window 4 --prefix 5");
}

TEST_CASE("logits: with a prefix the loss is the mean that training takes, over the targets it does not give away") {
  TemporaryFolder folder;
  std::string path = checkpoint_in(folder, "baseline", " --prefix 3"), out = folder / "numbers.h5";
  auto command = [&](const std::string& tokens) {
    write_bytes(folder / "tokens.txt", tokens);
    return "eval_baseline logits --precision f64 --checkpoint " + path + " --tokens " + (folder / "tokens.txt") +
           " --out " + out;
  };
  output_of(folder, command("1 2 3 4 5 6\n7 8 9 10 11 12\n") + " --batch 1");
  GoldenFile file(out);
  double mean = 0, all = 0;
  for (std::int64_t i = 0; i < 10; ++i) {
    all += file.tensor("token_loss").item(i) / 10;
    if (i % 5 >= 2) mean += file.tensor("token_loss").item(i) / 6;  // of token 4 on: 1 to 3 are seen by all
  }
  CHECK(file.tensor("loss").item() == doctest::Approx(mean).epsilon(1e-13));
  CHECK(std::abs(mean - all) > 1e-4);
  check_error(folder, command("1 2 3\n"), 3, "sequences have 3 tokens, expected more than the prefix of 3");
}

TEST_CASE("eval: a checkpoint whose attributes or parameters no model has is refused, whatever they say") {
  TemporaryFolder folder;
  std::string path = checkpoint_in(folder, "baseline");
  auto check = [&](const std::string& checkpoint, const std::string& clue) {
    check_error(folder, "eval_baseline sink --input random --sequences 1 " + checkpoint, 4, clue);
  };
  for (const char* size : {"layers", "heads", "width", "feed_forward", "context", "vocabulary"})
    for (const char* value : {"0", "-3", "1000000000"})
      if (test::in_turn())
        check(with_attribute(path, size, value), "`" + std::string(size) + "` must be a whole number from 1 to ");
  for (const char* size : {"kv_heads", "window", "prefix"})
    check(with_attribute(path, size, "-1"), "`" + std::string(size) + "` must be a whole number from 0 to ");
  check(with_attribute(path, "heads", "3"), "`heads` must divide `width`, got 3 heads and width 16");
  check(with_attribute(path, "heads", "16"),
        "rotary positions need an even width of a head (width / heads, or head_width), got 1");
  check(with_attribute(path, "prefix", "20"),
        "`prefix` must be less than `context`, got a prefix of 20 and a context of 20");
  check(with_attribute(path, "layers", "1"), "`layers` = 1, but it holds the parameters of 2 blocks");
  check(with_attribute(path, "config_toml", "seed = -1\n"), "(config_toml): seed must be a whole number from 0 to ");
  check(with_attribute(path, "config_toml", "batch = 3\nseed 1\n"), "(config_toml): line 2 is `seed 1`, expected key");
  check(
      changed(path, [](Checkpoint& c) { c.tensors.emplace_back("parameters/unembedding.bias", Tensor::zeros({30})); }),
      "parameters/unembedding.bias, which a model of its policies does not have");
}

TEST_CASE("eval: the first line on stderr has model, parameters, precision, device, threads and file") {
  TemporaryFolder folder;
  const std::string checkpoint = checkpoint_in(folder, "bias_kv");
  write_bytes(folder / "tokens.txt", "1 2 3 4 5 6 7 8 9 10\n");
  const std::string given = " " + checkpoint + " --threads 1 --tokens " + (folder / "tokens.txt");
  std::int64_t parameters = 0;
  for (const auto& [name, tensor] : load_checkpoint(checkpoint).tensors) parameters += tensor.size();
  const std::string line = "evaluating bias_kv: " + std::to_string(parameters) +
                           " parameters, f32 on the CPU with 1 thread; " + checkpoint + "\n";
  for (const std::string& command :
       {"sink" + given, "interventions" + given, "quantise" + given, "stream" + given, "generate" + given,
        "logits --checkpoint" + given + " --out " + (folder / "numbers.h5")}) {
    CAPTURE(command);
    Subprocess program(folder, words_of("eval_bias_kv " + command));
    CHECK(program.wait() == 0);
    CHECK_MESSAGE(program.err().starts_with(line), program.err());
  }
}

TEST_CASE("eval: a file that is no checkpoint, or not as one is stored, is told what it lacks") {
  TemporaryFolder folder;
  std::string path = folder / "made.h5", body;
  {
    Hdf5Image image(kChecksumHeaderBytes);
    image.add_text_attribute("format", "sinklab-checkpoint");
    image.add_tensor("parameters/x", Tensor::zeros({2}, DType::F64), "");
    auto [bytes, size] = image.bytes();
    body.assign(bytes, size);
  }
  write_bytes(path, body.substr(kChecksumHeaderBytes));
  check_error(folder, "eval_baseline sink " + path, 4, "engine/io/CHECKPOINT.md");
  write_bytes(path, body);
  check_error(folder, "eval_baseline sink " + path, 4, "engine/io/CHECKPOINT.md");

  hid_t file = -1, creation = H5Pcreate(H5P_FILE_CREATE), space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
  H5Pset_userblock(creation, kChecksumHeaderBytes);
  file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT);
  H5Tset_size(type, 18);
  hid_t format = H5Acreate2(file, "format", type, space, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite(format, type, "sinklab-checkpoint");
  hsize_t two = 2;
  hid_t line = H5Screate_simple(1, &two, nullptr);
  hid_t dataset = H5Dcreate2(file, "x", H5T_IEEE_F64BE, line, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  double numbers[2] = {1, 2};
  H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers);
  H5Dclose(dataset), H5Aclose(format), H5Tclose(type), H5Sclose(space), H5Sclose(line), H5Pclose(creation);
  H5Fclose(file);
  body = read_bytes(path).substr(kChecksumHeaderBytes);
  write_bytes(path, make_checksum_header(kCheckpointFormat, body.data(), body.size()) + body);
  check_error(folder, "eval_baseline sink " + path, 4, "x is big-endian f64; expected little-endian f32 or f64");
}

TEST_CASE("eval sink: --epsilon and --length add a table and leave the other scores as they are") {
  TemporaryFolder folder;
  std::string path = folder / "small.h5";
  output_of(folder,
            "train_baseline init --layers 1 --heads 2 --width 16 --feed-forward 12 --context 20 --prefix 2 --task "
            "bigram-backcopy --out " +
                path);
  std::string sink = "eval_baseline sink --threads 1 --input random --sequences 5 " + path;
  Json plain = Json::parse(output_of(folder, sink)),
       both = Json::parse(output_of(folder, sink + " --epsilon 0,0.3,1 --length 20,5"));
  CHECK_FALSE(plain.contains("by_length"));
  CHECK(both["by_length"]["length"] == Json({20, 5}));
  CHECK(both["by_length"]["epsilon"] == Json({0, 0.3, 1}));
  CHECK(both["by_length"]["alpha_k"][0] == plain["alpha_k"]);
  CHECK(both["by_length"]["sink_k"][0][0][0] == 100);
  CHECK(both["by_length"]["sink_k"][0][1] == plain["sink_k"]);
  CHECK(both["by_length"]["sink_k_raw"][1].size() == 3);
  CHECK(both["by_length"]["sink_k_raw"][1][0].size() == 5);
  for (const char* key : {"sink_epsilon", "sink_1", "val_loss", "context"}) CHECK_MESSAGE(plain[key] == both[key], key);
  Json shorter = Json::parse(output_of(folder, sink + " --length 6,4"));
  CHECK(shorter["context"] == 6);
  CHECK(shorter["by_length"]["epsilon"] == Json({0.2, 0.3, 0.4}));
  CHECK(Json::parse(output_of(folder, sink + " --epsilon 0.1"))["by_length"]["length"] == Json({20}));
  check_error(folder, sink + " --length 21", 2, "--length must be at most the 20 tokens of the model, got 21");
  check_error(folder, sink + " --length 2", 2, "--length must be more than the 2 tokens");
  check_error(folder, sink + " --context 8 --length 9", 2, "--length must be at most the 8 tokens that are read");
  check_error(folder, sink + " --epsilon 1.5", 2, "--epsilon");
  check_error(folder, sink + " --length 0", 2, "--length");
}

TEST_CASE("text and tokens: a sentence is measured as the ids that `tokens` prints of it") {
  TemporaryFolder folder;
  Tokenizer tokenizer = Tokenizer::train({"the cat sat on the mat"}, 262);
  std::string sizes = " --layers 1 --heads 2 --width 16 --feed-forward 12 --context 20 --task text --vocabulary ",
              bare = folder / "bare.h5", small = folder / "small.h5";
  output_of(folder, "train_baseline init" + sizes + "262 --out " + bare);
  output_of(folder, "train_baseline init" + sizes + "30 --out " + small);
  std::string path = with_attribute(bare, "tokenizer_json", tokenizer.json());
  write_bytes(folder / "cat.txt", "the cat\n");
  std::vector<std::int32_t> ids = tokenizer.encode("the cat");
  std::string line;
  for (std::int32_t id : ids) line += (line.empty() ? "" : " ") + std::to_string(id);

  std::string file = " --text-file " + (folder / "cat.txt");
  CHECK(output_of(folder, "eval_baseline tokens " + path + file) == line + "\n");
  write_bytes(folder / "ids.txt", line + "\n");
  Json sentence = Json::parse(output_of(folder, "eval_baseline sink --threads 1 " + path + file));
  Json tokens = Json::parse(output_of(folder, "eval_baseline sink " + path + " --tokens " + (folder / "ids.txt")));
  CHECK(sentence["input"] == "sentence");
  CHECK(tokens["input"] == "tokens");
  CHECK(sentence["data"] == folder / "cat.txt");
  CHECK(sentence["input_sha256"] == tokens["input_sha256"]);  // the same ids
  CHECK(sentence["input_sha256"] == sha256_hex({reinterpret_cast<const char*>(ids.data()), 4 * ids.size()}));
  CHECK(sentence["sequences"] == 1);
  CHECK(sentence["context"] == ids.size());
  CHECK(sentence["maps"]["tokens"][0][0] == tokenizer.token_text(ids[0]));
  for (const char* key : {"val_loss", "alpha_1", "alpha_k", "maps"}) CHECK_MESSAGE(sentence[key] == tokens[key], key);
  output_of(folder,
            "eval_baseline logits --threads 1 --checkpoint " + path + file + " --out " + (folder / "numbers.h5"));
  check_shape(GoldenFile(folder / "numbers.h5"), "tokens", {1, static_cast<std::int64_t>(ids.size())});

  // Cut into sequences; those of a run with a fixed first token all begin with it.
  std::string other = folder / "fixed.h5";
  std::filesystem::copy_file(path, other);
  std::string fixed = with_attribute(other, "config_toml", "fixed-first-token = 7\n");
  write_bytes(folder / "mat.txt", "the cat sat on the mat");
  ids = tokenizer.encode("the cat sat on the mat");
  std::string cut;
  for (std::size_t i = 0; i + 1 < ids.size(); i += 2)
    (cut += "7 ").append(std::to_string(ids[i])).append(" ").append(std::to_string(ids[i + 1])).append("\n");
  CHECK(output_of(folder, "eval_baseline tokens --context 3 --text-file " + (folder / "mat.txt") + " " + fixed) == cut);
  // No sequence of the run had a token of probability 0.
  const std::string never =
      with_attribute(other, "config_toml", "fixed-token = 7\nfixed-position = 2\nfixed-probability = 0\n");
  CHECK(output_of(folder, "eval_baseline tokens " + never + file) == line + "\n");
  const std::string often = with_attribute(other, "config_toml", "fixed-token = 7\nfixed-probability = 0.5\n");
  CHECK(output_of(folder, "eval_baseline tokens " + often + file) == "7 " + line + "\n");
  std::string second = with_attribute(path, "config_toml", "fixed-token = 7\nfixed-position = 2\n");
  std::string after_first = line;
  after_first.insert(line.find(' '), " 7");
  CHECK(output_of(folder, "eval_baseline tokens " + second + file) == after_first + "\n");
  CHECK(output_of(folder, "eval_baseline tokens --text t " + second) ==
        std::to_string(tokenizer.encode("t").at(0)) + " 7\n");
  Json moved = Json::parse(output_of(folder, "eval_baseline sink " + second + file));
  CHECK(moved["alpha_fixed"] == moved["alpha_k"][1]);
  CHECK_FALSE(Json::parse(output_of(folder, "eval_baseline sink --input random " + second)).contains("alpha_fixed"));

  // --data has a tokenizer where the checkpoint has none.
  write_bytes(folder / "tokenizer.json", tokenizer.json());
  CHECK(output_of(folder, "eval_baseline tokens " + bare + file + " --data " + folder.path) == line + "\n");
  check_error(folder, "eval_baseline sink " + bare + file, 2, "has no tokenizer: give --data FOLDER");
  check_error(folder, "eval_baseline sink " + path + file + " --data none", 2, "the checkpoint has a tokenizer");
  check_error(folder, "eval_baseline sink " + small + file + " --data " + folder.path, 3, "vocabulary 30 tokens");
  check_error(folder, "eval_baseline sink " + path + " --text x --context 9", 3, "the text has 1 token,");
  check_error(folder, "eval_baseline sink " + path + " --text x --tokens y", 2, "--t");
  check_error(folder, "eval_baseline sink " + path + " --text x --input random", 2, "--input");
  check_error(folder, "eval_baseline logits --checkpoint " + path + " --out " + (folder / "none.h5"), 2, "--tokens");
  check_error(folder, "eval_baseline tokens " + path, 2, "--text");
}

namespace {

// A checkpoint of a context of 20 whose tokenizer is of bytes.
std::string checkpoint_with_text(const TemporaryFolder& folder, const Tokenizer& tokenizer) {
  const std::string path = folder / "text.h5";
  output_of(
      folder,
      "train_baseline init --layers 1 --heads 2 --width 16 --feed-forward 12 --context 20 --task text --vocabulary 262 "
      "--out " +
          path);
  return with_attribute(path, "tokenizer_json", tokenizer.json());
}

std::string printed(const Tokenizer& tokenizer, const std::string& text) {
  std::string line;
  for (const std::int32_t id : tokenizer.encode(text)) line += (line.empty() ? "" : " ") + std::to_string(id);
  return line;
}

}  // namespace

TEST_CASE("text files: a byte order mark and the last line end are no text; standard input; all of a long text") {
  const TemporaryFolder folder;
  const Tokenizer tokenizer = Tokenizer::train({"the cat sat on the mat"}, 262);
  const std::string path = checkpoint_with_text(folder, tokenizer), ids = printed(tokenizer, "the cat"),
                    mark = "\xEF\xBB\xBF", cat = folder / "cat.txt";
  for (const std::string& bytes : {mark + "the cat", std::string("the cat\r\n"), mark + "the cat\r\n"}) {
    write_bytes(cat, bytes);
    CHECK(output_of(folder, "eval_baseline tokens " + path + " --text-file " + cat) == ids + "\n");
    Subprocess piped(folder,
                     {"/bin/sh", "-c", program_path("eval_baseline") + " tokens --text-file - " + path + " < " + cat});
    CHECK(piped.wait() == 0);
    CHECK(piped.out() == ids + "\n");
  }
  write_bytes(cat, "the\xEF\xBB\xBF cat\n\n");  // these are text
  CHECK(output_of(folder, "eval_baseline tokens " + path + " --text-file " + cat) ==
        printed(tokenizer, "the\xEF\xBB\xBF cat\n") + "\n");
  auto measured = [&](const std::string& name, const std::string& bytes, const std::string& flags) {
    write_bytes(folder / name, bytes);
    return Json::parse(
        output_of(folder, "eval_baseline sink --threads 1 " + path + flags + (folder / name)))["alpha_k"];
  };
  CHECK(measured("marked.txt", mark + ids, " --tokens ") == measured("ids.txt", ids, " --tokens "));
  const std::string line = "{\"text\": \"the cat\"}\r\n";
  CHECK(measured("marked.jsonl", mark + line, " --context 3 --text-file ") ==
        measured("plain.jsonl", line, " --context 3 --text-file "));

  std::string words;  // of more tokens than the context
  for (int n = 0; n < 60; ++n) words += "x";
  write_bytes(cat, words);
  Subprocess all(folder, words_of("eval_baseline tokens " + path + " --text-file " + cat));
  CHECK(all.wait() == 0);
  CHECK(all.out() == printed(tokenizer, words) + "\n");
  CHECK(contains(all.err(), "note: the model reads at most 20 of these 60 tokens at once"));
}

TEST_CASE("one token: its id, its logits, and a first token with all the attention, but no loss") {
  const TemporaryFolder folder;
  const Tokenizer tokenizer = Tokenizer::train({"the cat sat on the mat"}, 262);
  const std::string path = checkpoint_with_text(folder, tokenizer), x = std::to_string(tokenizer.encode("x").at(0));
  CHECK(output_of(folder, "eval_baseline tokens --text x " + path) == x + "\n");
  output_of(folder, "eval_baseline logits --text x " + path + " --out " + (folder / "one.h5"));
  output_of(folder, "eval_baseline logits --text xy " + path + " --out " + (folder / "two.h5"));
  const GoldenFile one(folder / "one.h5"), two(folder / "two.h5");
  check_shape(one, "logits", {1, 1, 262});
  check_shape(one, "blocks/0/attention", {1, 2, 1, 1});
  for (std::int64_t v = 0; v < 262; ++v) CHECK(one.tensor("logits").item(v) == two.tensor("logits").item(v));
  Subprocess sink(folder, words_of("eval_baseline sink --text x " + path));
  CHECK(sink.wait() == 0);
  CHECK(contains(sink.err(), "1 sequence of 1 token (sentence), no loss"));
  const Json json = Json::parse(sink.out());
  CHECK(json["alpha_1"] == 1);
  CHECK(json["val_loss"] == "nan");
  for (const char* command : {"interventions", "quantise"})
    check_error(folder, std::string("eval_baseline ") + command + " --text x " + path, 3, "at least two tokens, got 1");
}

TEST_CASE("--bos and --no-bos: a text with the begin token of the model or without it; a second one is noted") {
  const TemporaryFolder folder;
  const Tokenizer tokenizer = Tokenizer::train({"the cat sat on the mat"}, 262);
  std::string path = checkpoint_with_text(folder, tokenizer);
  const std::string ids = printed(tokenizer, "cat") + "\n", end = std::to_string(tokenizer.end_of_text());
  auto tokens = [&](const std::string& flags, const std::string& text = "cat", int notes = 0) {
    Subprocess program(folder, words_of("eval_baseline tokens " + path + flags + " --text " + text));
    CHECK(program.wait() == 0);
    const std::string err = program.err();
    CHECK_MESSAGE(std::count(err.begin(), err.end(), '\n') == notes, err);
    if (notes > 0) CHECK_MESSAGE(contains(err, "so the model reads it twice"), err);
    return program.out();
  };
  const std::string tokens_of_file = " --tokens " + (folder / "ids.txt");
  write_bytes(folder / "ids.txt", "1 2 3\n");
  CHECK(tokens("") == ids);
  CHECK(tokens(" --no-bos") == ids);
  check_error(folder, "eval_baseline tokens --bos --text cat " + path, 2, "names no begin token: leave out --bos");
  path = with_attribute(path, "prefix_token", end);  // as SmolLM2, whose tokenizer does not add it
  CHECK(tokens("") == ids);
  CHECK(tokens(" --bos") == end + " " + ids);
  path = with_attribute(path, "begin_token", end);
  CHECK(tokens("") == end + " " + ids);
  CHECK(tokens(" --bos") == end + " " + ids);
  CHECK(tokens(" --no-bos") == ids);
  CHECK(tokens("", "<|endoftext|>cat", 1) == end + " " + end + " " + ids);
  CHECK(tokens(" --no-bos", "<|endoftext|>cat") == end + " " + ids);
  write_bytes(folder / "two.jsonl", "{\"text\": \"<|endoftext|>cat\"}\n{\"text\": \"<|endoftext|>mat\"}\n");
  Subprocess lines(folder,
                   words_of("eval_baseline sink --context 3 " + path + " --text-file " + (folder / "two.jsonl")));
  CHECK(lines.wait() == 0);
  CHECK(contains(lines.err(), "note: 2 texts begin with <|endoftext|>"));
  const std::string said = output_of(folder, "eval_baseline attention --no-bos --text cat " + path);
  CHECK_MESSAGE(contains(said, "no begin token (--no-bos)"), said);
  path = with_attribute(path, "config_toml", "fixed-token = 7\n");
  CHECK(tokens("") == "7 " + ids);
  CHECK(tokens(" --no-bos") == ids);
  for (const char* command : {"attention", "view", "sink", "lens", "logits --out none.h5", "interventions", "quantise",
                              "explain", "generate", "stream"}) {
    if (!test::in_turn()) continue;
    const std::string line = std::string("eval_baseline ") + command + " --no-bos " + path;
    check_error(folder, line, 2, "--bos: needs --text or --text-file");
    check_error(folder, line + tokens_of_file, 2, "--tokens");
  }
  path = with_attribute(path, "text_note", "a note");
  path = with_attribute(path, "begin_rule", "the rule of llama2.c");
  Subprocess noted(folder, words_of("eval_baseline tokens --text a<s>b " + path));
  CHECK(noted.wait() == 0);
  CHECK(noted.err() == "note: a note\nnote: <s> in the text becomes one id here; llama2.c reads it as characters\n");
}

TEST_CASE(
    "attention: a text longer than the context is that of a model with a larger one, or refused by its positions") {
  const TemporaryFolder folder;
  std::string ids;
  for (int n = 0; n < 26; ++n) ids += std::to_string(n * 7 % 30) + " ";
  write_bytes(folder / "ids.txt", ids + "\n");
  auto initial = [&](const std::string& ablation, int context) {
    const std::string path = folder / (ablation + std::to_string(context) + ".h5");
    output_of(folder, "train_" + ablation +
                          " init --layers 2 --heads 2 --width 16 --feed-forward 12 "
                          "--task bigram-backcopy --context " +
                          std::to_string(context) + " --out " + path);
    return path;
  };
  auto attention = [&](const std::string& path, std::string& table) {
    Subprocess program(folder, words_of("eval_baseline attention --json --precision f64 --tokens " +
                                        (folder / "ids.txt") + " " + path));
    CHECK_MESSAGE(program.wait() == 0, program.err());
    table = program.err();
    Json json = Json::parse(program.out());
    CHECK(json["context"] == std::stoi(path.substr(path.size() - 5, 2)));
    for (const char* key : {"model", "context"}) json.erase(key);
    return json;
  };
  std::string longer, whole;
  const Json beyond = attention(initial("baseline", 20), longer), within = attention(initial("baseline", 30), whole);
  CHECK(beyond["heads"].size() == 4);
  CHECK(beyond == within);
  CHECK_MESSAGE(contains(longer, "26 tokens (the model's context is 20)"), longer);
  CHECK_FALSE(contains(whole, "the model's context"));
  check_error(folder,
              "eval_pos_learnable attention --tokens " + (folder / "ids.txt") + " " + initial("pos_learnable", 20), 2,
              "the model has a vector for each of 20 positions, and none for those up to 26");
}

TEST_CASE("sink --all-inputs: each input is what it is when measured alone, and domains are their own rows") {
  TemporaryFolder folder;
  Tokenizer tokenizer = Tokenizer::train({"the cat sat on the mat"}, 262);
  std::string bare = folder / "bare.h5";
  output_of(
      folder,
      "train_baseline init --layers 1 --heads 2 --width 16 --feed-forward 12 --context 20 --task text --vocabulary 262 "
      "--out " +
          bare);
  std::string path = changed(bare, [&](Checkpoint& checkpoint) {
    checkpoint.attributes["tokenizer_json"] = tokenizer.json();
    checkpoint.attributes["begin_token"] = "7";
  });
  const std::vector<std::string> texts{"the mat sat on a dog", "a cat, a mat, a hat", "on and on and on and on"};
  write_bytes(folder / "texts.jsonl", "{\"text\": \"" + texts[0] + "\", \"domain\": \"b\"}\n\n{\"text\": \"" +
                                          texts[1] +
                                          "\", \"domain\": \"a\"}\n{\"text\": \"at\", \"domain\": \"b\"}\n{\"domain\": "
                                          "\"b\", \"text\": \"" +
                                          texts[2] + "\"}\n");
  // By hand: the begin token, then the first five of each text; "at" is too short.
  std::vector<std::string> lines;
  for (const std::string& text : texts) {
    std::vector<std::int32_t> ids = tokenizer.encode(text);
    std::string line = "7";
    for (int i = 0; i < 5; ++i) line += " " + std::to_string(ids[static_cast<std::size_t>(i)]);
    lines.push_back(line + "\n");
  }
  write_bytes(folder / "natural.txt", lines[0] + lines[1] + lines[2]);
  write_bytes(folder / "b.txt", lines[0] + lines[2]);
  write_bytes(folder / "a.txt", lines[1]);
  std::string sink = "eval_baseline sink --threads 1 " + path, given = " --text-file " + (folder / "texts.jsonl");
  Json all =
      Json::parse(output_of(folder, sink + given + " --all-inputs --context 6 --sequences 9 --seed 3"))["inputs"];
  Subprocess with_table(folder, words_of(sink + given + " --all-inputs --context 6 --length 4,6"));
  CHECK(with_table.wait() == 0);
  for (const char* name : {"natural:", "random:", "begin+repeated:"})
    CHECK_MESSAGE(contains(with_table.err(), name), with_table.err());
  Subprocess seeded(folder, words_of(sink + " --seed 3"));
  CHECK(seeded.wait() == 2);
  CHECK_MESSAGE(contains(seeded.err(), "--seed"), seeded.err());
  auto check_same = [&](const std::string& name, const std::string& flags) {
    CAPTURE(name);
    Json alone = Json::parse(output_of(folder, sink + flags));
    REQUIRE(all.contains(name));
    for (const char* key : {"val_loss", "alpha_k", "sink_k", "sequences", "context", "hidden_norm_layer_position"})
      CHECK_MESSAGE(all[name][key] == alone[key], key);
  };
  CHECK(all.size() == 7);
  check_same("natural", " --tokens " + (folder / "natural.txt"));
  check_same("natural/b", " --tokens " + (folder / "b.txt"));
  check_same("natural/a", " --tokens " + (folder / "a.txt"));
  check_same("random", " --input random --context 6 --sequences 9 --seed 3");
  check_same("repeated", " --input repeated --context 6 --sequences 9 --seed 3");
  check_same("natural", given + " --context 6");
  CHECK(all["natural"]["input"] == "texts");
  CHECK(all["random"]["input"] == "random");
  CHECK(all["random"]["input_seed"] == 3);
  CHECK_FALSE(all["random"].contains("data"));
  CHECK(all["begin+repeated"]["input"] == "begin+repeated");
  for (const char* kind : {"random", "repeated"}) {
    const Json &plain = all[kind]["maps"]["tokens"], &begun = all[std::string("begin+") + kind]["maps"]["tokens"];
    REQUIRE(begun.size() == plain.size());
    for (std::size_t n = 0; n < begun.size(); ++n) {
      CHECK(begun[n][0] == tokenizer.token_text(7));
      for (std::size_t t = 1; t < 6; ++t) CHECK(begun[n][t] == plain[n][t]);
    }
  }
  check_error(folder, sink + given + " --sequences 9", 2, "--sequences");
  write_bytes(folder / "short.jsonl", "{\"text\": \"at\"}\n");
  check_error(folder, sink + " --context 9 --text-file " + (folder / "short.jsonl"), 3, "no text of 9 tokens");
  check_error(folder, sink + " --all-inputs --input random", 2, "--input");
  check_error(folder, sink + " --input random --positions swap:3", 2, "has none");
  write_bytes(folder / "bad.jsonl", "{\"text\": \"the cat sat on\"}\n{\"text\": 5}\n");
  check_error(folder, sink + " --context 3 --text-file " + (folder / "bad.jsonl"), 3, "line 2: expected a text `text`");
}
