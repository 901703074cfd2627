// Command lines of eval_* generate, chat and stream.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/data/tokenizer/tokenizer.h"
#include "engine/io/checkpoint.h"
#include "engine/io/printable.h"
#include "engine/io/utf8.h"
#include "tests/model/open_golden.h"
#include "tests/support/check_command.h"
#include "tests/support/pseudo_terminal.h"

using namespace sink;
using Json = nlohmann::json;

namespace {

constexpr const char* kSizes =
    " --layers 1 --heads 2 --width 16 --feed-forward 12 --context 20 --task text --vocabulary 262 --out ";

// Initial values, and a tokenizer of bytes.
std::string checkpoint_with_text(const TemporaryFolder& folder, const std::string& ablation = "baseline") {
  const std::string bare = folder / "bare.h5", path = folder / (ablation + ".h5");
  output_of(folder, "train_" + ablation + " init" + kSizes + bare);
  Checkpoint checkpoint = load_checkpoint(bare);
  checkpoint.attributes["tokenizer_json"] = Tokenizer::train({"the cat sat on the mat"}, 262).json();
  save_checkpoint(path, checkpoint);
  return path;
}

// Of a shell, so that there is something on standard input.
Outcome piped(const TemporaryFolder& folder, const std::string& lines, const std::string& line) {
  return outcome_of(
      Subprocess(folder, {"/bin/sh", "-c", "printf '" + lines + "' | " + std::string(SINK_BINARY_DIR) + "/" + line}));
}

// Whether a terminal would take any of it for more than text: a control character, or a byte that is not UTF-8.
bool commands_a_terminal(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t code = 0;
    const int length = utf8_length(text, at, &code);
    const bool control = code < 0x20 ? code != '\n' && code != '\t' : code >= 0x7F && code < 0xA0;
    if (length == 0 || control || (code >= 0x202A && code <= 0x202E)) return true;
    at += static_cast<std::size_t>(length);
  }
  return false;
}

}  // namespace

TEST_CASE("generate and chat: escape sequences of a model do not reach a terminal; a pipe gets every byte") {
  TemporaryFolder folder;
  const std::string path = checkpoint_with_text(folder);
  // Nearly uniform over 262 tokens, 256 of which are single bytes.
  const std::string drawn = " --temperature 100 --max-new-tokens 600 --window 8 --threads 1 ";
  const std::string generate = "eval_baseline generate --ignore-eos --text cat" + drawn + path;
  const std::string exact = output_of(folder, generate);
  REQUIRE(commands_a_terminal(exact));
  REQUIRE(contains(exact, "\x1b"));
  const TerminalOutput shown = run_on_terminal(words_of(generate), folder / "stderr");
  CHECK(shown.code == 0);
  CHECK_FALSE(commands_a_terminal(shown.bytes));
  CHECK(contains(shown.bytes, "\\x1b"));
  CHECK(shown.bytes == printable_lines(exact));

  write_bytes(folder / "lines.txt", "a\nb\nc\nd\n");
  const std::vector<std::string> chat{"/bin/sh", "-c",
                                      program_path("eval_baseline chat") + drawn + path + " < " + folder / "lines.txt"};
  REQUIRE(commands_a_terminal(outcome_of(Subprocess(folder, chat)).out));
  const TerminalOutput answers = run_on_terminal(chat, folder / "stderr");
  CHECK(answers.code == 0);
  CHECK_FALSE(commands_a_terminal(answers.bytes));
}

TEST_CASE("generate: the JSON that a terminal shows holds no control character either") {
  TemporaryFolder folder;
  const std::string path = checkpoint_with_text(folder);
  const std::string line =
      "eval_baseline generate --ignore-eos --json --text cat --temperature 100 --max-new-tokens 600 --window 8 "
      "--threads 1 " +
      path;
  REQUIRE(commands_a_terminal(output_of(folder, line)));  // U+007F
  CHECK_FALSE(commands_a_terminal(run_on_terminal(words_of(line), folder / "stderr").bytes));
}

TEST_CASE("generate: the same seed, the same text; another, another") {
  TemporaryFolder folder;
  const std::string path = checkpoint_with_text(folder), line = "eval_baseline generate --threads 1 " + path;
  const Json greedy = Json::parse(output_of(folder, line + " --text cat --max-new-tokens 8 --json"));
  CHECK(greedy["prompt"] == Json(Tokenizer::train({"the cat sat on the mat"}, 262).encode("cat")));
  CHECK(greedy["tokens"].size() == 8);
  auto drawn = [&](const std::string& more) {
    return Json::parse(output_of(
        folder, line + " --text cat --max-new-tokens 12 --json --ignore-eos --temperature 1 " + more))["tokens"];
  };
  CHECK(drawn("--seed 4") == drawn("--seed 4"));
  CHECK(drawn("--seed 4") != drawn("--seed 5"));
  CHECK(drawn("--seed 4 --top-p 1e-9") == drawn("--seed 5 --top-p 1e-9"));  // the most likely one alone

  write_bytes(folder / "ids.txt", "5 6 7\n");
  const Json ids = Json::parse(
      output_of(folder, line + " --tokens " + (folder / "ids.txt") + " --max-new-tokens 3 --json --ignore-eos"));
  CHECK(ids["prompt"] == Json({5, 6, 7}));
  CHECK(output_of(folder, line + " --text cat --max-new-tokens 1").substr(0, 3) == "cat");
}

TEST_CASE("generate: the text of the JSON keeps its first space where a tokenizer decodes a text without it") {
  // As LLaMA 2's: U+2581 is a space. One is put before a text, and left out at the beginning of what is decoded.
  const std::string space = "\xe2\x96\x81";
  std::vector<std::string> words{"<unk>", space};
  for (char letter = 'a'; letter <= 'z'; ++letter) words.emplace_back(1, letter);
  Json merges = Json::array(), ids = Json::object();
  for (char letter = 'a'; letter <= 'l'; ++letter) {
    merges.push_back({space, std::string(1, letter)});
    words.push_back(space + letter);
  }
  for (std::size_t id = 0; id < words.size(); ++id) ids[words[id]] = id;
  const Json to_space{{"type", "Replace"}, {"pattern", {{"String", space}}}, {"content", " "}};
  const Json from_space{{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", space}};
  const Json prepend{{"type", "Prepend"}, {"prepend", space}};
  const Json strip{{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}};
  const Json tokenizer{
      {"version", "1.0"},
      {"added_tokens", Json::array()},
      {"pre_tokenizer", nullptr},
      {"post_processor", nullptr},
      {"normalizer", {{"type", "Sequence"}, {"normalizers", Json::array({prepend, from_space})}}},
      {"decoder",
       {{"type", "Sequence"},
        {"decoders", Json::array({to_space, Json{{"type", "ByteFallback"}}, Json{{"type", "Fuse"}}, strip})}}},
      {"model",
       {{"type", "BPE"},
        {"vocab", ids},
        {"merges", merges},
        {"unk_token", "<unk>"},
        {"byte_fallback", false},
        {"fuse_unk", true}}}};
  TemporaryFolder folder;
  output_of(folder,
            "train_baseline init --layers 1 --heads 2 --width 16 --feed-forward 12 --context 20 --task text "
            "--vocabulary 40 --out " +
                (folder / "bare.h5"));
  Checkpoint checkpoint = load_checkpoint(folder / "bare.h5");
  checkpoint.attributes["tokenizer_json"] = tokenizer.dump();
  save_checkpoint(folder / "words.h5", checkpoint);
  int with_space = 0, without = 0;
  for (int seed = 0; seed < 12; ++seed) {
    const Json made = Json::parse(
        output_of(folder, "eval_baseline generate --text cat --json --temperature 2 --max-new-tokens 3 --seed " +
                              std::to_string(seed) + " " + (folder / "words.h5")));
    std::string expected;
    for (const auto& id : made["tokens"]) {
      const std::string& word = words[id.get<std::size_t>()];
      expected += word.starts_with(space) ? " " + word.substr(space.size()) : word;
    }
    CHECK(made["text"] == expected);
    ++(expected.starts_with(" ") ? with_space : without);
  }
  CHECK(with_space > 0);
  CHECK(without > 0);
}

TEST_CASE("generate: ends with the context, or goes on where older tokens are forgotten") {
  TemporaryFolder folder;
  const std::string path = checkpoint_with_text(folder);
  const std::string line = "eval_baseline generate --ignore-eos --json --max-new-tokens 60 --text cat " + path;
  const auto prompt = Tokenizer::train({"the cat sat on the mat"}, 262).encode("cat").size();
  CHECK(Json::parse(output_of(folder, line))["tokens"].size() == 20 - prompt + 1);
  CHECK(Json::parse(output_of(folder, line + " --window 6 --keep-first 2"))["tokens"].size() == 60);
  check_error(folder, line + " --keep-first 2", 2, "--window");
  check_error(folder, line + " --window 20 --keep-first 2", 2, "first 2 + window 20");
  check_error(folder, line + " --kv-bits 4 --keep-tokens 3,999", 2, "--keep-tokens 999: the text has");
  check_error(folder, line + " --top-p 1.5", 2, "--top-p");
  check_error(folder, line + " --top-p 0.5", 2, "--top-p requires --temperature");
  for (const char* unread : {"--top-p 0.5", "--seed 3"})
    check_error(folder, line + " --temperature 0 " + unread, 2, "is read with a --temperature above 0 only");
  check_error(folder, line + " --seed 3", 2, "--seed requires --temperature");
  check_error(folder, line + " --temperature -1", 2, "--temperature");
  check_error(folder, line + " --batch 4", 2, "--batch");
  check_error(folder, "eval_baseline generate " + path, 2, "generate needs --text");
  check_error(folder, "eval_baseline generate " + path + " --text " + std::string(100, 'x'), 3,
              "at most 20 tokens, got 1");
  write_bytes(folder / "two.txt", "1 2\n3 4\n");
  check_error(folder, "eval_baseline generate " + path + " --tokens " + (folder / "two.txt"), 3, "one sequence");
}

TEST_CASE("generate: ends at the end tokens of a model's files, in place and as a checkpoint; --ignore-eos continues") {
  const TemporaryFolder folder;
  const std::string model = folder / "llama", checkpoint = folder / "llama.h5";
  std::filesystem::copy(test::kModels + "llama", model);
  write_bytes(folder / "ids.txt", "5 6 7\n");
  const std::string more = " --tokens " + folder / "ids.txt" + " --max-new-tokens 8 --json --temperature 1 --seed 3";
  auto tokens = [&](const std::string& of, const std::string& flags = "") {
    return Json::parse(output_of(folder, "eval_baseline generate " + of + more + flags))["tokens"]
        .get<std::vector<int>>();
  };
  const std::vector<int> all = tokens(model, " --ignore-eos");
  REQUIRE(all.size() == 8);
  const auto end = std::find_if(all.begin() + 1, all.end(), [&](int id) { return id != all[0]; });  // a first one
  REQUIRE(end != all.end());
  Json config = Json::parse(read_bytes(model + "/config.json"));
  config["eos_token_id"] = {*end, 39};
  write_bytes(model + "/config.json", config.dump());
  CHECK(tokens(model) == std::vector<int>(all.begin(), end));
  CHECK(tokens(model, " --ignore-eos") == all);
  output_of(folder, "eval_baseline import " + model + " " + checkpoint);
  CHECK(load_checkpoint(checkpoint).attribute("end_tokens") == std::to_string(*end) + " 39");
  CHECK(tokens(checkpoint) == std::vector<int>(all.begin(), end));
  CHECK(tokens(checkpoint, " --ignore-eos") == all);
  auto exported = [&](const std::string& from, const std::string& to) {
    output_of(folder, "eval_baseline export " + from + " " + folder / to);
    return Json::parse(read_bytes(folder / to + "/config.json"))["eos_token_id"];
  };
  CHECK(exported(model, "exported_model") == Json{*end, 39});
  CHECK(exported(checkpoint, "exported_checkpoint") == Json{*end, 39});
  const std::string trained = checkpoint_with_text(folder);
  CHECK(exported(trained, "exported_run") == Tokenizer::train({"the cat sat on the mat"}, 262).end_of_text());
  write_bytes(model + "/generation_config.json", Json{{"eos_token_id", all[0]}}.dump());
  CHECK(tokens(model).empty());

  Checkpoint damaged = load_checkpoint(checkpoint);
  for (const char* ends : {"-1", "a", "3, 4", "4294967297"}) {
    damaged.attributes["end_tokens"] = ends;
    save_checkpoint(checkpoint, damaged);
    check_error(folder, "eval_baseline generate " + checkpoint + more, 4, "`end_tokens`");
  }
}

TEST_CASE("chat: a run's fixed token stands where the tokenizer would put its begin token") {
  const TemporaryFolder folder;
  Checkpoint checkpoint = load_checkpoint(checkpoint_with_text(folder));
  const auto answer = [&](const std::string& begin, const std::string& settings, const std::string& flags = "") {
    checkpoint.attributes["begin_token"] = begin;
    if (begin.empty()) checkpoint.attributes.erase("begin_token");
    checkpoint.attributes["config_toml"] = settings;
    const std::string path = folder / "chat.h5";
    save_checkpoint(path, checkpoint);
    return piped(folder, "a\\n", "eval_baseline chat --max-new-tokens 12 --window 8 --keep-first 4 " + path + flags);
  };
  CHECK(answer("7", "", " --no-bos").out == answer("", "").out);
  CHECK(answer("7", "fixed-token = 3\n", " --no-bos").out == answer("", "").out);
  CHECK(answer("7", "fixed-token = 3\n").out == answer("3", "").out);
  CHECK(answer("3", "").out.size() > 2);
  CHECK(answer("7", "").out != answer("3", "").out);
  const Outcome refused = answer("7", "fixed-token = 3\nfixed-position = 5\n");
  CHECK(refused.code == 2);
  CHECK_MESSAGE(refused.err.find("a fixed token at position 5") != std::string::npos, refused.err);
}

TEST_CASE("export: the fixed first token of a run is the begin token of its folder") {
  const TemporaryFolder folder;
  Checkpoint checkpoint = load_checkpoint(checkpoint_with_text(folder));
  checkpoint.attributes["begin_token"] = "7";
  int made = 0;
  const auto begin_token = [&](const std::string& settings) {
    checkpoint.attributes["config_toml"] = settings;
    const std::string path = folder / "fixed.h5", out = folder / std::to_string(++made);
    save_checkpoint(path, checkpoint);
    output_of(folder, "eval_baseline export " + path + " " + out);
    return Json::parse(read_bytes(out + "/config.json"))["bos_token_id"];
  };
  CHECK(begin_token("fixed-token = 3\n") == 3);
  CHECK(begin_token("") == 7);
  CHECK(begin_token("fixed-token = 3\nfixed-position = 5\n") == 7);  // with a note
}

TEST_CASE("generate: --data that is not read, and a file of many texts, are refused") {
  const TemporaryFolder folder;
  const std::string model = checkpoint_with_text(folder);
  write_bytes(folder / "ids.txt", "1 2 3\n");
  write_bytes(folder / "texts.jsonl", "{\"text\": \"the cat\"}\n");
  const std::string tokens = " --tokens " + folder / "ids.txt", data = " --data " + folder / "none";
  for (const char* command : {"generate", "attention", "interventions", "lens"}) {
    const std::string line = std::string("eval_baseline ") + command + " " + model;
    check_error(folder, line + tokens + data, 2, "--data is not read for this input: leave it out");
    check_error(folder, line + " --text x" + data, 2, "because the checkpoint has a tokenizer");
    check_error(folder, line + " --text-file " + folder / "texts.jsonl", 2, "only `sink` and `score` read .jsonl");
  }
}

TEST_CASE("chat: an answer for every line, until there are no more or the context is full") {
  TemporaryFolder folder;
  const std::string line = "eval_baseline chat --max-new-tokens 1 " + checkpoint_with_text(folder);
  const Outcome full = piped(folder, "the cat sat on the mat, and on it the cat sat\\n", line);
  CHECK(full.code == 0);
  CHECK(full.err.find("the context of 20 tokens is full") != std::string::npos);
  const Outcome two = piped(folder, "a\\nb\\n", line + " --window 8 --keep-first 4");
  CHECK_MESSAGE(two.code == 0, two.err);
  CHECK(std::count(two.out.begin(), two.out.end(), '\n') >= 2);
  const Outcome none = piped(folder, "", line);
  CHECK(none.code == 0);
  CHECK(none.out.empty());
  check_error(folder, line + " --template chat", 2, "--template");
  check_error(folder, line + " --template gemma --system Short.", 3, "has no turn of the system");
  const std::string note = "the marks of no known template are tokens of this model";
  CHECK(two.err.find(note) != std::string::npos);
  CHECK(piped(folder, "", line + " --template plain").err.find(note) == std::string::npos);
}

TEST_CASE("stream: a row for each that is kept, of a text far longer than the context") {
  TemporaryFolder folder;
  const std::string path = checkpoint_with_text(folder);
  std::string text;
  for (int n = 0; n < 30; ++n) text += "the cat sat on the mat ";
  write_bytes(folder / "cats.txt", text);
  const std::string line = "eval_baseline stream --threads 1 --text-file " + (folder / "cats.txt") + " " + path;
  const Json json = Json::parse(output_of(folder, line + " --keep all,8,2+6 --stretches 4 --max-tokens 100"));
  CHECK(json["tokens"] == 100);
  CHECK(json["context"] == 20);
  REQUIRE(json["policies"].size() == 3);
  CHECK(json["policies"][2]["kept"] == "first 2 + window 6");
  for (const Json& policy : json["policies"]) {
    CHECK(policy["stretches"].size() == 4);
    CHECK(policy["loss"].get<double>() > 4);
  }
  CHECK(Json::parse(output_of(folder, line + " --max-tokens 30"))["policies"].size() == 4);
  check_error(folder, line + " --keep 8,four", 2, "`four`");
  check_error(folder, "eval_baseline stream " + path, 2, "stream needs --text-file");
  check_error(folder, "eval_baseline stream --text x " + path, 2, "at least two tokens, got 1");
  check_error(folder, line + " --keep 30", 2, "at most the context of 20 tokens to be kept, got window 30");
  const std::string learned = checkpoint_with_text(folder, "pos_learnable");
  check_error(folder, "eval_pos_learnable stream --keep all --text-file " + (folder / "cats.txt") + " " + learned, 2,
              "a vector for each of 20 positions");
}
