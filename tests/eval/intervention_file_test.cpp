// Files of interventions, and command lines of eval_* interventions and quantise.
#include "eval/interventions/intervention_file.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "engine/io/file.h"
#include "tests/support/check_refused.h"
#include "tests/support/subprocess.h"

using namespace sink;
using Json = nlohmann::json;
using What = Intervention::What;

namespace {

const std::string kExample = std::string(SINK_SOURCE_DIR) + "/eval/interventions/interventions_example.toml";
const std::string kModel = std::string(SINK_SOURCE_DIR) + "/tests/golden/open/models/llama";

std::vector<Intervention> read(const std::string& text) { return interventions_from_toml(text, "a.toml"); }

}  // namespace

TEST_CASE("intervention file: the example has one of every kind") {
  const std::vector<Intervention> all = interventions_from_toml(read_file("test", kExample), kExample);
  REQUIRE(all.size() == 16);
  std::set<What> kinds;
  for (const Intervention& each : all) kinds.insert(each.what);
  CHECK(kinds.size() == 9);
  CHECK(all[0].name == "mask first");
  CHECK(all[0].what == What::mask);
  CHECK(all[0].tokens == std::vector<std::int64_t>{1});
  CHECK(all[0].layers.empty());
  CHECK(all[1].tokens == std::vector<std::int64_t>{5});
  CHECK_FALSE(all[2].mean_value);
  CHECK(all[3].mean_value);
  CHECK(all[3].meaning == "token 1: its value is the others' mean");
  CHECK(all[4].what == What::constant);
  CHECK(all[5].scale == 0.5);
  CHECK(all[6].along == 2);
  CHECK(all[7].what == What::head);
  CHECK_FALSE(all[7].mean_value);
  CHECK(all[7].tokens.empty());
  CHECK(all[8].layer_heads == std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 1}, {1, 0}});
  CHECK(all[9].mean_value);
  CHECK(all[9].per_head);
  CHECK(all[10].what == What::patch);
  CHECK(all[10].of_residual);
  CHECK(all[10].source == "tokens 7 3 11 2");
  CHECK(all[10].source_BT.item(2) == 11);
  CHECK_FALSE(all[11].of_residual);
  CHECK(all[11].heads == std::vector<std::int64_t>{1});
  CHECK(all[12].medians == 100);
  CHECK(all[12].tokens.empty());
  CHECK(all[13].quantisation.weight_bits == 8);
  CHECK(all[13].quantisation.inputs == Grain::tensor);
  CHECK(all[14].per_head);
  CHECK(all[14].layers == std::vector<std::int64_t>{0});
  CHECK(all[15].what == What::redistribute);
}

TEST_CASE("intervention file: every key") {
  const std::vector<Intervention> all = read(
      "[[interventions]]\nname = \"a\"\nwhat = \"redistribute\"\ntokens = [7, 2]\nlayers = [3]\nheads = 4\n"
      "per_head = false\n\n[[interventions]]\nname = \"b\"\nwhat = \"clip\"\nlargest = 2.5\ntokens = [1]\n"
      "[[interventions]]\nname = \"c\"\nwhat = \"quantise\"\nweight_bits = 4\nweights-per = \"tensor\"\n"
      "inputs = \"sublayers\"\ninput-bits = 5\ninputs-per = \"token\"\n");
  REQUIRE(all.size() == 3);
  CHECK(all[0].what == What::redistribute);
  CHECK(all[0].tokens == std::vector<std::int64_t>{2, 7});
  CHECK(all[0].heads == std::vector<std::int64_t>{4});
  CHECK(all[0].origin == "a.toml: line 1");
  CHECK(all[1].largest == 2.5);
  CHECK(all[1].tokens == std::vector<std::int64_t>{1});
  const Quantisation& how = all[2].quantisation;
  CHECK(how.weight_bits == 4);
  CHECK(how.input_bits == 5);
  CHECK(how.weights == Grain::tensor);
  CHECK(how.inputs == Grain::token);
  CHECK_FALSE(how.inner);
}

TEST_CASE("intervention file: what it does not understand is refused with its line and what was expected") {
  auto refused = [](const std::string& lines, std::initializer_list<std::string> words) {
    CAPTURE(lines);
    check_refused([&] { read("[[interventions]]\nname = \"a\"\n" + lines); }, words, Exit::usage);
  };
  const std::string mask = "what = \"mask\"\n", quantise = "what = \"quantise\"\n", clip = "what = \"clip\"\n",
                    key = "what = \"key\"\n";
  refused("", {"a.toml: line 1: an intervention has what = \"clip\", \"constant\""});
  refused("what = \"masks\"\n", {"a.toml: line 3: what is \"clip\"", "got `masks`"});
  refused("what = 3\n", {"line 3", "got `3`"});
  refused("what = [\"mask\"]\n", {"line 3: what has one value, no list"});
  refused(mask + "token = 1\n", {"line 4", "has no `token`", "did you mean tokens?"});
  refused(mask + "tokens = [0]\n", {"line 4: tokens must be integers from 1 to 1000000000, got `0`"});
  refused(mask + "tokens = 1.5\n", {"line 4: tokens must be an integer from 1", "got `1.5`"});
  refused(mask + "tokens = []\n", {"line 4: tokens must be a list of 1 to 1000", "got 0"});
  refused(mask + "tokens = [2, 3, 2]\n", {"line 4: tokens has 2 twice"});
  refused(mask + "layers = [-1]\n", {"line 4: layers must be integers from 0", "got `-1`"});
  refused(mask + "per-head = 1\n", {"line 4: per-head is \"true\" or \"false\", got `1`"});
  refused(mask + "per-head = true\nper_head = true\n", {"line 5: sets per_head twice, first in line 4"});
  refused(mask + "scale = 2\n", {"line 4: what = \"mask\" has no `scale`"});
  refused("what = \"value\"\nvalue = 0\n", {"line 4: value is \"zero\" or \"mean\", got `0`"});
  refused(key, {"line 1: what = \"key\" has a scale other than 1"});
  refused(key + "scale = nan\n", {"line 4: scale is a number from -1000000 to 1000000, got `nan`"});
  refused(key + "along = 2e6\n", {"line 4: along is a number"});
  refused(clip, {"line 1: what = \"clip\" has largest or medians, one of them"});
  refused(clip + "largest = 2\nmedians = 2\n", {"one of them"});
  refused(clip + "largest = 0\n", {"line 4: largest is a number above 0, 1000000 at most, got `0`"});
  refused(clip + "largest = 1\nheads = [1]\n", {"line 5: what = \"clip\" has no `heads`"});
  const std::string patch = "what = \"patch\"\n";
  refused(patch, {"line 1: what = \"patch\" has a source = \"another text\", or its ids"});
  refused(patch + "source = \"\"\n", {"line 1", "has a source"});
  refused(patch + "source = \"a\"\nsource-tokens = [1]\n", {"line 1", "has a source"});
  refused(patch + "source-tokens = []\n", {"line 4: source-tokens must be a list of 1 to 1000 ids, got 0"});
  refused(patch + "source-tokens = [-1]\n", {"line 4: source-tokens must be integers from 0"});
  refused(patch + "source = \"a\"\nat = \"head\"\n", {"line 5: at is \"residual\" or \"heads\", got `head`"});
  refused(patch + "source = \"a\"\nheads = [1]\n", {"line 5: what = \"patch\" has no `heads`"});
  refused(patch + "source = \"a\"\nat = \"heads\"\nper-token = true\n",
          {"line 6: what = \"patch\" has no `per-token`"});
  const std::string head = "what = \"head\"\n";
  refused(head + "value = \"one\"\n", {"line 4: value is \"zero\" or \"mean\", got `one`"});
  for (const char* wrong : {"1", "1.", ".2", "1.2.3", "1.-2", "a.b", ""})
    refused(head + "layer-heads = [\"0.0\", \"" + wrong + "\"]\n",
            {"line 4: layer-heads are heads as \"LAYER.HEAD\", from 0, got"});
  refused(head + "layer-heads = [\"1.2\", \"0.3\", \"1.2\"]\n", {"line 4: layer-heads is a list of heads, each once"});
  refused(head + "layer-heads = []\n", {"line 4: layer-heads is a list of heads, each once"});
  refused(head + "layer-heads = [\"1.2\"]\nheads = [1]\n", {"line 1: layer-heads leaves no choice to layers, heads"});
  refused(quantise, {"line 1: what = \"quantise\" has weight-bits or input-bits"});
  refused(quantise + "weight-bits = 1\n", {"line 4: weight-bits must be an integer from 2 to 16, got `1`"});
  refused(quantise + "weight-bits = 4\nweights-per = \"token\"\n",
          {"line 5: weights-per is \"tensor\" or \"channel\""});
  refused(quantise + "weight-bits = 4\nlayers = [1]\n", {"line 5: what = \"quantise\" has no `layers`"});
  refused(mask + "[[interventions]]\nname = \"a\"\nwhat = \"mask\"\n", {"line 4: the name `a` is given twice"});
  refused(mask + "[settings]\n", {"line 4: expected [[interventions]], got the section `settings`"});
  check_refused([] { read(""); }, {"a.toml: line 1: expected interventions"}, Exit::usage);
  check_refused([] { read("what = \"mask\"\n"); }, {"line 1: expected [[interventions]] before `what`"}, Exit::usage);
  check_refused([] { read("[[interventions]]\nwhat = \"mask\"\n"); }, {"line 1: an intervention has a name"},
                Exit::usage);
  check_refused([] { read("[[interventions]]\nname = \"a-b\"\nwhat = \"mask\"\n"); },
                {"line 2: a name is of 1 to 40 letters, digits and blanks, got `a-b`"}, Exit::usage);
}

TEST_CASE("interventions: a result and a cell for each head, and for each layer and token") {
  const TemporaryFolder folder;
  const std::string tokens = folder / "tokens.txt", picture = folder / "heads.svg", settings = folder / "patch.toml";
  write_file_atomically(tokens, "1 5 9 14 3 22\n");
  auto run = [&](const std::string& options, int code) {
    Subprocess program(folder, words_of("eval_baseline interventions " + kModel + " --tokens " + tokens + options));
    CHECK_MESSAGE(program.wait() == code, program.err());
    return std::pair{program.out(), program.err()};
  };
  const auto cells = [&] {
    const std::string svg = read_bytes(picture);
    std::size_t n = 0;
    for (std::size_t at = 0; (at = svg.find("<title>layer ", at)) != std::string::npos; ++at) ++n;
    return n;
  };
  const auto [json, table] = run(" --each-head mean --picture " + picture, 0);
  const Json rows = Json::parse(json)["interventions"];
  CHECK(rows.size() == cells());
  CHECK(rows[3]["name"] == "head at its mean layer 0 head 3");
  CHECK(rows[3]["layer"] == 0);
  CHECK(rows[3]["head"] == 3);

  write_file_atomically(settings,
                        "[[interventions]]\nname = \"other\"\nwhat = \"patch\"\nsource-tokens = [1, 5, 8, 14, 3, 22]\n"
                        "per-token = true\n");
  const auto [patched, lines] = run(" --settings " + settings + " --picture " + picture, 0);
  const Json places = Json::parse(patched)["interventions"];
  CHECK(places.size() == cells());
  CHECK(places[1]["token"] == 2);
  CHECK(places[1]["change"] == 0.0);  // the source has the same tokens up to the third
  CHECK(places[2]["change"] != 0.0);
  CHECK(places[3]["change"] != 0.0);

  const auto refused = [&](const std::string& options, const std::string& word) {
    const std::string err = run(options, 2).second;
    CHECK_MESSAGE(err.find(word) != std::string::npos, err);
  };
  refused(" --picture " + picture, "--picture draws results for each head or token");
  refused(" --each-head mean --picture " + tokens, "not a picture of interventions");
  refused(" --each-head all", "zero");
  refused(" --each-head zero --token 2", "exclude each other");
  write_file_atomically(settings, "[[interventions]]\nname = \"a\"\nwhat = \"patch\"\nsource-tokens = [1, 5]\n");
  refused(" --settings " + settings, "the source has 2 tokens and the text 6: choose tokens that both have");
  write_file_atomically(settings,
                        "[[interventions]]\nname = \"a\"\nwhat = \"patch\"\nsource-tokens = [1, 999]\ntokens = [3]\n");
  refused(" --settings " + settings, "the token of the source must be from 1 to 2, got 3");
  write_file_atomically(settings,
                        "[[interventions]]\nname = \"a\"\nwhat = \"patch\"\nsource-tokens = [1, 999]\ntokens = [2]\n");
  refused(" --settings " + settings, "the id of a token of the source must be from 0 to");
}

TEST_CASE("interventions: the example on a model of another program; the defaults as a file are the defaults") {
  const TemporaryFolder folder;
  const std::string tokens = folder / "tokens.txt", settings = folder / "settings.toml";
  write_file_atomically(tokens, "1 5 9 14 3 22\n1 30 2 8 8 17\n1 4 4 19 33 0\n");
  auto run = [&](const std::string& options, int code) {
    Subprocess program(folder, words_of("eval_baseline interventions " + kModel + " --tokens " + tokens + options));
    CHECK_MESSAGE(program.wait() == code, program.err());
    return std::pair{program.out(), program.err()};
  };
  const auto [json, table] = run(" --settings " + kExample, 0);
  const Json rows = Json::parse(json)["interventions"];
  REQUIRE(rows.size() == 14 + 4 + 4);  // twice four heads of the first layer
  CHECK(rows[0]["loss"].get<double>() - rows[0]["loss_before"].get<double>() ==
        doctest::Approx(rows[0]["change"].get<double>()));
  CHECK(rows[0]["divergence"] > 0);
  CHECK(rows[0]["greedy_changed"] <= 1);
  CHECK(rows[20]["name"] == "mask layer 0 head 3");
  CHECK(rows[20]["head"] == 3);
  CHECK(table.find("later queries do not see token 5") != std::string::npos);

  write_file_atomically(settings,
                        "[[interventions]]\nname = \"removed 1\"\nwhat = \"value\"\n"
                        "[[interventions]]\nname = \"redistributed 1\"\nwhat = \"redistribute\"\n"
                        "[[interventions]]\nname = \"constant 1\"\nwhat = \"constant\"\n"
                        "[[interventions]]\nname = \"W8A8\"\nwhat = \"quantise\"\nweight-bits = 8\ninput-bits = 8\n"
                        "inputs = \"sublayers\"\n"
                        "[[interventions]]\nname = \"W4A16\"\nwhat = \"quantise\"\nweight-bits = 4\n"
                        "[[interventions]]\nname = \"W4A4\"\nwhat = \"quantise\"\nweight-bits = 4\ninput-bits = 4\n"
                        "inputs = \"sublayers\"\n");
  const Json written = Json::parse(run(" --settings " + settings, 0).first)["interventions"];
  const Json defaults = Json::parse(run(" --token 1", 0).first)["interventions"];
  REQUIRE(written.size() == defaults.size());
  for (std::size_t n = 0; n < written.size(); ++n) {
    CHECK(written[n]["name"] == defaults[n]["name"]);
    CHECK(written[n]["loss"] == defaults[n]["loss"]);
  }
  write_file_atomically(settings, "[[interventions]]\nname = \"a\"\nwhat = \"mask\"\ntokens = [7]\n");
  const std::string message = run(" --settings " + settings, 2).second;
  CHECK_MESSAGE(message.find("line 1: the token must be from 1 to 6, got 7") != std::string::npos, message);
}

TEST_CASE("quantise: loss against bits, each as the file says it") {
  const TemporaryFolder folder;
  const std::string tokens = folder / "tokens.txt", settings = folder / "settings.toml";
  write_file_atomically(tokens, "1 5 9 14 3 22\n1 30 2 8 8 17\n");
  auto run = [&](const std::string& command) {
    Subprocess program(folder, words_of("eval_baseline " + command + " " + kModel + " --tokens " + tokens));
    CHECK_MESSAGE(program.wait() == 0, program.err());
    return std::pair{Json::parse(program.out()), program.err()};
  };
  const auto [found, table] = run("quantise");
  const Json& rows = found["interventions"];
  REQUIRE(rows.size() == 5 * 8);
  CHECK(rows[3 * 8 + 7]["name"] == "both 4 token");
  write_file_atomically(settings,
                        "[[interventions]]\nname = \"a\"\nwhat = \"quantise\"\nweight-bits = 4\ninput-bits = 4\n"
                        "inputs-per = \"token\"\n"
                        "[[interventions]]\nname = \"b\"\nwhat = \"quantise\"\nweight-bits = 6\n"
                        "weights-per = \"tensor\"\n"
                        "[[interventions]]\nname = \"c\"\nwhat = \"quantise\"\ninput-bits = 3\n"
                        "inputs-per = \"channel\"\n");
  const Json written = run("interventions --settings " + settings).first["interventions"];
  CHECK(written[0]["loss"] == rows[3 * 8 + 7]["loss"]);
  CHECK(written[1]["loss"] == rows[1 * 8 + 0]["loss"]);
  CHECK(written[2]["loss"] == rows[4 * 8 + 3]["loss"]);
  CHECK(found["kurtosis"]["residual_first"].size() == 3);
  CHECK(found["kurtosis"]["inputs"][1].size() == 4);
  CHECK(std::count(table.begin(), table.end(), '\n') == 1 + 11);  // the first line and the table
  CHECK(table.find("kurtosis (3: normal)") != std::string::npos);
}

TEST_CASE("quantise: each token, as CSV") {
  const TemporaryFolder folder;
  const std::string csv = folder / "each.csv";
  write_file_atomically(folder / "tokens.txt", "1 5 9 14 3 22\n1 30 2 8 8 17\n");
  Subprocess program(folder, words_of("eval_baseline quantise " + kModel + " --tokens " + folder / "tokens.txt" +
                                      " --each-token " + csv));
  CHECK_MESSAGE(program.wait() == 0, program.err());
  const Json found = Json::parse(program.out());
  CHECK(program.err().find("\ndestroyed tokens, %") != std::string::npos);
  std::map<std::string, double> change, destroyed, lines;
  std::istringstream text(read_file("test", csv));
  std::string line;
  std::getline(text, line);
  CHECK(line.starts_with("intervention,sequence,position,token,loss_before,loss,loss_change,"));
  while (std::getline(text, line)) {
    std::istringstream fields(line);
    std::vector<std::string> field;
    for (std::string one; std::getline(fields, one, ',');) field.push_back(one);
    REQUIRE(field.size() == 13);
    CHECK(field[6].empty() == (field[2] == "6"));  // the last token has no target
    if (!field[6].empty()) change[field[0]] += std::stod(field[6]) / 10;
    destroyed[field[0]] += std::stod(field[12]) / 12;
    CHECK((std::stod(field[9]) >= 1) == (field[12] == "1"));
    CHECK(std::stod(field[10]) >= std::stod(field[9]));
    lines[field[0]] += 1;
  }
  CHECK(lines.size() == 40);
  for (const Json& row : found["interventions"]) {
    const std::string name = row["name"];
    CHECK(lines[name] == 12);
    CHECK(change[name] == doctest::Approx(row["change"].get<double>()).epsilon(1e-6));
    CHECK(destroyed[name] == doctest::Approx(row["destroyed"].get<double>()));
  }
}

TEST_CASE("interventions: a list of tokens is one word, and what follows it is the model") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "tokens.txt", "1 5 9 14 3 22\n1 30 2 8 8 17\n");
  Subprocess program(folder, words_of("eval_baseline interventions --token 1,2 --token 4 " + kModel + " --tokens " +
                                      folder / "tokens.txt"));
  CHECK_MESSAGE(program.wait() == 0, program.err());
  CHECK(program.err().find("token 4") != std::string::npos);
}
