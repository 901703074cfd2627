// A run's settings: which source wins, what is refused and how it says so, and that TOML keeps every bit.
#include "train/run_config.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <vector>

#include "model/position/rotary_position.h"
#include "tests/support/files.h"
#include "train/run_config_fields.h"

using namespace sink;

namespace {

const Ablation kRotary{.name = "baseline",
                       .policies = "position=Rotary norm=RMSNorm attention=Softmax",
                       .make_model = nullptr,
                       .check_sizes = Rotary::check};
const Ablation kLearned{.name = "baseline",
                        .policies = "position=Learned attention=Softmax",
                        .make_model = nullptr,
                        .check_sizes = [](const Sizes&) {}};

RunConfig parse(std::vector<std::string> arguments, const Ablation& ablation = kRotary) {
  std::vector<char*> argv;
  arguments.insert(arguments.begin(), "train_baseline");
  for (std::string& argument : arguments) argv.push_back(argument.data());
  RunConfig config;
  bool goes_on = parse_run_config(static_cast<int>(argv.size()), argv.data(), ablation, config);
  CHECK(goes_on);
  return config;
}

// The message with which the arguments are refused; the code must be that of a usage error.
std::string refusal(const std::vector<std::string>& arguments, const Ablation& ablation = kRotary) {
  std::string message;
  CHECK(exit_of([&] { parse(arguments, ablation); }, &message) == Exit::usage);
  CHECK(message.find('\n') == std::string::npos);
  return message;
}

std::vector<std::string> enough(std::vector<std::string> more) {
  more.insert(more.begin(), {"--data", "d", "--run", "r"});
  return more;
}

struct Environment {
  std::string name;
  Environment(const std::string& name, const std::string& value) : name(name) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() { ::unsetenv(name.c_str()); }
};

}  // namespace

TEST_CASE("run config: a flag beats the environment, which beats the file, which beats the default") {
  TemporaryFolder folder;
  write_bytes(folder / "a.toml", "# a comment\nbatch = 7  # sequences\nsteps = 70\nwarmup = 3\n");
  Environment batch("SINKLAB_BATCH", "8"), steps("SINKLAB_STEPS", "80"), empty("SINKLAB_WARMUP", "");
  RunConfig config = parse(enough({"--config", folder / "a.toml", "--batch", "9"}));
  CHECK(config.batch == 9);
  CHECK(config.steps == 80);
  CHECK(config.warmup == 3);  // an empty variable is none
  CHECK(config.heads == RunConfig().heads);
}

TEST_CASE("run config: flags in their usual forms") {
  RunConfig config = parse(enough({"--learning-rate=1e-3", "--fixed-first-token", "-1", "--reference", "--seed",
                                   "18446744073709551615", "--batch", "2", "--batch", "3"}));
  CHECK(config.learning_rate == 1e-3);
  CHECK(config.fixed_first_token == -1);
  CHECK(config.reference);
  CHECK(config.seed == 18446744073709551615u);
  CHECK(config.batch == 3);
  CHECK(config.run == "r");
  CHECK(parse({"--task", "bigram-backcopy", "--dry-run"}).dry_run);
}

TEST_CASE("run config: what is not known is refused and the nearest name given") {
  TemporaryFolder folder;
  CHECK(refusal({"--lerning-rate", "3"}) == "unknown flag --lerning-rate; did you mean --learning-rate?");
  CHECK(refusal({"--zzzzzzzzzz=3"}) == "unknown flag --zzzzzzzzzz");
  CHECK(refusal({"train"}).find("unexpected argument `train`") == 0);
  CHECK(refusal({"--batch"}).find("--batch needs a value") == 0);
  write_bytes(folder / "a.toml", "\nbatchh = 3\n");
  CHECK(refusal({"--config", folder / "a.toml"}) == folder / "a.toml" + ": unknown key `batchh`; did you mean batch?");
  CHECK(exit_of([&] { parse({"--config", folder / "absent.toml"}); }) == Exit::bad_input);
}

TEST_CASE("run config: values out of range say what was expected, what came and from where") {
  TemporaryFolder folder;
  CHECK(refusal({"--batch", "0"}) == "--batch must be a whole number from 1 to 65536, got `0`");
  CHECK(refusal({"--batch", "1e3"}).find("got `1e3`") != std::string::npos);
  CHECK(refusal({"--seed", "-1"}).find("from 0 to 18446744073709551615") != std::string::npos);
  CHECK(refusal({"--learning-rate", "nan"}) == "--learning-rate must be a number from 0 to 100, got `nan`");
  CHECK(refusal({"--beta2", "1"}) == "--beta2 must be a number from 0 to below 1, got `1`");
  CHECK(refusal({"--precision", "f16"}) == "--precision must be f32, bf16 or f64, got `f16`");
  {
    Environment clip("SINKLAB_CLIP", "none");
    CHECK(refusal({}).find("SINKLAB_CLIP must be a number") == 0);
  }
  write_bytes(folder / "a.toml", "reference = maybe\n");
  CHECK(refusal({"--config", folder / "a.toml"}) ==
        folder / "a.toml" + ": reference must be true or false, got `maybe`");
}

TEST_CASE("run config: values that do not fit each other are refused") {
  CHECK(refusal(enough({"--heads", "3"})) == "--heads must divide --width, got 3 heads and width 128");
  for (const char* heads : {"64", "1"}) CHECK(parse(enough({"--width", "768", "--heads", heads})).width == 768);
  CHECK(refusal(enough({"--heads", "4", "--width", "36"})).find("even width") != std::string::npos);
  CHECK(parse(enough({"--heads", "4", "--width", "36"}), kLearned).width == 36);
  CHECK(refusal(enough({"--kv-heads", "3"})) ==
        "--kv-heads must divide --heads, got 3 heads of keys and values and 4 heads");
  CHECK(parse(enough({"--kv-heads", "2"})).kv_heads == 2);
  CHECK(parse(enough({"--kv-heads", "0"})).kv_heads == 0);
  CHECK(refusal(enough({"--prefix", "64"})) ==
        "--prefix must be less than --context, got a prefix of 64 and a context of 64");
  CHECK(parse(enough({"--prefix", "63", "--window", "1000"})).window == 1000);  // as good as none
  CHECK(refusal({"--run", "r"}).find("--data is needed") == 0);
  CHECK(refusal({"--data", "d"}).find("--run is needed") == 0);
  CHECK(refusal(enough({"--force", "--resume", "auto"})).find("--force") == 0);
  CHECK(parse(enough({"--steps", "5"})).warmup == 100);  // longer than the run: a note, no error
}

TEST_CASE("run config: TOML holds every value to the last bit") {
  TemporaryFolder folder;
  RunConfig config;
  config.learning_rate = 1.0 / 3;
  config.adam_epsilon = 4.9406564584124654e-324;
  config.clip = 123456789.0;
  config.weight_decay = 0;
  config.seed = 18446744073709551615u;
  config.data = " it\'s, [a] folder; caf\xc3\xa9 = 1 ";
  config.init = "formula";
  config.reference = true;
  config.fixed_first_token = 17;
  config.kv_heads = 2;
  config.window = 16;
  config.prefix = 5;
  config.ablation = "baseline";
  config.policies = kRotary.policies;
  write_bytes(folder / "config.toml", to_toml(config));

  RunConfig read = parse({"--config", folder / "config.toml", "--run", "r", "--resume", "auto"});
  CHECK(to_toml(read) == to_toml(config));
  for (const RunConfigField& field : run_config_fields()) {
    if (field.saved()) CHECK_MESSAGE(field.value(read) == field.value(config), field.flag);
  }
  CHECK(read.learning_rate == config.learning_rate);
  CHECK(read.adam_epsilon == config.adam_epsilon);
  CHECK(read.data == config.data);
  config.run = "elsewhere";
  config.resume = "auto";
  config.force = config.dry_run = true;
  CHECK(to_toml(read) == to_toml(config));  // how it was started is no part of what it is
}

TEST_CASE("run config: a file names its ablation, and is not taken for another one's") {
  TemporaryFolder folder;
  RunConfig config = parse(enough({"--batch", "3"}));
  CHECK(config.ablation == "baseline");
  CHECK(config.policies == kRotary.policies);
  std::string text = to_toml(config);
  CHECK(text.find("ablation = \"baseline\"\npolicies = \"" + kRotary.policies + "\"\n") != std::string::npos);
  RunConfig read = run_config_from_toml(text, "here");
  CHECK(read.ablation == "baseline");
  CHECK(read.policies == kRotary.policies);
  CHECK(to_toml(read) == text);
  CHECK(to_toml(RunConfig()).find("ablation") == std::string::npos);

  write_bytes(folder / "own.toml", text);
  CHECK(parse({"--config", folder / "own.toml", "--run", "r"}).batch == 3);
  write_bytes(folder / "other.toml", "ablation = \"bias_k\"\nbatch = 3\n");
  CHECK(refusal({"--config", folder / "other.toml"})
            .find(folder / "other.toml" + " is the configuration of train_bias_k, this is train_baseline: ") == 0);
  write_bytes(folder / "old.toml", "batch = 3\n");  // older programs did not say
  CHECK(parse(enough({"--config", folder / "old.toml"})).ablation == "baseline");
  std::string message;
  CHECK(exit_of([&] { run_config_from_toml("ablation = a\nablation = a\n", "here"); }, &message) == Exit::usage);
  CHECK(message == "here: ablation is given twice");
}

TEST_CASE("run config: texts that TOML would not give back are refused wherever they come from") {
  for (const char* text : {"a \"b\"", "a\\b", "a # b", "a\nb", "a\x7f", "'a'"}) {
    CAPTURE(text);
    CHECK(refusal(enough({"--data", text})).find("--data must be text without double quotes") == 0);
  }
  for (const char* text : {"", "[a, b]", "it's 'b'", "a=b;c", "]"}) {
    RunConfig config;
    config.data = text;
    CAPTURE(text);
    CHECK(run_config_from_toml(to_toml(config), "here").data == text);
  }
}

TEST_CASE("run config: TOML beyond plain `key = value` lines is refused, and where it stood is said") {
  auto message = [](const std::string& text) {
    std::string said;
    CHECK(exit_of([&] { run_config_from_toml(text, "a.h5"); }, &said) == Exit::usage);
    return said;
  };
  CHECK(message("[model]\n") == "a.h5: line 1 is `[model]`: sections are not used, settings stand as key = value");
  CHECK(contains(message("layers = 2\n [ model ] # x\n"), "line 2 is `[ model ] # x`: sections"));
  CHECK(message("model.layers = 2\n") == "a.h5: line 1 sets `model.layers`: no setting has a dot in its name");
  CHECK(message("batch 3\n").find("a.h5: unknown key `batch 3`") == 0);
  CHECK(message("batch =\n").find("a.h5: batch must be a whole number") == 0);
  CHECK(message("batch = 1 2\n").find("got `1 2`") != std::string::npos);
  CHECK(message("batch = [1\n").find("got `[1`") != std::string::npos);
  CHECK(message("batch = 1\nbatch = 2\n") == "a.h5: batch is given twice");
  CHECK(message("eval_every = 1\nbatch = 2\neval-every = 1\n") == "a.h5: eval-every is given twice");
  for (const char* data : {"\"d", "'d", "\"\\q\"", "\"a\\u0041\"", "\"d\" e", "\"a # b\""}) {
    CAPTURE(data);
    CHECK(message(std::string("data = ") + data + "\n").find("a.h5: data must be text") == 0);
  }
  RunConfig config = run_config_from_toml("; a comment\r\nfeed_forward = 3\r\ndata = 'd e' # more", "a.h5");
  CHECK(config.feed_forward == 3);
  CHECK(config.data == "d e");
  CHECK(to_toml(run_config_from_toml("", "a.h5")) == to_toml(RunConfig()));
}

TEST_CASE("run config: TOML made to do harm is refused before a parser sees it; a byte order mark is skipped") {
  auto code = [](const std::string& text, std::string* message) {
    return exit_of([&] { run_config_from_toml(text, "a.toml"); }, message);
  };
  std::string said, dots;
  for (int i = 0; i < 100000; ++i) dots += "a.";
  for (const std::string& text : {"[" + dots + "a]\n", dots + "a = 1\n", "x" + std::string(100000, 'x') + " = 1\n",
                                  std::string("layers = [\n") + std::string(2 << 20, '1') + "\n]\n",
                                  "[" + dots.substr(0, 16000) + "]\n", dots.substr(0, 16000) + "\n",
                                  std::string(16000, 'x') + " = 1\n", "layers = " + std::string(16000, 'x') + "\n"}) {
    CHECK(code(text, &said) == Exit::usage);
    CHECK(said.starts_with("a.toml"));
    CHECK(said.size() < 400);
    CHECK(!contains(said, "\n"));
  }
  CHECK(run_config_from_toml("\xEF\xBB\xBFwidth = 256\nlayers = 5\n", "a.toml").width == 256);
  CHECK(run_config_from_toml("\xEF\xBB\xBFwidth = 256\r\nlayers = 5\r\n", "a.toml").layers == 5);
}
