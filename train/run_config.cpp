#include "train/run_config.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "engine/check.h"
#include "engine/io/build_info.h"
#include "engine/io/file.h"
#include "engine/io/settings_toml.h"
#include "train/run_config_fields.h"

namespace sink {
namespace {

constexpr std::size_t kLongestShownKey = 60;  // telling how near a name is costs its length

[[noreturn]] void refuse(const std::string& why) { throw Error(why, Exit::usage); }

std::string footer(const std::string& program) {
  return "Each flag may also be set as an environment variable (--learning-rate: SINKLAB_LEARNING_RATE) or in a TOML\n"
         "file given by --config (learning-rate = 0.004). A flag beats the environment, which beats the file.\n\n"
         "Example:\n  " +
         program + " --data data/english --run runs/first --steps 1500 --seed 1\n  " + program +
         " --config runs/first/config.toml --run runs/first --resume auto\n\n"
         "Writes into the run folder: config.toml, metrics.jsonl, checkpoint.h5, evaluation.json.\n"
         "Signals: SIGTERM, SIGHUP or Ctrl-C save and leave (128 + signal), SIGUSR1 saves and goes on.\n"
         "Exit codes: 0 done, 1 bug, 2 usage, 3 bad input, 4 corrupt checkpoint, 5 diverged, 6 out of memory,\n"
         "7 device, 8 disk.\n";
}

// The command line as CLI11 sees it: it knows the flags, the table knows the values.
class CommandLine {
 public:
  CommandLine(const std::string& ablation, const std::string& policies, const std::string& program)
      : app_("Trains the `" + ablation + "` ablation of the attention-sink study.\nPolicies: " + policies, program) {
    RunConfig defaults;
    for (const RunConfigField& field : run_config_fields()) {
      std::string name = "--" + field.flag;
      if (field.is_switch()) {
        app_.add_flag(name, field.help)->group(field.group);
      } else {
        std::string initially = field.value(defaults);
        if (initially.front() == '"') initially = initially.substr(1, initially.size() - 2);
        app_.add_option(name, field.help)
            ->option_text(field.kind() + (initially.empty() ? "" : " [" + initially + "]"))
            ->group(field.group);
      }
    }
    app_.set_help_flag("-h,--help", "print this and leave")->group("Running");
    app_.add_flag("--version")->description("print ablation, policies and commit, then leave")->group("Running");
    app_.add_flag("--print-config")
        ->description("print the settings that would be used as TOML, then leave")
        ->group("Running");
    app_.add_option("--config", "TOML file with settings")->option_text("FILE")->group("Running");
    for (CLI::Option* option : app_.get_options()) { option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast); }
    app_.get_formatter()->column_width(46);
    app_.footer(footer(program));
    app_.allow_extras();
  }

  // False when help was asked for and printed.
  bool parse(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      std::fputs(app_.help().c_str(), stdout);
      return false;
    } catch (const CLI::ArgumentMismatch& error) {
      std::string message = error.what();  // "--batch: 1 required INT missing"
      refuse(message.substr(0, message.find(':')) + " needs a value; --help lists the flags");
    } catch (const CLI::ParseError& error) { refuse(std::string(error.what()) + "; --help lists the flags"); }
    if (std::vector<std::string> unknown = app_.remaining(); !unknown.empty()) {
      std::string name = unknown.front().substr(0, unknown.front().find('='));
      bool is_flag = name.starts_with("-");
      refuse(is_flag ? "unknown flag " + name + did_you_mean(name)
                     : "unexpected argument `" + name + "`; settings are given as --name value");
    }
    return true;
  }

  void add_init_options() {
    app_.description(
        "Writes the initial parameters of a model as a checkpoint: eval_* measures it, train_* --initial\n"
        "starts from it. The settings are those of training; of them, those of the model count.");
    app_.footer("Example:\n  " + app_.get_name() + " --out initial.h5 --layers 2 --vocabulary 100 --seed 1\n");
    app_.add_option("--out", "checkpoint to write")->option_text("FILE")->group("Initial checkpoint");
    app_.add_option("--vocabulary", "V; needed where neither --data nor --task gives it")
        ->option_text("INT")
        ->group("Initial checkpoint");
  }

  bool has(const std::string& name) const { return app_.get_option("--" + name)->count() > 0; }
  std::string text(const std::string& name) const { return app_.get_option("--" + name)->results().back(); }

 private:
  CLI::App app_;
};

// Weakest first, each layer over the one before. (CLI11 itself would let the file beat the environment.)
RunConfig layered(const CommandLine& line, const std::string& ablation) {
  RunConfig config;
  if (line.has("config")) {
    std::string path = line.text("config");
    config = run_config_from_toml(read_file("config", path), path);
    if (!config.ablation.empty() && config.ablation != ablation)
      refuse(path + " is the configuration of train_" + config.ablation + ", this is train_" + ablation +
             ": take the other program or, to use the same settings here, its line `ablation` out of a copy");
  }
  for (const RunConfigField& field : run_config_fields()) {
    const char* value = std::getenv(field.environment().c_str());
    if (value && *value) field.set(config, value, field.environment());
  }
  for (const RunConfigField& field : run_config_fields()) {
    if (line.has(field.flag)) field.set(config, line.text(field.flag), "--" + field.flag);
  }
  return config;
}

// Parses and fills; false when the command line asked for something else, which was answered on stdout.
bool read_settings(CommandLine& line, int argc, char** argv, const std::string& ablation, const std::string& policies,
                   RunConfig& config) {
  if (!line.parse(argc, argv)) return false;
  if (line.has("version")) {
    std::printf("train_%s\npolicies: %s\ncommit: %s\n", ablation.c_str(), policies.c_str(), build_commit().c_str());
    return false;
  }
  config = layered(line, ablation);
  config.ablation.clear();
  config.policies.clear();
  if (line.has("print-config")) {  // settings that any ablation may be run with
    std::fputs(to_toml(config).c_str(), stdout);
    return false;
  }
  config.ablation = ablation;
  config.policies = policies;
  return true;
}

// The part of require_consistent that is about the model.
void require_consistent_model(const RunConfig& config, const Ablation& ablation) {
  auto number = [](std::int64_t value) { return std::to_string(value); };
  if (config.width % config.heads != 0) {
    refuse("--heads must divide --width, got " + number(config.heads) + " heads and width " + number(config.width));
  }
  if (config.kv_heads > 0 && config.heads % config.kv_heads != 0) {
    refuse("--kv-heads must divide --heads, got " + number(config.kv_heads) + " heads of keys and values and " +
           number(config.heads) + " heads");
  }
  if (config.prefix >= config.context) {
    refuse("--prefix must be less than --context, got a prefix of " + number(config.prefix) + " and a context of " +
           number(config.context));
  }
  ablation.check_sizes(model_sizes(config, /*vocabulary=*/1));
}

}  // namespace

bool parse_run_config(int argc, char** argv, const Ablation& ablation, RunConfig& config) {
  CommandLine line(ablation.name, ablation.policies, "train_" + ablation.name);
  if (!read_settings(line, argc, argv, ablation.name, ablation.policies, config)) return false;
  require_consistent(config, ablation);
  return true;
}

bool parse_init_request(int argc, char** argv, const Ablation& ablation, InitRequest& request) {
  CommandLine line(ablation.name, ablation.policies, "train_" + ablation.name + " init");
  line.add_init_options();
  if (!read_settings(line, argc, argv, ablation.name, ablation.policies, request.config)) return false;
  if (!line.has("out")) refuse("--out is needed: the checkpoint to write, such as --out initial.h5");
  request.out = line.text("out");
  if (line.has("vocabulary")) {
    const std::string& text = line.text("vocabulary");
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), request.vocabulary);
    if (error != std::errc() || end != text.data() + text.size() || request.vocabulary < 1)
      refuse("--vocabulary must be a whole number from 1, got `" + text + "`");
  }
  require_consistent_model(request.config, ablation);
  return true;
}

Sizes model_sizes(const RunConfig& config, std::int64_t vocabulary) {
  return {.layers = config.layers,
          .heads = config.heads,
          .width = config.width,
          .feed_forward = config.feed_forward,
          .context = config.context,
          .vocabulary = vocabulary,
          .kv_heads = config.kv_heads,
          .window = config.window,
          .prefix = config.prefix};
}

void require_consistent(const RunConfig& config, const Ablation& ablation) {
  require_consistent_model(config, ablation);
  if (config.task == "text" && config.data.empty()) {
    refuse("--data is needed for task text: the folder that `prepare` made (or --task bigram-backcopy)");
  }
  if (config.run.empty() && !config.dry_run) refuse("--run is needed: the folder to write, such as --run runs/first");
  if (config.force && config.resume != "never") {
    refuse("--force starts the run anew and --resume goes on with it; give only one of them");
  }
  if (config.resume.empty()) refuse("--resume must be never, auto or the path of a checkpoint, got ``");
  if (config.min_learning_rate > config.learning_rate) {
    refuse("--min-learning-rate must not exceed --learning-rate, got more than the peak");
  }
  if (config.warmup > config.steps) {
    std::fprintf(stderr, "note: the warm-up (%lld steps) is longer than the run (%lld steps)\n",
                 static_cast<long long>(config.warmup), static_cast<long long>(config.steps));
  }
}

std::string to_toml(const RunConfig& config) {
  std::string text = "# Sinklab run\n", group;
  if (!config.ablation.empty())
    text += "ablation = " + toml_string(config.ablation) + "\npolicies = " + toml_string(config.policies) + "\n";
  for (const RunConfigField& field : run_config_fields()) {
    if (!field.saved()) continue;
    if (field.group != group) text += "\n# " + field.group + "\n";
    group = field.group;
    text += field.flag + " = " + field.value(config) + "\n";
  }
  return text;
}

RunConfig run_config_from_toml(const std::string& text, const std::string& where) {
  RunConfig config;
  std::set<std::string> seen;
  for (const auto& [name, value] : read_settings_toml(text, where, Exit::usage)) {
    std::string key = name;
    std::replace(key.begin(), key.end(), '_', '-');
    if (key == "ablation" || key == "policies") {
      if (!seen.insert(key).second) refuse(where + ": " + key + " is given twice");
      (key == "ablation" ? config.ablation : config.policies) = value;
      continue;
    }
    const auto& fields = run_config_fields();
    auto field = std::find_if(fields.begin(), fields.end(), [&](const auto& known) { return known.flag == key; });
    if (field == fields.end()) {
      std::string shown = key.substr(0, kLongestShownKey);
      refuse(where + ": unknown key `" + shown + "`" + did_you_mean(shown));
    }
    if (!seen.insert(key).second) refuse(where + ": " + key + " is given twice");
    field->set(config, value, where + ": " + key);
  }
  return config;
}

}  // namespace sink
