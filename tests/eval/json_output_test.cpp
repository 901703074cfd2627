// What commands of eval_<ablation> print on a terminal: the table alone, unless --json asks for more; through a pipe
// JSON as ever.
#include "eval/json_output.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/data/tokenizer/tokenizer.h"
#include "engine/io/checkpoint.h"
#include "tests/support/pseudo_terminal.h"

using namespace sink;
using Json = nlohmann::json;

namespace {

// A small model with a tokenizer, a text, and lines to score.
struct Model {
  TemporaryFolder folder;
  std::string model = folder / "model.h5";

  Model() {
    const Subprocess init(folder, words_of("train_baseline init --layers 1 --heads 2 --width 16 --feed-forward 12 "
                                           "--context 30 --task text --vocabulary 262 --out " +
                                           folder / "bare.h5"));
    REQUIRE_MESSAGE(init.wait() == 0, init.err());
    Checkpoint checkpoint = load_checkpoint(folder / "bare.h5");
    checkpoint.attributes["tokenizer_json"] = Tokenizer::train({"the cat sat on the mat"}, 262).json();
    save_checkpoint(model, checkpoint);
    write_bytes(folder / "text.txt", "the cat sat on the mat, the cat sat on the mat");
    write_bytes(folder / "lines.jsonl", "{\"context\": \"the cat\", \"continuation\": \" sat on\"}\n");
  }

  // Of each command that prints JSON: the line, and words of its table.
  struct Case {
    const char* name;
    std::string line, of_table;
  };
  std::vector<Case> cases() const {
    const std::string text = " --threads 1 --text-file " + folder / "text.txt" + " ";
    return {{"sink", "eval_baseline sink" + text + model, "proxy: alpha"},
            {"sink --all-inputs", "eval_baseline sink --all-inputs" + text + model, "natural"},
            {"interventions", "eval_baseline interventions" + text + model, "greedy %"},
            {"quantise", "eval_baseline quantise" + text + model, "channel"},
            {"stream", "eval_baseline stream" + text + model, "kept"},
            {"score", "eval_baseline score --threads 1 " + model + " " + folder / "lines.jsonl", "perplexity"}};
  }
};

// Whether every byte of it is JSON, or each line of it is.
bool is_json(const std::string& text) {
  if (Json::accept(text)) return true;
  std::istringstream lines(text);
  bool all = !text.empty();
  for (std::string line; std::getline(lines, line);) all = all && Json::accept(line);
  return all;
}

// But for the lines with the time of day, which differ where a second ends between two runs.
std::string without_dates(const std::string& json) {
  std::istringstream lines(json);
  std::string rest;
  for (std::string line; std::getline(lines, line);)
    if (line.find("\"date\": ") == std::string::npos) rest += line + "\n";
  return rest;
}

}  // namespace

TEST_CASE("json output: a terminal gets the table and no JSON, with --json JSON too; a pipe gets JSON alone") {
  const Model made;
  for (const Model::Case& c : made.cases()) {
    CAPTURE(std::string(c.name));
    const std::string said = made.folder / "said";
    const TerminalOutput person = run_on_terminal(words_of(c.line), said);
    CHECK_MESSAGE(person.code == 0, read_bytes(said));
    CHECK_MESSAGE(person.bytes.find(c.of_table) != std::string::npos, person.bytes.substr(0, 400));
    CHECK_MESSAGE(person.bytes.find("\":") == std::string::npos, person.bytes.substr(0, 400));

    const TerminalOutput asked = run_on_terminal(words_of(c.line + " --json"), said);
    CHECK_MESSAGE(asked.code == 0, read_bytes(said));
    CHECK(is_json(asked.bytes));
    CHECK(read_bytes(said).find(c.of_table) != std::string::npos);

    const Subprocess piped = shell(made.folder, c.line + " | cat > piped");
    CHECK_MESSAGE(piped.wait() == 0, piped.err());
    CHECK(is_json(read_bytes(made.folder / "piped")));
    CHECK(piped.err().find(c.of_table) != std::string::npos);
    if (std::string(c.name) == "stream") continue;  // whose JSON has times, and which has no --out

    // What the pipe got is what --out writes.
    const Subprocess filed(made.folder, words_of(c.line + " --out " + made.folder / "filed" + " --force"));
    CHECK_MESSAGE(filed.wait() == 0, filed.err());
    CHECK(filed.out().empty());
    CHECK(without_dates(read_bytes(made.folder / "piped")) == without_dates(read_bytes(made.folder / "filed")));
  }
}

TEST_CASE("json output: --json prints, --out writes a file, and both are refused; help says what --json is") {
  const Model made;
  const std::string line = made.cases()[0].line;
  const Subprocess both(made.folder, words_of(line + " --json --out " + made.folder / "x.json"));
  CHECK(both.wait() == 2);
  CHECK(both.err().find("--json and --out exclude each other: give only one") != std::string::npos);
  for (const char* command : {"sink", "interventions", "quantise", "stream", "score", "generate", "explain"}) {
    const Subprocess help(made.folder, words_of(std::string("eval_baseline ") + command + " --help"));
    CHECK(help.wait() == 0);
    CHECK_MESSAGE(help.out().find("--json") != std::string::npos, command);
  }
}
