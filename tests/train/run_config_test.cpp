// A run's settings: which source wins, what is refused with which message, and that TOML keeps every bit.
#include "train/run_config.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <vector>

#include "engine/data/data_settings.h"
#include "engine/io/settings_toml.h"
#include "model/all_ablations.h"
#include "model/position/rotary_position.h"
#include "model/size_settings.h"
#include "tests/support/files.h"
#include "tests/support/in_turn.h"
#include "train/optimizers/optimizers.h"
#include "train/run_config_table.h"

using namespace sink;

namespace {

const Ablation kRotary{.name = "baseline",
                       .policies = "position=Rotary norm=RMSNorm attention=Softmax",
                       .make = nullptr,
                       .check_sizes = Rotary::check};
const Ablation kLearned{.name = "baseline",
                        .policies = "position=Learned attention=Softmax",
                        .make = nullptr,
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

// The same for `init`; whether the program continues.
bool init_request(std::vector<std::string> arguments, InitRequest& request) {
  std::vector<char*> argv;
  arguments.insert(arguments.begin(), "init");
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return parse_init_request(static_cast<int>(argv.size()), argv.data(), kRotary, request);
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
  RunConfig config = parse(enough({"--learning-rate=1e-3", "--fixed-token", "-1", "--reference", "--seed",
                                   "18446744073709551615", "--batch", "2", "--batch", "3"}));
  CHECK(config.learning_rate == 1e-3);
  CHECK(config.fixed_token == -1);
  CHECK(config.reference);
  CHECK(config.seed == 18446744073709551615u);
  CHECK(config.batch == 3);
  CHECK(config.run == "r");
  CHECK(parse({"--task", "bigram-backcopy", "--dry-run"}).dry_run);
}

TEST_CASE("run config: --tiny is other defaults, for a debugger, which any flag beats") {
  RunConfig tiny = parse({"--tiny"});
  CHECK(tiny.reference);
  CHECK(tiny.width == 16);
  CHECK(tiny.run == "runs/tiny");
  RunConfig other = parse({"--tiny", "--context", "9", "--run", "elsewhere", "--steps", "7"});
  CHECK(other.context == 9);
  CHECK(other.run == "elsewhere");
  CHECK(other.steps == 7);
  CHECK(other.layers == tiny.layers);
  CHECK(!parse({"--tiny", "--device", "cuda"}).reference);  // which has no loops to step through
  CHECK(refusal({"--tiny", "--config", "file"}).find("--tiny and --config") != std::string::npos);
}

TEST_CASE("run config: --tiny replaces a run of --tiny, and no other") {
  TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path);
  std::filesystem::create_directories("runs/tiny");
  CHECK(!parse({"--tiny"}).force);  // the folder has no run
  auto left = [](const RunConfig& config) { write_bytes("runs/tiny/config.toml", to_toml(config)); };
  left(parse({"--tiny"}));
  CHECK(parse({"--tiny"}).force);
  CHECK(parse({"--tiny", "--context", "9"}).force);
  CHECK(!parse({"--tiny", "--run", "elsewhere"}).force);  // the user named this run
  CHECK(!parse({"--tiny", "--resume", "auto"}).force);    // and the two do not exclude each other
  InitRequest init;
  CHECK(init_request({"--tiny", "--out", "i.h5"}, init));
  CHECK(!init.config.force);  // of FILE
  left(parse({"--tiny", "--context", "9"}));
  CHECK(parse({"--tiny"}).force);
  left(parse({"--tiny", "--device", "cuda"}));
  CHECK(parse({"--tiny"}).force);
  for (std::vector<std::string> real : {std::vector<std::string>{"--layers", "3"},
                                        {"--reference=false"},
                                        {"--width", "32"},
                                        {"--context", "64"},
                                        {"--task", "text", "--data", "d"}}) {
    real.insert(real.begin(), "--tiny");
    left(parse(real));
    CHECK_MESSAGE(!parse({"--tiny"}).force, real[1]);
  }
  write_bytes("runs/tiny/config.toml", "no TOML");
  CHECK(!parse({"--tiny"}).force);
  std::filesystem::current_path(before);
}

TEST_CASE("run config: a switch that is false does nothing") {
  CHECK(parse(enough({"--tiny=false"})).width == RunConfig().width);
  CHECK(parse(enough({"--print-config=false"})).run == "r");  // and the program continues
  CHECK(parse({"--tiny=true"}).width == 16);
  CHECK(refusal({"--tiny=maybe"}) == "--tiny must be true or false, got `maybe`");
}

TEST_CASE("run config: what is not known is refused and the nearest name given") {
  TemporaryFolder folder;
  CHECK(refusal({"--lerning-rate", "3"}) == "unknown flag --lerning-rate; did you mean --learning-rate?");
  CHECK(refusal({"--zzzzzzzzzz=3"}) == "unknown flag --zzzzzzzzzz; train_baseline --help lists the flags");
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
  CHECK(refusal({"--precision", "f16"}) == "--precision must be f32, bf16, tf32 or f64, got `f16`");
  {
    Environment clip("SINKLAB_CLIP", "none");
    CHECK(refusal({}).find("SINKLAB_CLIP must be a number") == 0);
  }
  write_bytes(folder / "a.toml", "reference = \"maybe\"\n");
  CHECK(refusal({"--config", folder / "a.toml"}) ==
        folder / "a.toml" + ": reference must be true or false, got `maybe`");
}

TEST_CASE("run config: values that do not fit each other are refused") {
  CHECK(refusal(enough({"--heads", "3"})) == "--heads must divide --d-model, got 3 heads and width 128");
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
  config.min_learning_rate = 4.9406564584124654e-324;
  config.adam_epsilon = 1e-30;
  config.clip = 123456789.0;
  config.weight_decay = 0;
  config.seed = 18446744073709551615u;
  config.data = " it\'s, [a] folder; caf\xc3\xa9 = 1 ";
  config.init = "formula";
  config.reference = true;
  config.fixed_token = 17;
  config.fixed_position = 3;
  config.fixed_probability = 0.1;
  config.data_fraction = 0.04;
  config.kv_heads = 2;
  config.window = 16;
  config.prefix = 5;
  config.ablation = "baseline";
  config.policies = kRotary.policies;
  write_bytes(folder / "config.toml", to_toml(config));

  RunConfig read = parse({"--config", folder / "config.toml", "--run", "r", "--resume", "auto"});
  CHECK(to_toml(read) == to_toml(config));
  for (const Setting<RunConfig>& setting : run_config_table())
    if (is_saved(setting)) CHECK_MESSAGE(setting.value(read) == setting.value(config), setting.flag);
  CHECK(read.learning_rate == config.learning_rate);
  CHECK(read.adam_epsilon == config.adam_epsilon);
  CHECK(read.min_learning_rate == config.min_learning_rate);
  CHECK(read.data == config.data);
  config.run = "elsewhere";
  config.resume = "auto";
  config.force = config.dry_run = true;
  CHECK(to_toml(read) == to_toml(config));  // how it was started is no part of what it is
}

TEST_CASE("run config: a setting is read under the name that older programs wrote, and written under its own") {
  RunConfig config = run_config_from_toml("fixed-first-token = 7\n", "old.toml");
  CHECK(config.fixed_token == 7);
  CHECK(config.fixed_position == 1);
  CHECK(config.fixed_probability == 1);  // older runs had the token in every sequence
  std::string written = to_toml(config);
  CHECK(written.find("\nfixed-token = 7\n") != std::string::npos);
  CHECK(written.find("first-token") == std::string::npos);
  CHECK(run_config_from_toml("fixed_first_token = 7\n", "old.toml").fixed_token == 7);
  std::string message;
  CHECK(exit_of([&] { run_config_from_toml("fixed_first_token = 7\nfixed-token = 7\n", "both"); }, &message) ==
        Exit::usage);
  CHECK(message == "both: fixed-token is given twice");
  CHECK(refusal(enough({"--fixed-first-token", "7"})).find("did you mean --fixed-token?") != std::string::npos);
}

TEST_CASE("run config: the settings of model and data are those of their tables, all of them") {
  auto check = [](const SettingRule& rule) {
    CAPTURE(rule.flag);
    const Setting<RunConfig>* own = setting_named(run_config_table(), rule.flag);
    REQUIRE(own);
    CHECK(own->help == rule.help);
    CHECK(own->expected() == rule.expected());
    CHECK(own->group == rule.group);
  };
  for (const auto& setting : data_settings()) check(setting);
  for (const auto& size : size_settings())
    if (size.flag != "vocabulary") check(size);
  CHECK(!setting_named(run_config_table(), "vocabulary"));  // the data's

  RunConfig config;
  std::int64_t number = 100;
  auto next = [&](const SettingRule& rule) {  // another for each, of its type
    ++number;
    const bool whole = std::holds_alternative<std::int64_t>(rule.of_kind);
    return whole ? SettingValue(number) : SettingValue(static_cast<double>(number));
  };
  for (const auto& size : size_settings())
    if (const auto* own = setting_named(run_config_table(), size.flag)) own->set(config, next(size));
  Sizes sizes = model_sizes(config, 7);
  CHECK(sizes.vocabulary == 7);
  number = 100;
  for (const auto& size : size_settings())
    if (size.flag != "vocabulary") CHECK_MESSAGE(size.value(sizes) == next(size), size.flag);
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
  std::string policies = text;
  policies.replace(policies.find("Softmax"), 7, "Sigmoid");
  write_bytes(folder / "changed.toml", policies);
  CHECK(contains(
      refusal({"--config", folder / "changed.toml", "--run", "r"}),
      "the policies position=Rotary norm=RMSNorm attention=Sigmoid, and this program has " + kRotary.policies));
  write_bytes(folder / "old.toml", "batch = 3\n");  // older programs did not say
  CHECK(parse(enough({"--config", folder / "old.toml"})).ablation == "baseline");
  std::string message;
  CHECK(exit_of([&] { run_config_from_toml("ablation = 'a'\nablation = 'a'\n", "here"); }, &message) == Exit::usage);
  CHECK(message == "here: ablation is given twice");
}

TEST_CASE("run config: any text in UTF-8 survives a flag, a file and a checkpoint; other bytes are refused") {
  TemporaryFolder folder;
  std::string every;  // all of ASCII but NUL, which no argument can hold
  for (char c = 1; c > 0; ++c) every += c;
  for (const std::string& text :
       {every, std::string(), std::string("a \"b\""), std::string("a\\b\\"), std::string("a # b"),
        std::string("a\nb\r\n"), std::string("'a'"), std::string("it's \"\"\" '''"), std::string("[a, b]"),
        std::string("]"), std::string("a=b;c"), std::string("\\u0041 \\n"), std::string("\x7f\x1b[31m\t"),
        std::string("caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x99\x82"),
        std::string("\xef\xbb\xbf\xc2\x85\xe2\x80\xa8\xe2\x80\xae"), std::string(100000, '\\')}) {
    CAPTURE(text);
    if (text.empty()) continue;
    RunConfig config = parse({"--data", text, "--run", "r", "--dry-run"});
    CHECK(config.data == text);
    CHECK(run_config_from_toml(to_toml(config), "here").data == text);
    write_bytes(folder / "config.toml", to_toml(config));
    CHECK(parse({"--config", folder / "config.toml", "--run", "r"}).data == text);
  }
  for (const char* text : {"a\xff", "\xc0\x80", "\xed\xa0\x80"})
    CHECK(refusal(enough({"--data", text})).find("--data must be text in UTF-8, got `") == 0);
}

TEST_CASE("run config: TOML is what toml.io says; where it is not, or is no setting, its line is named") {
  auto message = [](const std::string& text) {
    std::string said;
    CHECK(exit_of([&] { run_config_from_toml(text, "a.h5"); }, &said) == Exit::usage);
    CHECK(said.size() < 400);
    CHECK(!contains(said, "\n"));
    return said;
  };
  CHECK(message("[model]\n") == "a.h5: line 1 is `[model]`: sections are not used, settings stand as key = value");
  CHECK(contains(message("layers = 2\n [ model ] # x\n"), "line 2 is `[ model ] # x`: sections"));
  CHECK(message("model.layers = 2\n") == "a.h5: line 1 sets `model.layers`: no setting has a dot in its name");
  CHECK(message("\n\nbatch 3\n") == "a.h5: line 3 is `batch 3`, expected key = value");
  CHECK(message("\"a=b\".c.d = 3\n") == "a.h5: line 1 is `\"a=b\".c.d = 3`, expected key = value");
  CHECK(message("; a comment\n").find("a.h5: line 1 is `; a comment`, expected key = value") == 0);
  CHECK(message("batch = [1]\n") == "a.h5: line 1 sets batch to `[1]`: a setting has one value, no list or table");
  CHECK(message("batch = {a = 1}\n").find("a.h5: line 1 sets batch to `{a = 1}`") == 0);
  for (const char* value : {"", "1 2", "bigram", "\"d", "'d", "\"\\q\"", "\"d\" e", "\"\"\"", "07", "1e400",
                            "1979-05-27", "99999999999999999999", "\"a\x7f\"", "\"a\xff\""}) {
    CAPTURE(value);
    std::string said = message("# one\ndata = " + std::string(value) + "\n");
    CHECK(said.find("a.h5: line 2 sets data: ") == 0);
    CHECK(contains(said, "; a value is a number, true, false or a text in quotes"));
  }
  CHECK(message("batch = 1\nbatch = 2\n") == "a.h5: batch is given twice");
  CHECK(message("eval_every = 1\nbatch = 2\neval-every = 1\n") == "a.h5: eval-every is given twice");
  CHECK(message("batch = 3.5\n") == "a.h5: batch must be a whole number from 1 to 65536, got `3.5`");
  CHECK(message("learning-rate = nan\n") == "a.h5: learning-rate must be a number from 0 to 100, got `nan`");

  RunConfig config = run_config_from_toml("feed_forward = 1_000\r\n\tbatch=0x10\r\ndata = 'd \\e' # more", "a.h5");
  CHECK(config.feed_forward == 1000);
  CHECK(config.batch == 16);
  CHECK(config.data == "d \\e");
  CHECK(run_config_from_toml("data = \"\\u00e9\\t\\\"\\\\\"\nlearning-rate = 1\nclip = 1e-2", "a.h5").data ==
        "\xc3\xa9\t\"\\");
  CHECK(run_config_from_toml("learning-rate = 1", "a.h5").learning_rate == 1);
  CHECK(to_toml(run_config_from_toml("", "a.h5")) == to_toml(RunConfig()));
}

TEST_CASE("run config: the files of older programs are read as they were meant") {
  RunConfig config = run_config_from_toml(
      "# Sinklab run\nablation = \"baseline\"\npolicies = \"position=Rotary norm=RMSNorm\"\n\n# Model\nlayers = 3\n"
      "init = \"torch\"\ninitial = \"\"\n\n# Data\ndata = \" it's, [a] folder; caf\xc3\xa9 = 1 \"\n"
      "seed = 18446744073709551615\n\n# Optimisation\nlearning-rate = 0.004\nadam-epsilon = 1e-08\nclip = 1.0\n"
      "reference = false\n",
      "old.toml");
  CHECK(config.ablation == "baseline");
  CHECK(config.data == " it's, [a] folder; caf\xc3\xa9 = 1 ");
  CHECK(config.seed == 18446744073709551615u);
  CHECK(config.adam_epsilon == 1e-8);
  CHECK(contains(to_toml(config), "\nseed = \"18446744073709551615\"\n"));  // TOML's integers end at 2^63 - 1
  CHECK(run_config_from_toml("seed = 9223372036854775807", "a").seed == 9223372036854775807u);
}

TEST_CASE("run config: TOML made to do harm is refused, in little time; a byte order mark is skipped") {
  auto times = [](std::size_t count, const std::string& text) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) all += text;
    return all;
  };
  std::string said, keys;
  for (int i = 0; i < 90000; ++i) keys.append("k").append(std::to_string(i)).append(" = 1\n");
  const std::string dots = times(400000, "a.");
  for (const std::string& text :
       {"[" + dots + "a]\n", dots + "a = 1\n", "\"=\"" + dots + "a = 1\n", "layers = {" + dots + "a = 1}\n",
        "layers = " + times(1000000, "["), times(1000000, "["), "x" + times(1000000, "x") + " = 1\n",
        "layers = [\n" + times(2 << 20, "1") + "\n]\n", "layers = " + times(1000000, "1") + "\n",
        "layers = " + times(100000, "x") + "\n", keys, times(150000, "b = 1\n"), times(1000000, "\n") + "x",
        "batch = \"" + times(1000000, "x") + "\"\n", "data = \"" + times(1000000, "x")}) {
    CHECK(exit_of([&] { run_config_from_toml(text, "a.toml"); }, &said) == Exit::usage);
    CHECK(said.starts_with("a.toml"));
    CHECK(said.size() < 400);
    CHECK(!contains(said, "\n"));
  }
  CHECK(run_config_from_toml("\xEF\xBB\xBFwidth = 256\nlayers = 5\n", "a.toml").width == 256);
  CHECK(run_config_from_toml("\xEF\xBB\xBFwidth = 256\r\nlayers = 5\r\n", "a.toml").layers == 5);
}

TEST_CASE("run config: a flag that the optimiser does not read is refused, a line of a file passed over") {
  CHECK(refusal(enough({"--momentum", "0.95"})).find("not read by --optimizer adamw, but by sgd, muon") !=
        std::string::npos);
  CHECK(refusal(enough({"--optimizer", "sgd", "--beta2", "0.5"})).find("--beta2") != std::string::npos);
  CHECK(refusal(enough({"--optimizer", "lion", "--adam-epsilon", "0.5"})).find("lion") != std::string::npos);
  CHECK(refusal(enough({"--optimizer", "adam"})).find("must be adamw, sgd, lion, muon") != std::string::npos);
  RunConfig muon = parse(enough({"--optimizer", "muon", "--momentum", "0.5", "--beta1", "0.5", "--decay", "matrices"}));
  CHECK(muon.momentum == 0.5);
  CHECK(to_toml(run_config_from_toml(to_toml(muon), "x")) == to_toml(muon));
  TemporaryFolder folder;
  write_bytes(folder / "a.toml", "beta2 = 0.99\nmomentum = 0.5\n");
  for (const OptimizerKind& kind : optimizer_kinds())
    CHECK(parse(enough({"--config", folder / "a.toml", "--optimizer", kind.name})).optimizer == kind.name);
}

TEST_CASE("run config: a flag without effect is refused") {
  CHECK(contains(refusal({"--task", "bigram-backcopy", "--data", "d", "--run", "r"}), "--data is read by --task text"));
  CHECK(contains(refusal(enough({"--init", "torch", "--initial", "a.h5"})), "--init says how parameters are drawn"));
  CHECK(contains(refusal(enough({"--weight-decay", "0", "--decay", "matrices"})), "--decay says what"));
  CHECK(contains(refusal(enough({"--prefix-validation", "study"})), "is read with a --prefix of at least 2"));
  CHECK(parse(enough({"--prefix-validation", "study", "--prefix", "2"})).prefix == 2);
  const std::vector<std::string> readers{"--data", "d", "--run", "r", "--data-order", "released"};
  const auto with_batch = [&](const char* batch) {
    std::vector<std::string> words = readers;
    words.insert(words.end(), {"--batch", batch, "--accumulate", "1"});
    return words;
  };
  CHECK(contains(refusal(with_batch("6")), "--loader-ranks must divide the sequences of a step"));
  CHECK(parse(with_batch("8")).loader_ranks == 4);
  CHECK(refusal(enough({"--min-learning-rate", "0.001"})).find("--min-learning-rate is where --schedule cosine") == 0);
  CHECK(parse(enough({"--schedule", "cosine", "--min-learning-rate", "0.001"})).min_learning_rate == 0.001);
  for (const char* flag : {"--rate", "--link"}) {
    CHECK(contains(refusal(enough({flag, "5"})), std::string(flag) + " is read by --dry-run with --nproc"));
    CHECK(contains(refusal(enough({flag, "5", "--dry-run"})), flag));
    CHECK(parse(enough({flag, "5", "--dry-run", "--nproc", "2"})).nproc == 2);
  }
  InitRequest init;
  std::string message;
  CHECK(exit_of([&] { init_request({"--dry-run", "--out", "i.h5"}, init); }, &message) == Exit::usage);
  CHECK(contains(message, "--dry-run"));
  CHECK(contains(message, "init"));
}

TEST_CASE("run config: a number that is too small for a double is refused, and not 0") {
  std::string message;
  for (const char* value : {"4e-400", "-0.1e-999", "1_0.0e-4_00"}) {
    const std::string line = "learning-rate = " + std::string(value) + "\n";
    CHECK_MESSAGE(exit_of([&] { run_config_from_toml(line, "a.toml"); }, &message) == Exit::usage, value);
    CHECK_MESSAGE(contains(message, "a.toml: line 1 sets learning-rate: "), message);
    CHECK_MESSAGE(contains(message, "too small"), message);
  }
  for (const char* value : {"0.0", "0e-400", "0", "-0.0"})
    CHECK(run_config_from_toml("weight-decay = " + std::string(value), "a.toml").weight_decay == 0);
  CHECK(run_config_from_toml("weight-decay = 5e-324", "a.toml").weight_decay > 0);
  const std::string list = "# one\nname = [\n  \"caf\xc3\xa9 0.0\", 0.0, 1.5,  # 4e-400\n  ";
  CHECK(exit_of([&] { read_sections_toml(list + "2.5, 4e-400]\n", "a.toml", Exit::usage); }, &message) == Exit::usage);
  CHECK(contains(message, "4e-400 is too small"));
  CHECK(read_sections_toml(list + "2.5, 0.0]\n", "a.toml", Exit::usage)[0].entries[0].values.size() == 5);
  std::string zeros = "name = [";  // whose places are found in one pass
  while (zeros.size() < 1000000) zeros += "0.0, ";
  CHECK(read_sections_toml(zeros + "1]\n", "a.toml", Exit::usage)[0].entries[0].values.size() > 100000);
}

TEST_CASE("run config: a settings file without an end is refused after its first MiB") {
  for (const char* device : {"/dev/zero", "/dev/full"})
    CHECK(refusal({"--config", device}) ==
          std::string(device) + " has more than 1048576 bytes, the most that settings have; give a file of settings");
  TemporaryFolder folder;
  write_bytes(folder / "most.toml", std::string((std::size_t{1} << 20) - 10, '\n') + "batch = 3\n");
  CHECK(parse(enough({"--config", folder / "most.toml"})).batch == 3);
}

TEST_CASE("run config: a flag of a size that the model does not read is refused, a line of a file passed over") {
  TemporaryFolder folder;
  write_bytes(folder / "a.toml", "rotary-base = 50\nexperts = 4\nglobal-every = 2\nrotary-context = 8\n");
  std::size_t rotary = 0, mixtures = 0;
  for (const Ablation& ablation : all_ablations()) {
    CAPTURE(ablation.name);
    if (!test::in_turn()) continue;
    const bool rotates = contains(ablation.policies, "Rotary "), mixes = contains(ablation.policies, "Experts");
    rotary += rotates;
    mixtures += mixes;
    const std::string turns = "needs rotary positions, which this model does not have: leave it out, or train another";
    for (const char* flag : {"--rotary-base", "--rotary-factor", "--partial-rotary-factor", "--no-rope-every"}) {
      if (rotates)
        parse(enough({flag, "1", "--heads", "1"}), ablation);
      else
        CHECK(contains(refusal(enough({flag, "1"}), ablation), flag + (" " + turns)));
    }
    for (const char* flag : {"--experts", "--chosen-experts"}) {
      if (mixes)
        parse(enough({flag, "2", "--heads", "1"}), ablation);
      else
        CHECK(contains(refusal(enough({flag, "2"}), ablation), flag + std::string(" needs a mixture of experts")));
    }
    if (contains(ablation.policies, "mixer=DeltaNet"))
      CHECK(parse(enough({"--attention-every", "1", "--convolution", "3", "--heads", "1"}), ablation).convolution == 3);
    else
      CHECK(contains(refusal(enough({"--attention-every", "1"}), ablation),
                     "--attention-every needs layers without attention, which this model does not have"));
    CHECK(parse(enough({"--config", folder / "a.toml", "--heads", "1"}), ablation).experts == 4);
    CHECK(parse(enough({"--experts", "2", "--rotary-base", "5", "--initial", "i.h5", "--heads", "1"}), ablation)
              .experts == 2);
  }
  CHECK(rotary > 0);
  CHECK(rotary < all_ablations().size());
  CHECK(mixtures < all_ablations().size());
  for (const char* flag : {"--global-every", "--rotary-local-base"}) {
    CHECK(contains(refusal(enough({flag, "2"})), flag + std::string(" needs --window")));
    parse(enough({flag, "2", "--window", "4"}));
  }
  CHECK(contains(refusal(enough({"--rotary-context", "8"})), "--rotary-context needs --rotary-factor"));
  CHECK(parse(enough({"--rotary-context", "8", "--rotary-factor", "2"})).rotary_context == 8);
}

TEST_CASE("run config: an environment variable that belongs to no setting is refused, and so are two of one setting") {
  {
    Environment misspelled("SINKLAB_LERNING_RATE", "0.5");
    CHECK(refusal(enough({})) ==
          "the environment variable SINKLAB_LERNING_RATE belongs to no setting: unset it; did you mean "
          "--learning-rate?");
  }
  {
    Environment ours("SINKLAB_BUILD", "build/cuda"), empty("SINKLAB_ZZZ", ""), other("SINKLABX", "1");
    CHECK(parse(enough({})).run == "r");
  }
  Environment standard("SINKLAB_D_MODEL", "64");
  CHECK(parse(enough({})).width == 64);
  Environment older("SINKLAB_WIDTH", "32");
  CHECK(refusal(enough({})) == "SINKLAB_D_MODEL and SINKLAB_WIDTH are one setting, --d-model: unset one");
}
