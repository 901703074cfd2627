// sinklab: one program for a model of any family, found from its file, as a user types it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/model/open_golden.h"
#include "tests/support/built_ablations.h"
#include "tests/support/check_command.h"
#include "tests/support/files.h"

using namespace sink;
using test::kModels;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

std::string tokens_in(const TemporaryFolder& folder) {
  const std::string path = folder / "tokens.txt";
  write_bytes(path, "3 1 4 1 5 9 2 6 5 3\n");
  return path;
}

Json summary_of(const TemporaryFolder& folder, const std::string& model) {
  const Outcome result = outcome_of(folder, "sinklab " + model + " --json --tokens " + tokens_in(folder));
  CHECK_MESSAGE(result.code == 0, model, ": ", result.err);
  return Json::parse(result.out);
}

// A folder like that of `hf download ORG/NAME`, whose files are links.
void make_hub_snapshot(const fs::path& hub, const std::string& folder_name, const fs::path& model) {
  const fs::path root = hub / folder_name, snapshot = root / "snapshots/0123abcd";
  fs::create_directories(snapshot);
  fs::create_directories(root / "refs");
  write_bytes((root / "refs/main").string(), "0123abcd");
  for (const fs::directory_entry& file : fs::directory_iterator(model))
    fs::create_symlink(file.path(), snapshot / file.path().filename());
}

}  // namespace

TEST_CASE("sinklab: finds the family of every kind of file") {
  TemporaryFolder folder;
  std::vector<std::pair<std::string, std::string>> models;
  for (const auto& [name, family] : test::golden_models())
    for (const char* kind : {"", ".gguf", ".bin"})
      if (fs::exists(kModels + name + kind)) models.emplace_back(name + kind, family);
  for (const auto& [model, family] : models) {
    if (!test::is_built(family)) continue;
    CAPTURE(model);
    const Json summary = summary_of(folder, kModels + model);
    CHECK(summary.at("ablation") == family);
    CHECK(summary.at("tokens").size() == 10);
    // The same as the program of the family says.
    const Outcome of_family = outcome_of(
        folder, "eval_" + family + " attention " + kModels + model + " --json --tokens " + tokens_in(folder));
    CHECK(of_family.code == 0);
    CHECK(Json::parse(of_family.out) == summary);
  }
}

TEST_CASE("sinklab: a checkpoint, the folder of a run, a folder with one GGUF file, a name of the hub") {
  TemporaryFolder folder;
  const std::string path = folder / "checkpoint.h5";
  const std::string init =
      " init --layers 2 --heads 2 --width 16 --feed-forward 12 --context 20 --task text --vocabulary 30 --out " + path;
  for (const std::string ablation : {"baseline", "op_sigmoid_none", "bias_k"}) {
    if (!test::is_built(ablation)) continue;
    CHECK(outcome_of(folder, "train_" + ablation + init + " --force").code == 0);
    CHECK(summary_of(folder, path).at("ablation") == ablation);
    CHECK(summary_of(folder, folder.path).at("ablation") == ablation);
    CHECK(summary_of(folder, path).at("alpha_star").is_null() == (ablation != "bias_k"));
    CHECK(
        outcome_of(folder, "eval_" + ablation + " attention " + folder.path + " --tokens " + tokens_in(folder)).code ==
        0);
  }
  const std::string files = folder / "files";
  fs::create_directory(files);
  fs::copy_file(kModels + "llama.gguf", files + "/one.gguf");
  CHECK(summary_of(folder, files).at("ablation") == "llama");
  write_bytes(files + "/config.json", "{}");
  CHECK(summary_of(folder, files).at("ablation") == "llama");
  fs::remove(files + "/config.json");
  fs::copy_file(kModels + "llama.gguf", files + "/two.gguf");
  check_error(folder, "sinklab " + files + " --tokens " + tokens_in(folder), 2, "2 GGUF files");

  make_hub_snapshot(folder / "hub", "models--some-one--tiny.model", kModels + "llama");
  ::setenv("HF_HUB_CACHE", (folder / "hub").c_str(), 1);
  CHECK(summary_of(folder, "some-one/tiny.model").at("ablation") == "llama");
  const fs::path tiny = folder / "hub/models--some-one--tiny.model";
  CHECK(summary_of(folder, tiny.string()).at("ablation") == "llama");
  fs::remove(tiny / "refs/main");  // as after hf download --revision COMMIT
  CHECK(summary_of(folder, "some-one/tiny.model").at("ablation") == "llama");
  ::unsetenv("HF_HUB_CACHE");
  ::setenv("HUGGINGFACE_HUB_CACHE", (folder / "hub").c_str(), 1);
  CHECK(summary_of(folder, "some-one/tiny.model").at("ablation") == "llama");
  ::unsetenv("HUGGINGFACE_HUB_CACHE");
  ::setenv("HF_HUB_CACHE", (folder / "hub").c_str(), 1);
  for (const auto& [name, clue] : {std::pair{"gpt2", "ORG/gpt2"},
                                   {"https://models.example/gpt2", "nothing is downloaded"},
                                   {"llama3.2:1b", "Ollama"}})
    check_error(folder, std::string("sinklab ") + name + " --tokens " + tokens_in(folder), 3, clue);
  if (test::is_built("gemma3")) {  // whose gains are rounded where 1 is added to them in F32
    make_hub_snapshot(folder / "hub", "models--some-one--gains", kModels + "gemma3");
    CHECK(outcome_of(folder, "eval_gemma3 export some-one/gains " + folder / "by_name").code == 0);
    CHECK(outcome_of(folder, "eval_gemma3 export " + kModels + "gemma3 " + folder / "by_path").code == 0);
    CHECK(read_bytes(folder / "by_name/model.safetensors") == read_bytes(folder / "by_path/model.safetensors"));
  }
  check_error(folder, "sinklab some-one/other --tokens " + tokens_in(folder), 3, "run `hf download some-one/other`");
  write_bytes(folder / "hub/models--some-one--tiny.model/refs/main", "../../../../etc");
  check_error(folder, "sinklab some-one/tiny.model --tokens " + tokens_in(folder), 3, "hf download");
  ::unsetenv("HF_HUB_CACHE");
}

TEST_CASE("sinklab: a backbone without unembedding has attention and sinks, and no loss") {
  TemporaryFolder folder;
  const std::string whole = kModels + "llama", backbone = folder / "backbone",
                    tokens = " --tokens " + tokens_in(folder);
  test::copy_renamed("llama", backbone, [](const std::string& tensor) {  // as AutoModel writes it
    return tensor == "lm_head.weight" ? "" : tensor.substr(std::strlen("model."));
  });
  auto json_of = [&](const std::string& command, const std::string& model, const std::string& flags = "") {
    const Outcome result = outcome_of(folder, "sinklab " + command + " " + model + tokens + flags);
    CHECK_MESSAGE(result.code == 0, result.err);
    CHECK((result.err.find("a backbone without an unembedding") != std::string::npos) == (model == backbone));
    Json json = Json::parse(result.out);
    for (const char* key : {"model", "run", "date", "parameters", "input_sha256"}) json.erase(key);
    return json;
  };
  for (const char* precision : {"f32", "f64"}) {
    const std::string flags = std::string(" --json --precision ") + precision;
    Json with = json_of("attention", whole, flags), without = json_of("attention", backbone, flags);
    CHECK(with["loss"].is_number());
    CHECK(without["loss"].is_null());
    with.erase("loss");
    without.erase("loss");
    CHECK(with == without);
  }
  Json with = json_of("sink", whole), without = json_of("sink", backbone);
  CHECK(with["val_loss"].is_number());
  CHECK(without["val_loss"] == "nan");
  for (const Json& loss : without["loss_position"]) CHECK(loss == "nan");
  for (const char* key : {"val_loss", "loss_position"}) {
    with.erase(key);
    without.erase(key);
  }
  CHECK(with == without);
  CHECK(outcome_of(folder, "sinklab sink " + backbone + tokens).err.find("no loss: no next token") !=
        std::string::npos);
  CHECK(outcome_of(folder, "sinklab sink " + backbone + tokens + " --all-inputs").err.find(" none |") !=
        std::string::npos);
  CHECK(outcome_of(folder, "sinklab view " + backbone + tokens + " --out " + (folder / "view.html")).code == 0);
  CHECK(read_bytes(folder / "view.html").find("\"lens\":{\"cells\":[]") != std::string::npos);
  write_bytes(folder / "items", "{\"context\": \"a\", \"continuation\": \"b\"}\n");
  for (const std::string& command :
       {"logits" + tokens + " --out " + (folder / "out"), "generate" + tokens, "score " + (folder / "items"),
        "stream" + tokens, "lens" + tokens, "interventions" + tokens, "explain" + tokens, "import " + (folder / "out"),
        "export " + (folder / "out")}) {
    const std::size_t blank = command.find(' ');
    check_error(folder, "sinklab " + command.substr(0, blank) + " " + backbone + command.substr(blank), 4,
                "is a backbone without an unembedding (`tie_word_embeddings` is false, and there is no "
                "`lm_head.weight`), so it has no logits: expected the commands `attention`, `view` or `sink`");
  }
  CHECK_FALSE(fs::exists(folder / "out"));
}

TEST_CASE("sinklab: the command may come before or after the model, and is `attention` without one") {
  TemporaryFolder folder;
  const std::string model = kModels + "llama.gguf", tokens = " --tokens " + tokens_in(folder);
  const Outcome plain = outcome_of(folder, "sinklab " + model + tokens);
  CHECK(plain.code == 0);
  CHECK(plain.out.starts_with("10 tokens, loss "));
  CHECK(plain.out.find("Strongest sinks") != std::string::npos);
  CHECK(std::count(plain.out.begin(), plain.out.end(), '\n') <= 40);
  std::istringstream lines(plain.out);
  for (std::string line; std::getline(lines, line);)
    CHECK_MESSAGE(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }) <= 100, line);
  CHECK(plain.err.starts_with("evaluating llama: "));
  for (const std::string& line :
       {"attention " + model, model + " attention", "attention --model " + model, "--model " + model})
    CHECK(outcome_of(folder, "sinklab " + line + tokens).out == plain.out);
  const Outcome sink = outcome_of(folder, "sinklab " + model + " sink --map none" + tokens);
  CHECK(sink.code == 0);
  CHECK(sink.err == outcome_of(folder, "eval_llama sink " + model + " --map none" + tokens).err);  // the table
  // alpha_1 is the one that `sink` measures.
  const double alpha_1 = summary_of(folder, model).at("alpha_1");
  CHECK(alpha_1 == doctest::Approx(Json::parse(sink.out).at("alpha_1").get<double>()).epsilon(1e-5));

  const Outcome help = outcome_of(folder, "sinklab");
  CHECK(help.code == 0);
  CHECK(help.out.find("Usage: sinklab [COMMAND] MODEL [OPTIONS]") != std::string::npos);
  CHECK(outcome_of(folder, "sinklab sink --help").code == 0);
  check_error(folder, "sinklab sink", 2, "sinklab sink MODEL");
  check_error(folder, "sinklab --text hello", 2, "sinklab attention MODEL");
  check_error(folder, "sinklab " + model, 2, "--text");
  check_error(folder, "sinklab " + (folder / "nothing.gguf") + tokens, 3, "nothing.gguf");
  check_error(folder, "sinklab " + model + " --txt hello", 2, "did you mean --text?");
}

TEST_CASE("sinklab: --precision int8 needs weights in blocks of 8 bits or less, and says which are not") {
  TemporaryFolder folder;
  const std::string tokens = " --json --tokens " + tokens_in(folder);
  const Outcome plain = outcome_of(folder, "sinklab " + kModels + "llama.gguf --precision int8" + tokens);
  CHECK(plain.code == 2);
  CHECK(contains(plain.err, "--precision int8 multiplies weights that are stored in one of Q8_0, "));
  CHECK(contains(plain.err, "llama.gguf has none: use f32 or bf16"));
  CHECK(outcome_of(folder, "sinklab " + kModels + "llama.gguf --precision int8 --reference" + tokens).code == 2);
  if (!test::is_built("gpt_oss")) return;
  const std::string experts = "sinklab " + kModels + "gpt_oss_gguf.gguf";  // in MXFP4, all else in F32
  const Outcome wide = outcome_of(folder, experts + tokens),
                narrow = outcome_of(folder, experts + " --precision int8" + tokens);
  REQUIRE(narrow.code == 0);
  CHECK(contains(narrow.err, "% of the stored weights are multiplied in f32, those in F32"));
  const double loss = Json::parse(wide.out).at("loss"),
               difference = loss - Json::parse(narrow.out).at("loss").get<double>();
  CHECK(std::abs(difference) > 1e-6 * loss);
  CHECK(std::abs(difference) < 0.02 * loss);
}

TEST_CASE("sinklab: --out keeps a file of another kind") {
  TemporaryFolder folder;
  const std::string out = folder / "out.json",
                    line = "sinklab " + kModels + "llama --tokens " + tokens_in(folder) + " --out " + out;
  CHECK(outcome_of(folder, line).code == 0);
  CHECK(Json::parse(read_bytes(out)).at("schema") == 1);
  CHECK(outcome_of(folder, line).code == 0);
  write_bytes(out, "mine");
  check_error(folder, line, 2, "--force");
  CHECK(read_bytes(out) == "mine");
  CHECK(outcome_of(folder, line + " --force").code == 0);
}

TEST_CASE("sinklab: a run with a document mask shows its first document, with the values of that document alone") {
  TemporaryFolder folder;
  std::string text;
  for (int n = 0; n < 2000; ++n) text += "Line " + std::to_string(n * n) + " of a document.\n<|endoftext|>\n";
  write_bytes(folder / "text.txt", text);
  REQUIRE(outcome_of(folder, "prepare --vocab 280 --text " + folder / "text.txt" + " --out " + folder / "data").code ==
          0);
  REQUIRE(
      outcome_of(folder,
                 "train_baseline --layers 1 --heads 2 --width 16 --feed-forward 32 --context 64 --batch 2 --steps 1 "
                 "--document-mask --data " +
                     folder / "data" + " --run " + folder / "run")
          .code == 0);
  const Outcome masked = outcome_of(folder, "sinklab " + folder / "run" + " --json");
  REQUIRE_MESSAGE(masked.code == 0, masked.err);
  const Json shown = Json::parse(masked.out);
  const std::size_t tokens = shown.at("tokens").size();
  CHECK(tokens > 1);
  CHECK(tokens < 64);
  std::string ids;
  for (const Json& token : shown.at("tokens")) ids += token.dump() + " ";
  write_bytes(folder / "ids.txt", ids);
  const Json given =
      Json::parse(outcome_of(folder, "sinklab " + folder / "run" + " --json --tokens " + folder / "ids.txt").out);
  CHECK(shown.at("alpha_1") == given.at("alpha_1"));
}

TEST_CASE("sinklab: a text beyond what is computed of a model is refused by every command, also where contexts grow") {
  TemporaryFolder folder;
  std::string ids;
  for (int id = 2; id < 40; ++id) ids += std::to_string(id) + " ";
  write_bytes(folder / "ids.txt", ids);
  const std::string model = kModels + "ministral3_yarn --tokens " + folder / "ids.txt";
  const std::string most = "the model takes at most 32, since it scales queries beyond it";
  for (const char* command : {"", "attention ", "view "})
    check_error(folder, std::string("sinklab ") + command + model, 3, most);
  check_error(folder, "sinklab stream " + model + " --keep all", 3, most);
  // An imported checkpoint still knows it.
  const std::string files = folder / "internlm3", imported = folder / "model.h5";
  std::filesystem::copy(kModels + "llama", files);
  Json config = Json::parse(read_bytes(files + "/config.json"));
  for (const char* key : {"attention_bias", "mlp_bias", "pretraining_tp", "attention_dropout", "rope_parameters"})
    config.erase(key);
  config["model_type"] = "internlm3", config["architectures"] = {"InternLM3ForCausalLM"};
  config["rope_scaling"] = {{"rope_type", "dynamic"}, {"factor", 6}};
  write_bytes(files + "/config.json", config.dump());
  output_of(folder, "eval_llama import " + files + " " + imported);
  check_error(folder, "sinklab " + imported + " --tokens " + folder / "ids.txt", 3,
              "the model takes at most 32, since it rotates by another base beyond it");
}
