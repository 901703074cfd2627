// The help of every program: 80 columns, standard flags, old ones hidden; unknown flags and choices get a suggestion.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/check_command.h"

namespace sink {
namespace {

const std::vector<std::string> kEvalCommands{"attention", "view",    "lens",          "sink",     "logits",
                                             "tokens",    "explain", "interventions", "quantise", "generate",
                                             "chat",      "stream",  "score",         "import",   "export"};

Outcome run(const std::string& command) {
  const TemporaryFolder folder;
  return outcome_of(shell(folder, command));
}

// Benchmarks are built on request, as by `tools/test.sh --all`.
bool is_not_built(const std::string& command) {
  return command.starts_with("bench_") && !std::filesystem::exists(program_path(command.substr(0, command.find(' '))));
}

std::vector<std::string> help_commands() {
  std::vector<std::string> commands{"train_baseline --help",
                                    "train_baseline --help-all",
                                    "train_baseline init --help",
                                    "eval_baseline --help",
                                    "sinklab --help",
                                    "sinklab attention --help-all",
                                    "prepare --help",
                                    "report --help",
                                    "sweep --help",
                                    "ablations --help",
                                    "tour --help",
                                    "sinklab atlas --help",
                                    "sweep --help-all",
                                    "eval_baseline generate --help-all",
                                    "bench_step --help",
                                    "bench_attention --help",
                                    "bench_stored --help"};
  for (const std::string& command : kEvalCommands) commands.push_back("eval_baseline " + command + " --help");
  std::erase_if(commands, is_not_built);
  return commands;
}

TEST_CASE("help fits 80 columns and begins with a sentence and the usage") {
  for (const std::string& command : help_commands()) {
    CAPTURE(command);
    const Outcome help = run(command);
    CHECK(help.code == 0);
    std::istringstream lines(help.out);
    std::size_t longest = 0;
    for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
    CHECK(longest <= 80);
    CHECK(help.out.find("\nUsage: ") != std::string::npos);
    CHECK(help.out.find("--help") != std::string::npos);
    CHECK(help.out.ends_with("\n"));
    CHECK_FALSE(help.out.ends_with("\n\n"));
  }
}

TEST_CASE("help has one line per flag, and --help-all has the details") {
  for (const std::string& command : help_commands()) {
    if (command.ends_with("--help-all")) continue;
    CAPTURE(command);
    std::istringstream lines(run(command).out);
    for (std::string line, last; std::getline(lines, line); last = line) {
      const bool continues = line.starts_with("                    ");
      CHECK_MESSAGE(!continues, last, "\n", line);
    }
  }
  const std::string precision = "of matrix products; tf32 needs a GPU";
  CHECK(run("eval_baseline sink --help").out.find(precision) == std::string::npos);
  CHECK(run("eval_baseline sink --help-all").out.find(precision) != std::string::npos);
}

TEST_CASE("help of a program names each command with one sentence, and --help-all of it is of the program") {
  const std::string help = run("eval_baseline --help").out, all = run("eval_baseline --help-all").out;
  for (const std::string& command : kEvalCommands) {
    CAPTURE(command);
    const std::size_t line = help.find("\n  " + command + " ");
    REQUIRE(line != std::string::npos);
    const std::string entry = help.substr(line + 1, help.find('\n', line + 1) - line - 1);
    CHECK_MESSAGE((entry.ends_with(".") && !entry.ends_with("..")), entry);
  }
  CHECK(all.find("\nUsage: eval_baseline [OPTIONS] SUBCOMMAND\n") != std::string::npos);
  CHECK(run("eval_baseline explain --help").out.find("--rotary-base NUMBER [0.0]") != std::string::npos);
}

TEST_CASE("help of training shows common flags, --help-all the others, and old names stay hidden") {
  const std::string common = run("train_baseline --help").out, all = run("train_baseline --help-all").out;
  CHECK(common.find("--d-model INT [128]") != std::string::npos);
  CHECK(common.find("--help-all") != std::string::npos);
  CHECK(common.find("--version") != std::string::npos);
  CHECK(common.find("--adam-epsilon") == std::string::npos);
  CHECK(all.find("--adam-epsilon") != std::string::npos);
  CHECK(all.find("--gradient-checkpointing") != std::string::npos);
  CHECK(all.find("--partial-rotary-factor") != std::string::npos);
  for (const char* old : {"--width ", "--recompute", "--rotary-part"}) CHECK(all.find(old) == std::string::npos);
  const std::string generate = run("eval_baseline generate --help").out;
  CHECK(generate.find("--max-new-tokens INT [128]") != std::string::npos);
  CHECK(generate.find("--ignore-eos") != std::string::npos);
  for (const char* old : {"--most", "--past-stops"}) CHECK(generate.find(old) == std::string::npos);
}

TEST_CASE("help calls Gu et al. the paper, since a study is a file of sweep, and names no flag that is hidden") {
  for (const char* command : {"train_baseline --help-all", "eval_baseline sink --help-all", "sinklab explain --help"}) {
    const std::string help = run(command).out;
    for (const char* words : {"the study", "--comm\n", "--comm.", "--checkpoint\n", "--checkpoint:", "--model "})
      CHECK_MESSAGE(help.find(words) == std::string::npos, command, " says ", words);
  }
}

TEST_CASE("old flags, standard flags, their environment variables and file keys are the same settings") {
  const std::string expected = run("train_baseline --width 64 --rotary-part 0.5 --recompute --print-config").out;
  CHECK(expected.find("\nwidth = 64\n") != std::string::npos);
  CHECK(run("train_baseline --d-model 64 --partial-rotary-factor 0.5 --gradient-checkpointing --print-config").out ==
        expected);
  for (const char* variables :
       {"SINKLAB_D_MODEL=64 SINKLAB_PARTIAL_ROTARY_FACTOR=0.5", "SINKLAB_WIDTH=64 SINKLAB_ROTARY_PART=0.5"})
    CHECK(run(std::string(variables) + " SINKLAB_RECOMPUTE=1 train_baseline --print-config").out == expected);
}

TEST_CASE("a misspelt or foreign flag is named with the one that is meant") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"train_baseline --lr 0.1", "unknown flag --lr; did you mean --learning-rate?"},
      {"train_baseline --epochs=3", "unknown flag --epochs; did you mean --steps?"},
      {"train_baseline --hidden-size 3", "unknown flag --hidden-size; did you mean --d-model?"},
      {"train_baseline --precision fp16", "got `fp16`; did you mean bf16?"},
      {"eval_baseline generate model.h5 --tempreature 1", "unknown flag --tempreature; did you mean --temperature?"},
      {"eval_baseline generate --tempreature 1", "unknown flag --tempreature; did you mean --temperature?"},
      {"sweep --seed 3", "unknown flag --seed; did you mean --seeds?"},
      {"prepare --outt x", "unknown flag --outt; did you mean --out?"},
      {"report --titel x runs", "unknown flag --titel; did you mean --title?"},
      {"ablations --cvs", "unknown flag --cvs; did you mean --csv?"},
      {"sweep study.toml --index", "--index needs a value"}};
  for (const auto& [command, message] : cases) {
    CAPTURE(command);
    const Outcome output = run(command);
    CHECK(output.code == 2);
    CHECK(output.out.empty());
    CHECK_MESSAGE(output.err.find(message) != std::string::npos, output.err);
  }
}

TEST_CASE("an error says what is wrong, what was expected and what to do") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"eval_baseline sink", "checkpoint or --model is required; eval_baseline sink --help lists the flags"},
      {"eval_baseline sink m.h5 --input x", "--input must be text, random or repeated, got `x`"},
      {"eval_baseline sink m.h5 --device gpu", "--device must be cpu or cuda, got `gpu`; did you mean cuda?"},
      {"eval_baseline sink m.h5 --sequences 0",
       "--sequences must be a whole number from 1 to 1000000000, got `0`; eval_baseline sink --help lists the flags"},
      {"eval_baseline sink m.h5 --text x --tokens y", "--text and --tokens exclude each other: give only one; "},
      {"sweep --size big", "--size must be cpu or gpu, got `big`"},
      {"tour x", "chapter must be a whole number from 1 to 9, got `x`"},
      {"ablations --heads x", "--heads must be a whole number from 1 to 1024, got `x`"},
      {"bench_attention --op Nothing", ", got `Nothing`"},
      {"bench_stored Q9", ", got `Q9`"},
      {"bench_step --layers x", "--layers must be a number, got `x`"}};
  for (const auto& [command, message] : cases) {
    if (is_not_built(command)) continue;
    CAPTURE(command);
    const Outcome output = run(command);
    CHECK(output.code == 2);
    CHECK(output.out.empty());
    const std::string begin = command.substr(0, command.find(' ')) + ": error: ";
    CHECK_MESSAGE(output.err.starts_with(begin), output.err);
    CHECK_MESSAGE(output.err.find(message) != std::string::npos, output.err);
    CHECK(std::count(output.err.begin(), output.err.end(), '\n') == 1);
  }
  const Outcome missing = run("eval_baseline sink none.h5 --input random"), folder = run("prepare --text . --out out");
  CHECK(missing.code == 3);
  CHECK(missing.err ==
        "eval_baseline: error: there is no checkpoint none.h5; a run keeps its own as "
        "runs/NAME/checkpoint.h5\n");
  CHECK(folder.code == 3);
  CHECK(folder.err.find('[') == std::string::npos);
}

TEST_CASE("--version of every program names version, commit, build and libraries") {
  for (const char* program : {"train_baseline", "eval_baseline", "prepare", "report", "sweep", "ablations", "tour",
                              "bench_step", "bench_attention", "bench_stored"}) {
    CAPTURE(program);
    if (is_not_built(program)) continue;
    const Outcome version = run(std::string(program) + " --version");
    CHECK(version.code == 0);
    CHECK(version.out.starts_with(std::string(program) + " "));
    for (const char* line : {"\ncommit: ", "\nbuild: ", "\nlibraries: HDF5 "})
      CHECK(version.out.find(line) != std::string::npos);
  }
}

TEST_CASE("completions: commands, flags and choices, in scripts that their shells accept") {
  const std::string complete =
      "eval_baseline --completion bash > script && bash -c 'source ./script; complete_words() { COMP_WORDS=(\"$@\"); "
      "COMP_CWORD=$(($# - 1)); _eval_baseline; echo ${COMPREPLY[@]}; }; complete_words eval_baseline ";
  CHECK(run(complete + "gen'").out == "generate\n");
  CHECK(run(complete + "generate --prec'").out == "--precision\n");
  CHECK(run(complete + "generate --precision \"\"'").out == "f32 bf16 int8 tf32 f64\n");
  CHECK(run(complete + "generate --past'").out == "\n");  // an old name
  for (const char* shell : {"bash", "zsh", "fish"})
    for (const char* program : {"train_baseline", "eval_baseline", "sweep"}) {
      CAPTURE(shell);
      CAPTURE(program);
      const Outcome script = run(std::string(program) + " --completion " + shell + " > script; ! command -v " + shell +
                                 " > /dev/null || " + shell + " -n script");
      CHECK(script.code == 0);
      CHECK(script.err.empty());
    }
  CHECK(run("eval_baseline --completion csh").code == 2);
}

TEST_CASE("man pages: every command and flag, without warnings of man") {
  for (const char* program : {"train_baseline", "eval_baseline", "sweep", "prepare"}) {
    CAPTURE(program);
    const Outcome page = run(std::string(program) + " --man");
    CHECK(page.code == 0);
    CHECK(page.out.starts_with(std::string(".TH ") + program + " 1 "));
    const Outcome shown =
        run(std::string(program) + " --man > page; ! command -v man > /dev/null || man --warnings -l page > /dev/null");
    CHECK_MESSAGE(shown.err.empty(), shown.err);
  }
  const std::string page = run("eval_baseline --man").out;
  for (const std::string& command : kEvalCommands) CHECK(page.find("\n.SS " + command + "\n") != std::string::npos);
  CHECK(page.find("\\-\\-max\\-new\\-tokens") != std::string::npos);
  CHECK(page.find("past\\-stops") == std::string::npos);
}

}  // namespace
}  // namespace sink
