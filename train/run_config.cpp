#include "train/run_config.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "engine/check.h"
#include "engine/comm/launcher.h"
#include "engine/io/command_line.h"
#include "engine/io/file.h"
#include "engine/io/printable.h"
#include "engine/io/settings_toml.h"
#include "engine/io/utf8.h"
#include "model/size_settings.h"
#include "train/optimizers/optimizers.h"
#include "train/run_config_table.h"
#include "train/run_log.h"

namespace sink {
namespace {

constexpr std::size_t kLongestShownKey = 60;  // the time of did_you_mean grows with the length of the name

// What --help shows; --help-all shows the rest.
const std::set<std::string> kCommonFlags{"layers", "heads",  "d-model", "context",       "task",      "data",
                                         "batch",  "seed",   "steps",   "learning-rate", "precision", "device",
                                         "run",    "resume", "config",  "tiny"};

[[noreturn]] void refuse(const std::string& why) { throw Error(why, Exit::usage); }

std::string footer(const std::string& program) {
  return "Examples:\n  " + program + " --data data/english --run runs/first --steps 1500 --seed 1\n  " + program +
         " --config runs/first/config.toml --run runs/first \\\n    --resume auto\n"
         "  gdb -ix tools/gdb/sinklab.py --args " +
         program +
         " --tiny\n\n"
         "A setting is a flag (--learning-rate 0.004), an environment variable (SINKLAB_LEARNING_RATE) or a line of "
         "the "
         "--config file (learning-rate = 0.004). A flag overrides the environment, which overrides the file.\n"
         "Output in the run folder: config.toml, metrics.jsonl, checkpoint.h5, evaluation.json; with --initial also "
         "evaluation-before.json, the evaluation of that checkpoint before the first step.\n"
         "Signals: SIGTERM, SIGHUP, SIGUSR2 and Ctrl-C save and exit (128 + signal); SIGUSR1 saves and continues.\n"
         "Exit codes: 0 done, 1 bug, 2 usage, 3 bad input, 4 corrupt checkpoint, 5 diverged, 6 out of memory, 7 "
         "device, "
         "8 disk.\n";
}

// The options, whose values are texts; run_config_table() reads them.
class CommandLine {
 public:
  CommandLine(const std::string& ablation, const std::string& policies, const std::string& program)
      : app_("Trains the ablation `" + ablation + "` (" + policies + ").", program),
        style_{.common_flags = kCommonFlags, .version_details = "policies: " + policies} {
    RunConfig defaults;
    for (const Setting<RunConfig>& setting : run_config_table()) {
      const std::string name = setting.options();
      if (setting.is_switch()) {
        app_.add_flag(name, setting.help)->group(setting.group);
      } else {
        std::string initially = plain_text(setting.value(defaults));
        app_.add_option(name, setting.help)
            ->option_text(setting.kind() + (initially.empty() ? "" : " [" + initially + "]"))
            ->group(setting.group);
      }
    }
    app_.add_flag("--print-config")->description("print the settings as TOML and exit")->group("Running");
    app_.add_flag("--tiny")->description("a model to debug; two steps of 16 tokens in plain loops")->group("Running");
    app_.add_option("--config", "TOML file with settings")->option_text("FILE")->group("Running");
    for (CLI::Option* option : app_.get_options()) { option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast); }
    app_.footer(footer(program));
  }

  // Returns false when the arguments ask for help or the version, which then is printed.
  bool parse(int argc, char** argv) { return parse_command_line(app_, argc, argv, style_); }

  void add_init_options() {
    app_.description("Writes the initial parameters of a model as a checkpoint, for eval_* and train_* --initial.");
    style_.common_flags.insert({"out", "vocabulary", "init"});
    app_.footer("Example:\n  " + app_.get_name() + " --out initial.h5 --layers 2 --vocabulary 100 --seed 1\n");
    app_.add_option("--out", "checkpoint to write")->option_text("FILE")->group("Initial checkpoint");
    app_.add_option("--vocabulary", "V; needed where neither --data nor --task gives it")
        ->option_text("INT")
        ->group("Initial checkpoint");
  }

  bool has(const std::string& name) const { return app_.get_option("--" + name)->count() > 0; }
  std::string text(const std::string& name) const { return app_.get_option("--" + name)->results().back(); }
  // Whether a switch that is no setting is given, and not as --tiny=false.
  bool is_on(const std::string& name) const {
    static const SettingRule on_or_off{.flag = "", .group = "", .help = "", .of_kind = false};
    return has(name) && std::get<bool>(on_or_off.read(text(name), "--" + name));
  }

 private:
  CLI::App app_;
  CommandLineStyle style_;
};

// What --tiny begins with: a model whose tensors fit on a screen, and whose first row of attention is there at once.
RunConfig tiny_run() {
  RunConfig config;
  config.task = "bigram-backcopy";
  config.layers = config.heads = 2;
  config.width = config.feed_forward = config.context = 16;
  config.batch = config.threads = config.warmup = config.eval_sequences = 1;
  config.steps = 2;
  config.run = "runs/tiny";
  config.reference = true;
  return config;
}

// Whether the folder has a run of --tiny, which a debugger may have left at any step, and no larger one.
bool has_tiny_run(const std::string& folder) {
  const std::string path = folder + "/config.toml";
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  try {
    const RunConfig found = run_config_from_toml(read_file("config", path, kMaxSettingsBytes + 1), path),
                    tiny = tiny_run();
    return found.task == tiny.task && (found.reference || found.device != "cpu") && found.layers <= tiny.layers &&
           found.heads <= tiny.heads && found.width <= tiny.width && found.feed_forward <= tiny.feed_forward &&
           found.context <= tiny.context;
  } catch (const Error&) { return false; }  // open_run_folder refuses the folder
}

// Refuses variables that look like settings and are none.
void require_known_variables() {
  static const std::set<std::string> of_scripts{kFirstLocalRank,    "SINKLAB_BUILD",      "SINKLAB_PYTHON",
                                                "SINKLAB_NO_COLOR", "SINKLAB_OS_RELEASE", "SINKLAB_ALL_FAULTS"};
  std::set<std::string> known = of_scripts;
  for (const Setting<RunConfig>& setting : run_config_table())
    for (const std::string& name : setting.environment()) known.insert(name);
  for (char** variable = environ; *variable; ++variable) {
    const std::string text = *variable, name = text.substr(0, text.find('=')), prefix = "SINKLAB_";
    if (!name.starts_with(prefix) || text == name + "=" || known.contains(name)) continue;
    std::string flag = "--" + name.substr(prefix.size(), kLongestShownKey);
    for (char& c : flag) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    refuse("the environment variable " + prefix + name.substr(prefix.size(), kLongestShownKey) +
           " belongs to no setting: unset it" + did_you_mean(flag, run_config_table()));
  }
}

// Weakest first, each layer over the one before. (CLI11 itself would let the file beat the environment.)
RunConfig layered(const CommandLine& line, const std::string& ablation, const std::string& policies) {
  bool tiny = line.is_on("tiny");
  if (tiny && line.has("config")) refuse("--tiny and --config both say what to begin with; give only one of them");
  RunConfig config = tiny ? tiny_run() : RunConfig();
  if (line.has("config")) {
    std::string path = line.text("config");
    config = run_config_from_toml(read_file("config", path, kMaxSettingsBytes + 1), path);
    if (!config.ablation.empty() && config.ablation != ablation)
      refuse(path + " is the configuration of train_" + config.ablation + ", this is train_" + ablation +
             ": take the other program or, to use the same settings here, its line `ablation` out of a copy");
    if (!config.ablation.empty() && !config.policies.empty() && config.policies != policies)
      refuse(path + " is the configuration of a " + ablation + " with the policies " + config.policies +
             ", and this program has " + policies +
             ": build that one or, to use the same settings here, take its line `policies` out of a copy");
  }
  require_known_variables();
  for (const Setting<RunConfig>& setting : run_config_table()) {
    std::string first;
    for (const std::string& name : setting.environment()) {
      const char* value = std::getenv(name.c_str());
      if (!value || !*value) continue;
      if (!first.empty()) refuse(first + " and " + name + " are one setting, " + setting.option() + ": unset one");
      first = name;
      setting.set(config, value, name);
    }
  }
  for (const Setting<RunConfig>& setting : run_config_table()) {
    if (line.has(setting.flag)) setting.set(config, line.text(setting.flag), setting.option());
  }
  if (tiny && config.device != "cpu") config.reference = false;  // its kernels are what is looked at
  return config;
}

// Refuses flags that the run does not read: what is asked for and does nothing would mislead. A recipe may hold
// them, as config.toml holds every setting.
void require_read_flags(const IsGiven& is_given, const RunConfig& config) {
  const OptimizerKind& optimizer = optimizer_kind(config.optimizer);
  for (const OptimizerKind& other : optimizer_kinds())
    for (const std::string& flag : other.settings)
      if (!optimizer.reads(flag) && is_given(flag))
        refuse("--" + flag + " is not read by --optimizer " + optimizer.name + ", but by " +
               optimizers_that([&](const OptimizerKind& kind) { return kind.reads(flag); }) +
               ": leave it out, or choose one of them");
  if (is_given("min-learning-rate") && config.schedule == "constant")
    refuse(
        "--min-learning-rate is where --schedule cosine ends, and the schedule is constant: leave it out, or give "
        "--schedule cosine");
  if (is_given("data") && config.task != "text")
    refuse("--data is read by --task text, and the task is " + config.task + ": leave one of them out");
  if (is_given("init") && !config.initial.empty())
    refuse("--init says how parameters are drawn, and --initial gives them: leave one of them out");
  if (is_given("decay") && config.weight_decay == 0)
    refuse("--decay says what --weight-decay decays, and that is 0: leave it out, or give both");
  if (is_given("prefix-validation") && config.prefix < 2)
    refuse("--prefix-validation is read with a --prefix of at least 2: leave it out, or give both");
  const bool plans_ranks = config.dry_run && (config.nproc > 1 || launched_process().size > 1);
  for (const std::string flag : {"rate", "link"})
    if (is_given(flag) && !plans_ranks)
      refuse("--" + flag + " is read by --dry-run with --nproc of at least 2: leave it out, or give both");
}

// Refuses flags of sizes that the model does not read. The checkpoint of --initial may have such a size, which then
// must be equal. Policies that are not named here may read all of them.
void require_read_sizes(const IsGiven& is_given, const RunConfig& config, const std::string& policies) {
  if (!config.initial.empty()) return;
  auto has_one_of = [&](const std::string& kind, const std::vector<std::string>& names) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return (policies + " ").find(kind + "=" + name + " ") != std::string::npos;
    });
  };
  const bool rotates =
      !has_one_of("position", {"NoPosition", "Learned", "Sinusoidal", "Alibi", "T5Relative", "BucketIndex"});
  const bool has_experts = !has_one_of(
      "feed_forward", {"Relu", "ReluSquared", "Gelu", "GeluTanh", "Swish", "SwiGlu", "ReGlu", "GeGlu", "GeGluTanh"});
  struct Need {
    std::string what;
    bool is_met;
    std::vector<std::string> flags;
  };
  const std::vector<Need> needs{
      {"rotary positions",
       rotates,
       {"rotary-base", "rotary-part", "rotary-factor", "rotary-local-base", "rotary-context", "no-rope-every"}},
      {"a mixture of experts", has_experts, {"experts", "chosen-experts"}},
      {"a shared expert", has_experts && policies.find("AndShared") != std::string::npos, {"shared-feed-forward"}},
      {"layers without attention",
       policies.find("mixer=DeltaNet") != std::string::npos,
       {"attention-every", "delta-heads", "delta-key-heads", "delta-key-width", "delta-value-width", "convolution"}},
      {"--window", config.window > 0, {"global-every", "rotary-local-base"}},
      {"--rotary-factor", config.rotary_factor > 0, {"rotary-context"}},
  };
  for (const Need& need : needs)
    for (const std::string& flag : need.flags)
      if (!need.is_met && is_given(flag))
        refuse(option_of_size(flag) + " needs " + need.what + ", which this model does not have: leave it out" +
               (need.what.starts_with("--") ? ", or give both" : ", or train another ablation"));
}

// Parses and fills; false when the command line asked for something else, which was answered on stdout.
bool read_settings(CommandLine& line, int argc, char** argv, const std::string& ablation, const std::string& policies,
                   RunConfig& config) {
  if (!line.parse(argc, argv)) return false;
  config = layered(line, ablation, policies);
  const IsGiven is_given = [&line](const std::string& flag) { return line.has(flag); };
  require_read_flags(is_given, config);
  config.ablation.clear();
  config.policies.clear();
  if (line.is_on("print-config")) {  // settings that any ablation may be run with
    put_text(stdout, to_toml(config));
    return false;
  }
  require_read_sizes(is_given, config, policies);
  config.ablation = ablation;
  config.policies = policies;
  return true;
}

// The part of require_consistent that is about the model.
void require_consistent_model(const RunConfig& config, const Ablation& ablation) {
  const Sizes sizes = model_sizes(config, /*vocabulary=*/1);
  std::string error = validate(sizes, option_of_size);
  if (!error.empty()) refuse(error);
  ablation.check_sizes(sizes);
}

}  // namespace

bool parse_run_config(int argc, char** argv, const Ablation& ablation, RunConfig& config) {
  CommandLine line(ablation.name, ablation.policies, "train_" + ablation.name);
  if (!read_settings(line, argc, argv, ablation.name, ablation.policies, config)) return false;
  if (line.is_on("tiny") && config.run == tiny_run().run && config.resume == "never" && has_tiny_run(config.run))
    config.force = true;
  require_consistent(config, ablation);
  return true;
}

bool parse_init_request(int argc, char** argv, const Ablation& ablation, InitRequest& request) {
  CommandLine line(ablation.name, ablation.policies, "train_" + ablation.name + " init");
  line.add_init_options();
  if (!read_settings(line, argc, argv, ablation.name, ablation.policies, request.config)) return false;
  if (request.config.dry_run)
    refuse(
        "--dry-run trains nothing, and neither does init, which writes a checkpoint: leave it out, or give it to "
        "train_" +
        ablation.name);
  if (!line.has("out")) refuse("--out is needed: the checkpoint to write, such as --out initial.h5");
  request.out = line.text("out");
  if (line.has("vocabulary"))
    setting_named(size_settings(), "vocabulary")->set(request.config, line.text("vocabulary"), "--vocabulary");
  require_consistent_model(request.config, ablation);
  return true;
}

Sizes model_sizes(const RunConfig& config, std::int64_t vocabulary) {
  Sizes sizes = config;
  sizes.vocabulary = vocabulary;
  return sizes;
}

void require_ranks_divide(const RunConfig& config, int ranks) {
  if (config.accumulate % ranks == 0) return;
  const std::int64_t sequences = config.batch * config.accumulate;
  std::string instead = "--accumulate " + std::to_string(ranks);
  if (sequences % ranks == 0)
    instead += " --batch " + std::to_string(sequences / ranks) + " has as many tokens per step";
  else
    instead += " is one each";
  fail("ranks",
       std::to_string(ranks) + " ranks share the " + std::to_string(config.accumulate) +
           " micro-batches of a step, which they must divide: " + instead,
       Exit::usage);
}

void require_consistent(const RunConfig& config, const Ablation& ablation) {
  require_consistent_model(config, ablation);
  if (config.task == "text" && config.data.empty()) {
    refuse("--data is needed for task text: the folder that `prepare` made (or --task bigram-backcopy)");
  }
  if (config.run.empty() && !config.dry_run) refuse("--run is needed: the folder to write, such as --run runs/first");
  if (config.force && config.resume != "never") {
    refuse("--force restarts the run and --resume continues it; give only one of them");
  }
  if (config.birth_checkpoints > 0 && config.eval_every == 0)
    refuse(
        "--birth-checkpoints " + std::to_string(config.birth_checkpoints) +
        " keeps parameters of evaluations, and --eval-every 0 makes none before the last step: leave one of them out");
  require_line_length(config.key_alpha_every, config.attention_layers() * config.heads * config.context);
  if (config.zero > 1)
    refuse("--zero must be 0 or 1, got " + std::to_string(config.zero) +
           ": gradients and parameters are not sharded; --zero 1 trains to the same bits");
  if ((config.decay == "qk" || config.decay == "vo") && !optimizer_kind(config.optimizer).element_wise)
    refuse("--decay " + config.decay + " decays a part of attention.qkv.weight, which --optimizer " + config.optimizer +
           " updates as a whole: choose one of " +
           optimizers_that([](const OptimizerKind& kind) { return kind.element_wise; }) + ", or another group");
  const std::int64_t sequences = config.batch * config.accumulate;  // of a step
  if (config.data_order == "released" && sequences % config.loader_ranks != 0)
    refuse("--loader-ranks must divide the sequences of a step (--batch times --accumulate), got " +
           std::to_string(config.loader_ranks) + " for " + std::to_string(sequences) +
           ": some readers' files would be read less, or never");
  if (config.resume.empty()) refuse("--resume must be never, auto or the path of a checkpoint, got ``");
  if (config.min_learning_rate > config.learning_rate) {
    refuse("--min-learning-rate must not exceed --learning-rate, got more than the peak");
  }
  const bool starts_ranks = config.nproc > 1 && !config.dry_run && launched_process().size == 1;  // of which one prints
  if (config.warmup > config.steps && launched_process().rank == 0 && !starts_ranks) {
    std::fprintf(stderr, "note: the warm-up (%lld steps) is longer than the run (%lld steps)\n",
                 static_cast<long long>(config.warmup), static_cast<long long>(config.steps));
  }
}

void require_read(const IsGiven& is_given, const RunConfig& config, const std::string& policies) {
  require_read_flags(is_given, config);
  require_read_sizes(is_given, config, policies);
}

std::string to_toml(const RunConfig& config) {
  std::string text = "# Sinklab run\n", group;
  if (!config.ablation.empty())
    text += "ablation = " + toml_string(config.ablation) + "\npolicies = " + toml_string(config.policies) + "\n";
  for (const Setting<RunConfig>& setting : run_config_table()) {
    if (!is_saved(setting)) continue;
    if (setting.group != group) text += "\n# " + setting.group + "\n";
    group = setting.group;
    text += setting.flag + " = " + toml_text(setting.value(config)) + "\n";
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
    const Setting<RunConfig>* setting = setting_named(run_config_table(), key);
    if (!setting) {
      const std::string_view shown = utf8_prefix(key, kLongestShownKey);
      refuse(where + ": unknown key " + in_quotes(shown) + did_you_mean(std::string(shown), run_config_table()));
    }
    if (!seen.insert(setting->flag).second) refuse(where + ": " + setting->flag + " is given twice");
    setting->set(config, value, where + ": " + key);
  }
  return config;
}

}  // namespace sink
