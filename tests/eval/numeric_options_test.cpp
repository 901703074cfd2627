// Every option that takes a number, of every program: what is no number, not finite, too large for its type or without
// meaning is refused before anything is read, with exit code 2 and one line that names the option.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/in_turn.h"
#include "tests/support/subprocess.h"
#include "train/run_config.h"
#include "train/run_config_table.h"

using namespace sink;

namespace {

struct Option {
  const char* command;
  const char* name;
  std::vector<const char*> refused;  // besides those that every option refuses
};

const std::vector<const char*> kNeverNumbers{"nan",   "-nan", "inf",   "-inf",
                                             "1e400", "0x10", "three", "99999999999999999999999"};

const std::vector<Option> kOptions{
    {"eval_baseline generate none.h5 --text a", "--temperature", {"-1", "101"}},
    {"eval_baseline generate none.h5 --text a", "--top-p", {"-1", "0", "1.5"}},
    {"eval_baseline generate none.h5 --text a", "--seed", {"18446744073709551616", "-1", "1.5"}},
    {"eval_baseline generate none.h5 --text a", "--max-new-tokens", {"0", "-1", "1.5"}},
    {"eval_baseline generate none.h5 --text a", "--window", {"0", "-1", "1.5"}},
    {"eval_baseline generate none.h5 --text a --window 9", "--keep-first", {"-1", "1.5"}},
    {"eval_baseline generate none.h5 --text a", "--kv-bits", {"0", "1", "9", "2,4", "2.5"}},
    {"eval_baseline generate none.h5 --text a --kv-bits 4", "--keep-tokens", {"0", "-1", "3,nan"}},
    {"eval_baseline generate none.h5 --text a --window 9", "--heavy", {"0", "-1"}},
    {"eval_baseline generate none.h5 --text a", "--keep-first", {"4"}},  // kept from nothing
    {"eval_baseline stream none.h5 --text-file a", "--kv-bits", {"1", "4,9"}},
    {"eval_baseline stream none.h5 --text-file a", "--keep-first", {"4"}},
    {"eval_baseline quantise none.h5", "--kv-bits", {"1", "16"}},
    {"eval_baseline generate none.h5 --text a", "--threads", {"-1", "4097"}},
    {"eval_baseline chat none.h5", "--temperature", {"-1"}},
    {"eval_baseline chat none.h5", "--seed", {"18446744073709551616", "-1"}},
    {"eval_baseline stream none.h5 --text-file a", "--max-tokens", {"0", "1", "100000001"}},
    {"eval_baseline stream none.h5 --text-file a", "--stretches", {"0", "1001"}},
    {"eval_baseline sink none.h5", "--context", {"0", "-1"}},
    {"eval_baseline sink none.h5", "--sequences", {"0", "-1"}},
    {"eval_baseline sink none.h5 --input random", "--seed", {"18446744073709551616", "-1"}},
    {"eval_baseline sink none.h5", "--length", {"0", "16,nan", "-1"}},
    {"eval_baseline sink none.h5", "--epsilon", {"-0.1", "1.1", "0.2,nan"}},
    {"eval_baseline sink none.h5", "--batch", {"0", "-1"}},
    {"eval_baseline tokens none.h5 --text a", "--context", {"0", "-1"}},
    {"eval_baseline score none.h5 none.jsonl", "--limit", {"0", "-1"}},
    {"eval_baseline score none.h5 none.jsonl", "--prefix-token", {"-1", "2147483648"}},
    {"eval_baseline interventions none.h5", "--sequences", {"0", "-1"}},
    {"eval_baseline interventions none.h5", "--context", {"0", "-1"}},
    {"eval_baseline explain --text a", "--layer", {"-1", "1.5"}},
    {"eval_baseline explain --text a", "--head", {"-1", "1.5"}},
    {"eval_baseline explain --text a", "--query", {"-1", "1.5"}},
    {"eval_baseline explain --text a", "--seed", {"18446744073709551616", "-1"}},
    {"train_baseline init --task bigram-backcopy --out /proc/none.h5", "--vocabulary", {"0", "-1"}},
    {"prepare --text none --out /proc/none", "--min-characters", {"-1", "1.5"}},
    {"prepare --text none --out /proc/none", "--longest-document", {"-1", "999"}},
    {"prepare --text none --out /proc/none", "--vocab", {"-1", "257"}},
    {"prepare --text none --out /proc/none", "--begin-token", {"-2", "1.5"}},
    {"prepare --text none --out /proc/none", "--validation-fraction", {"-1", "0", "0.6"}},
    {"sweep none.toml", "--seeds", {"18446744073709551616", "1,-1", "1,nan"}},
    {"sweep none.toml", "--workers", {"0", "1025"}},
    {"sweep none.toml", "--threads", {"0", "4097"}},
    {"sweep none.toml", "--ranks", {"0", "1025"}},
    {"sweep none.toml", "--index", {"-1", "1.5", "1000000001"}},
};

// Nothing is there to read: what is accepted leaves with 3, or makes what it was asked for.
void check_refused(const TemporaryFolder& folder, const Option& option, const char* value) {
  std::vector<std::string> words = words_of(option.command);
  words.push_back(std::string(option.name) + "=" + value);
  Subprocess program(folder, words);
  const int code = program.wait();
  const std::string said = program.err();
  CHECK_MESSAGE(code == 2, option.command, " ", words.back(), ": ", said);
  CHECK_MESSAGE(contains(said, option.name), option.command, " ", words.back(), ": ", said);
  CHECK_MESSAGE(std::count(said.begin(), said.end(), '\n') == 1, said);
}

}  // namespace

TEST_CASE("numeric options: what makes no sense is refused with exit code 2 and the option's name") {
  TemporaryFolder folder;
  for (const Option& option : kOptions) {
    if (!std::filesystem::exists(program_path(words_of(option.command)[0]))) {
      MESSAGE(option.command, " is not built; left out");
      continue;
    }
    for (const char* value : kNeverNumbers)
      if (test::in_turn()) check_refused(folder, option, value);
    for (const char* value : option.refused)
      if (test::in_turn()) check_refused(folder, option, value);
  }
}

TEST_CASE("numeric options: every setting of a run refuses what is not finite or out of its range") {
  for (const Setting<RunConfig>& setting : run_config_table()) {
    if (setting.is_switch() || setting.kind() == "TEXT" || !setting.choices.empty()) continue;
    RunConfig config;
    auto refuses = [&](const std::string& text) {
      CHECK_MESSAGE(exit_of([&] { setting.set(config, text, "--" + setting.flag); }) == Exit::usage, setting.flag, " ",
                    text);
    };
    for (const char* value : kNeverNumbers) refuses(value);
    refuses("-2");
    if (!std::holds_alternative<double>(setting.of_kind)) refuses("1.5");
    if (!std::holds_alternative<std::uint64_t>(setting.of_kind)) refuses(plain_text(2 * setting.high + 1));
    if (setting.open_high) refuses(plain_text(setting.high));
  }
  RunConfig config;
  const Setting<RunConfig>& epsilon = *setting_named(run_config_table(), "adam-epsilon");
  CHECK(exit_of([&] { epsilon.set(config, "0", "--adam-epsilon"); }) == Exit::usage);  // 0 / 0 where no gradient came
  CHECK(exit_of([&] { epsilon.set(config, "1e-50", "--adam-epsilon"); }) == Exit::usage);  // 0 in f32
  epsilon.set(config, "1e-30", "--adam-epsilon");
  CHECK(static_cast<float>(config.adam_epsilon) > 0);
}
