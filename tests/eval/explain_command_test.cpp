// Command lines of eval_* explain: its table, JSON and page, and its errors.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/check_command.h"

using namespace sink;
using Json = nlohmann::json;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("explain: a text alone is explained by an initial model, which says so") {
  TemporaryFolder folder;
  Outcome alone = outcome_of(folder, "eval_baseline --text hello"),
          named = outcome_of(folder, "eval_baseline explain --text hello");
  CHECK(alone.code == 0);
  CHECK(alone.out == named.out);
  CHECK(alone.err.empty());
  CHECK(has(alone.out, "an initial model, NOT TRAINED: seed 0"));
  CHECK(has(alone.out, "tokens   0:h  1:e  2:l  3:l  [4:o]\nlayer 0, head 0, query i = 4 `o`"));
  CHECK(has(alone.out, "operation Softmax: e^s / sum e^s (Vaswani et al. 2017)"));
  CHECK(has(alone.out, "z(S_i) = S = "));
  CHECK(has(alone.out, "in the general form:"));
  CHECK(has(alone.out, "in the familiar one:"));
  CHECK_FALSE(has(alone.out, "Backward"));
  CHECK(outcome_of(folder, "eval_baseline --text hello --seed 1").out != alone.out);
  Outcome other = outcome_of(folder, "eval_op_sigmoid_none --text hello --backward");
  CHECK(has(other.out, "g(x) = 1 / (1 + e^-x)"));
  CHECK(has(other.out, "z(S_i) = 1\n"));
  CHECK_FALSE(has(other.out, "familiar"));
  CHECK(has(other.out, "query i = 3"));
  CHECK(has(other.out, "= |do_i|"));
  CHECK(has(other.out, "attention Sigmoid"));
  CHECK(has(outcome_of(folder, "eval_baseline --text hello --full").out.substr(0, 700), ", 0."));
}

TEST_CASE("explain: the JSON stands on stdout, the table beside it on stderr") {
  TemporaryFolder folder;
  std::string what = "eval_bias_kv explain --text-file " + (folder / "text") +
                     " --heads 4 --kv-heads 2 --window 3 --prefix 1 --head 3 --layer 1 --query 6 --backward";
  write_bytes(folder / "text", "a\tb \xc3\xb6 cd\n");
  Outcome table = outcome_of(folder, what), both = outcome_of(folder, what + " --json");
  CHECK(both.err == table.out);
  Json json = Json::parse(both.out);
  CHECK(json["ablation"] == "bias_kv");
  CHECK(json["trained"] == false);
  CHECK(json["tokens"].size() == 9);
  CHECK(json["tokens"][1]["text"] == "\\t");
  CHECK(json["key_head"] == 1);
  CHECK(json["keys"].size() == 5);  // the prefix, three of the window, the extra key
  CHECK(json["keys"][0]["j"] == 0);
  CHECK(json["keys"][1]["j"] == 4);
  CHECK(json["keys"][4]["j"] == -1);
  CHECK(json["keys"][4]["token"] == "*");
  CHECK(json["keys"][4]["dv"].size() == 4);
  CHECK(json["formula"]["m"] == "row maximum");
  double sum = 0;
  for (const Json& key : json["keys"]) sum += key["a"].get<double>();
  CHECK(sum == doctest::Approx(1));
  char mass[80];
  std::snprintf(mass, sizeof mass, "row sum 1.0000, without the extra key (row sum) %.4f;",
                sum - json["keys"][4]["a"].get<double>());
  CHECK(has(table.out, mass));
  CHECK(json["backward"]["targets"] == 8);
  CHECK(json["backward"]["arrival"].back()["operation"] == "attention Softmax");
  CHECK(has(table.out, "(keys and values of head 1)"));
  CHECK(has(table.out, "* extra "));
}

TEST_CASE("explain: a checkpoint is explained by its own tokens, and its place in training is said") {
  TemporaryFolder folder;
  std::string path = folder / "model.h5";
  CHECK(outcome_of(folder,
                   "train_baseline init --layers 1 --heads 2 --width 16 --feed-forward 12 --context 20 --task "
                   "bigram-backcopy --out " +
                       path)
            .code == 0);
  write_bytes(folder / "ids", "1 2 3 4\n5 6 7 8\n");
  std::string what = "eval_baseline explain --checkpoint " + path + " --tokens " + (folder / "ids");
  Outcome said = outcome_of(folder, what);
  CHECK(said.code == 0);
  CHECK(has(said.out, path + ", step 0: not trained"));
  CHECK(said.err == "note: the first of 2 sequences is explained\n");
  CHECK(has(said.out, "query i = 3"));

  write_bytes(folder / "ids", "1 2 3 4\n");
  check_error(folder, what + " --layer 1", 2, "--layer must be from 0 to 0, the layers of the model; got 1");
  check_error(folder, what + " --seed 1", 2, "without a checkpoint");
  check_error(folder, what + " --width 8", 2, "without a checkpoint");
  check_error(folder, "eval_bias_k explain --checkpoint " + path + " --text x", 4, "eval_baseline");
  check_error(folder, "eval_baseline explain", 2, "--text, --text-file or --tokens");
  check_error(folder, "eval_baseline --text hello --query 5", 2, "--query must be from 0 to 4");
  check_error(folder, "eval_baseline --text hello --width 15", 2, "--heads must divide --d-model");
  check_error(folder, "eval_baseline --text hello --kv-heads many", 2, "--kv-heads must be a whole number");
  check_error(folder, "eval_baseline --nothing", 2, "--nothing");
}

TEST_CASE("explain: a page replaces a page, and nothing else of the user's") {
  TemporaryFolder folder;
  std::string page = folder / "row.html", what = "eval_baseline --text hello --html " + page;
  CHECK(outcome_of(folder, what).code == 0);
  std::string first = read_bytes(page);
  CHECK(has(first, "content=\"Sinklab explain\""));
  CHECK_FALSE(has(first, "{{"));
  CHECK_FALSE(has(first, "https://"));
  CHECK(has(first, "Query 4 \u201co\u201d in layer 0, head 0: Softmax"));
  CHECK(outcome_of(folder, what + " --backward").code == 0);
  CHECK(read_bytes(page).size() > first.size());
  write_bytes(page, "mine");
  check_error(folder, what, 2, "--force");
  CHECK(read_bytes(page) == "mine");
  CHECK(outcome_of(folder, what + " --force").code == 0);
  CHECK(read_bytes(page) == first);
  check_error(folder, "eval_baseline --text hello --html " + (folder / "none/row.html"), 8, "none");
  // A page with all queries of a long text would be too large: it has only the one asked for, with a note.
  write_bytes(folder / "text", std::string(300, 'a'));
  CHECK(outcome_of(folder, "eval_baseline --text-file " + (folder / "text") + " --html " + page).code == 0);
  CHECK(read_bytes(page).size() < 1000000);
  CHECK(has(read_bytes(page), "Other queries are left out"));
}

TEST_CASE("explain: a command line that means nothing is refused before anything is printed") {
  TemporaryFolder folder;
  auto refused = [&](const std::string& line, int code, const std::string& clue) {
    check_error(folder, line, code, clue);
    CHECK(outcome_of(folder, line).out.empty());
  };
  refused("eval_baseline --text hello --seed -1", 2, "--seed must be a whole number from 0 to");
  refused("eval_baseline --text hello --seed many", 2, "got `many`");
  refused("eval_baseline --text hello --html " + (folder / ""), 8, "s a directory");
  refused("eval_baseline --text x --backward", 3, "at least two tokens");
  write_bytes(folder / "ids", "120\n");
  refused("eval_baseline --backward --tokens " + (folder / "ids"), 3, "at least two token ids");
  Outcome one = outcome_of(folder, "eval_baseline --text x");
  CHECK(one.code == 0);
  CHECK(has(one.out, "query i = 0 `x`"));
  CHECK(has(one.out, "row sum 1.0000; most goes to key 0 `x`: 1.0000"));
  CHECK(outcome_of(folder, "eval_baseline --tokens " + (folder / "ids")).code == 0);
  refused("eval_baseline hello", 2,
          "`hello` is no command of eval_baseline: expected attention, view, lens, sink, logits, tokens, explain, "
          "interventions, quantise, generate, chat, stream, score, import or export");
}

TEST_CASE("explain: of a long row the table shows the first keys, the last and the strongest") {
  TemporaryFolder folder;
  std::string text;
  for (int n = 0; n < 300; ++n) text += static_cast<char>('a' + n * n % 23);
  write_bytes(folder / "text", text);
  std::string what = "eval_baseline --text-file " + (folder / "text") + " --query 250 --backward";
  Outcome full = outcome_of(folder, what + " --full"), both = outcome_of(folder, what + " --json");
  Json json = Json::parse(both.out);
  CHECK(json["keys"].size() == 251);
  CHECK(json["tokens"].size() == 300);
  const std::string& table = both.err;
  CHECK(std::count(table.begin(), table.end(), '\n') < 300);
  CHECK(std::count(full.out.begin(), full.out.end(), '\n') > 5 * 251);
  CHECK(has(table, "tokens   ... 240 tokens  240:"));
  CHECK(has(table, "  ... 39 tokens\nlayer 0"));
  CHECK_FALSE(has(full.out, "left out"));
  // Of each of five lists every key is there or counted.
  std::vector<double> a;
  for (const Json& key : json["keys"]) a.push_back(std::abs(key["a"].get<double>()));
  std::vector<double> sorted = a;
  std::sort(sorted.rbegin(), sorted.rend());
  int lines = 0, left_out = 0, strong = 0;
  std::istringstream stages(table.substr(table.find("1. Scores")));
  for (std::string line; std::getline(stages, line);) {
    int count = 0, j = 0;
    char word[8] = "", token = 0;
    if (std::sscanf(line.c_str(), "    ... %d %4s", &count, word) == 2 && std::string(word) == "keys")
      left_out += count;
    if (!line.starts_with("  ") || std::sscanf(line.c_str(), "%5d %c", &j, &token) != 2) continue;
    ++lines;
    CHECK(token == text[static_cast<std::size_t>(j)]);
    strong += a[static_cast<std::size_t>(j)] >= sorted[9];
  }
  CHECK(lines + left_out == 5 * 251);
  CHECK(strong == 5 * 10);
  CHECK(lines <= 5 * 40);
}
