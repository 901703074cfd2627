// Command lines of eval_<ablation> import and export: round trips, and further training.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/io/checkpoint.h"
#include "model/model_checkpoint.h"
#include "tests/model/open_golden.h"
#include "tests/support/golden_file.h"
#include "tests/support/subprocess.h"

using namespace sink;
using namespace sink::test;

namespace {

std::string run_well(const TemporaryFolder& folder, const std::string& line) {
  Subprocess program(folder, words_of(line));
  const int code = program.wait();
  REQUIRE_MESSAGE(code == 0, line, ": ", program.err());
  return program.out();
}

void check_one_line(const TemporaryFolder& folder, const std::string& line, int code, const std::string& clue) {
  Subprocess program(folder, words_of(line));
  CHECK_MESSAGE(program.wait() == code, line);
  const std::string message = program.err();
  CHECK_MESSAGE(message.find(clue) != std::string::npos, line, ": ", message);
  CHECK_MESSAGE(std::count(message.begin(), message.end(), '\n') == 1, message);
}

Tensor logits_of(const TemporaryFolder& folder, const std::string& model) {
  run_well(folder, "eval_baseline logits --force --checkpoint " + model + " --tokens " + folder / "tokens.txt" +
                       " --out " + folder / "logits.h5");
  return GoldenFile(folder / "logits.h5").tensor("logits");
}

}  // namespace

TEST_CASE("import: the checkpoint computes to the bit what is computed in place") {
  const TemporaryFolder folder;
  std::string tokens;
  for (int t = 0; t < 30; ++t) tokens += std::to_string(t * 7 % 40) + " ";
  write_bytes(folder / "tokens.txt", tokens + "\n");
  for (const std::string name : {"llama", "llama.gguf", "llama2c.bin", "mistral", "linear"}) {
    CAPTURE(name);
    const std::string out = folder / (name + ".h5");
    CHECK(run_well(folder, "eval_baseline import " + kModels + name + " " + out) == out + "\n");
    const Tensor in_place = logits_of(folder, kModels + name), imported = logits_of(folder, out);
    REQUIRE(in_place.shape() == imported.shape());
    for (std::int64_t n = 0; n < in_place.size(); ++n) REQUIRE(in_place.item(n) == imported.item(n));
    check_one_line(folder, "eval_baseline import " + kModels + "gpt2 " + out, 2, "eval_gpt2");
  }
  const std::string out = folder / "llama.h5";
  const std::string before = read_bytes(out);
  run_well(folder, "eval_baseline import " + kModels + "llama " + out);  // one of its kind
  CHECK(read_bytes(out) == before);
  write_bytes(folder / "other", "mine");
  check_one_line(folder, "eval_baseline import " + kModels + "llama " + folder / "other", 2, "other");
  check_one_line(folder, "eval_baseline import " + out + " " + folder / "again.h5", 3, "no folder with config.json");
  write_bytes(folder / "cut.gguf", read_bytes(kModels + "llama.gguf").substr(0, 5000));
  check_one_line(folder, "eval_baseline import " + folder / "cut.gguf" + " " + folder / "again.h5", 4, "cut.gguf");
  check_one_line(folder, "eval_baseline export " + out + " " + folder.path, 2, "there already");
  Subprocess nameless(folder, {"eval_baseline", "export", out, ""});
  CHECK(nameless.wait() == 2);
  CHECK_MESSAGE(contains(nameless.err(), "export: the folder has no name"), nameless.err());
}

TEST_CASE("export and import: there and back a checkpoint has the same parameters, and training goes on from it") {
  const TemporaryFolder folder;
  const std::string sizes =
      " --layers 1 --heads 2 --width 32 --feed-forward 48 --context 32 --kv-heads 1 --task bigram-backcopy";
  run_well(folder, "train_baseline init" + sizes + " --seed 9 --out " + folder / "initial.h5");
  run_well(folder, "eval_baseline export " + folder / "initial.h5" + " " + folder / "hf");
  run_well(folder, "eval_baseline import " + folder / "hf" + " " + folder / "imported.h5");
  check_one_line(folder, "train_baseline init" + sizes + " --out " + folder / "imported.h5", 2,
                 "imported.h5 already exists and is not an initial checkpoint");
  const Checkpoint given = load_checkpoint(folder / "initial.h5"), imported = load_checkpoint(folder / "imported.h5");
  CHECK(parameters_checksum(given) == parameters_checksum(imported));
  run_well(folder, "train_baseline" + sizes + " --seed 1 --learning-rate 0.01 --steps 40 --warmup 0 --batch 8 " +
                       "--eval-sequences 2 --initial " + folder / "imported.h5" + " --run " + folder / "run");
  std::istringstream lines(read_bytes(folder / "run/metrics.jsonl"));
  std::vector<double> losses;
  for (std::string line; std::getline(lines, line);)
    if (const auto step = nlohmann::json::parse(line); step.contains("train_loss"))
      losses.push_back(step["train_loss"]);
  REQUIRE(losses.size() >= 40);
  CHECK(losses.back() < losses.front() - 0.5);
  check_one_line(folder,
                 "train_baseline" + sizes + " --warmup 0 --initial " + folder / "hf" + " --run " + folder / "no", 2,
                 "eval_baseline import");
  CHECK(load_checkpoint(folder / "run/checkpoint.h5").attribute("initial_sha256") == parameters_checksum(given));
}

TEST_CASE("explain: a model read in place has the gradients of the same model as a checkpoint") {
  const TemporaryFolder folder;
  write_bytes(folder / "tokens.txt", "1 5 9 14 3 22\n");
  run_well(folder, "eval_baseline import " + kModels + "llama " + folder / "llama.h5");
  auto explained = [&](const std::string& model) {
    const std::string text = run_well(
        folder, "eval_baseline explain --backward --checkpoint " + model + " --tokens " + folder / "tokens.txt");
    return text.substr(text.find('\n'));  // after the model's name
  };
  const std::string in_place = explained(kModels + "llama");
  CHECK(in_place == explained(folder / "llama.h5"));
  CHECK(in_place.find("Arrival  from the loss") != std::string::npos);
}
