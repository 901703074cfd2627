#include "tools/report/run_settings.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "engine/io/parse_number.h"

namespace sink::report {
namespace {

constexpr std::size_t kMaxNamed = 5;
constexpr std::int64_t kLongestContext = 1 << 20;  // bounds the time of even_alpha

// Settings that do not change results, and those that are compared separately.
bool is_left_out(const std::string& key) {
  static const std::set<std::string> keys{"seed",      "eval-every", "eval-sequences", "checkpoint-every",
                                          "log-every", "threads",    "nan-patience",   "ablation",
                                          "policies",  "recompute",  "graph",          "birth-checkpoints"};
  return keys.contains(key);
}

std::string display_name(std::string key) {
  std::replace(key.begin(), key.end(), '-', ' ');
  return key;
}

std::string path_text(const std::string& path) {
  return path.empty() ? "" : std::filesystem::path(path + "/").lexically_normal().parent_path().string();
}

std::string setting(const Run& run, const char* key) {
  const auto found = run.settings.find(key);
  return found == run.settings.end() ? "" : found->second;
}

// The measured text, with its checksum, or the tokens that the user gave; "" if it is the text of the run. Paths are
// compared only where an older program measured, which stored no checksum.
std::string other_data(const Run& run) {
  const Measurement& e = *run.evaluation;
  if (!e.input_sha256.empty()) return e.data + " (" + e.input_sha256.substr(0, 8) + ")";
  const std::string path = path_text(e.data);
  if (e.data_sha256.empty()) return path == path_text(setting(run, "data")) ? "" : path;
  if (e.data_sha256 == run.data_sha256) return "";
  return path + (path.empty() ? "" : " ") + "(" + e.data_sha256.substr(0, 8) + ")";
}

// Whether alpha_k and Sink_k are of an older program, which divided by T - k + 1 in blocks with a window, too.
bool divides_by_all_rows(const Run& run) {
  const std::int64_t window = whole_setting(run, "window");
  return run.finished && run.evaluation && run.evaluation->fewest_first_key_rows() == 0 && window > 0 &&
         window < run.context;
}

// Only what differs from training, so that labels name no setting twice.
Settings measurement_of(const Run& run) {
  Settings out;
  const Measurement& e = *run.evaluation;
  const auto add = [&](const char* name, const std::string& measured, const std::string& of_training) {
    if (!measured.empty() && measured != of_training) out[name] = measured;
  };
  if (divides_by_all_rows(run)) out["alpha divided by"] = "all queries";
  add("input", e.input, "text");
  if (e.input != "text") out["input seed"] = std::to_string(e.input_seed);
  add("measured data", other_data(run), "");
  add("positions", e.positions, "");
  add("measured context", run.context > 0 ? std::to_string(run.context) : "", setting(run, "context"));
  add("measured precision", run.precision, setting(run, "precision"));
  add("measured at step", std::to_string(run.step), std::to_string(run.steps));
  add("measured sequences", std::to_string(run.sequences), "");
  add("commit", run.commit, "");
  return out;
}

// The checkpoint that a run started from, without the seed in folders that `sweep` named <run>-<seed>.
std::string start_of(const Run& run, const std::string& initial) {
  const std::filesystem::path path(initial);
  const std::string seed = "-" + std::to_string(run.seed), folder = path.parent_path().string();
  if (!folder.ends_with(seed)) return initial;
  return folder.substr(0, folder.size() - seed.size()) + "/" + path.filename().string();
}

bool same_data(const Identity& a, const Identity& b) {
  if (!a.data_sha256.empty() && !b.data_sha256.empty()) return a.data_sha256 == b.data_sha256;
  const auto path = [](const Identity& identity) {
    const auto found = identity.training.find("data");
    return found == identity.training.end() ? std::string() : found->second;
  };
  return path(a) == path(b);
}

// Whether one path had the same parameters when the two runs started from it. Runs of a study start from a checkpoint
// of their own seed, whose path has the seed: those may differ. Unknown parameters are equal to any.
bool same_start(const Identity& a, const Identity& b) {
  return a.initial != b.initial || a.initial_sha256.empty() || b.initial_sha256.empty() ||
         a.initial_sha256 == b.initial_sha256;
}

}  // namespace

bool Identity::operator==(const Identity& other) const {
  return known == other.known && training == other.training && data_sha256 == other.data_sha256 &&
         measurement == other.measurement && same_start(*this, other);
}

Identity identity_of(const Run& run) {
  Identity identity;
  identity.data_sha256 = run.data_sha256;
  identity.initial = setting(run, "initial");
  identity.initial_sha256 = run.initial_sha256;
  identity.known = !run.settings.empty() && !run.ablation.empty();
  identity.training["ablation"] = run.ablation;
  std::istringstream words(run.policies);
  for (std::string word; words >> word;)
    identity.training["policy " + word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  for (const auto& [key, value] : run.settings)
    if (!is_left_out(key))
      identity.training[display_name(key)] = key == "data"      ? path_text(value)
                                             : key == "initial" ? start_of(run, value)
                                                                : value;
  if (run.evaluation && run.finished) identity.measurement = measurement_of(run);
  return identity;
}

bool same_but_seed(const Run& a, const Run& b) {
  // Of finished runs the measured sequences are compared.
  if ((!a.finished || !b.finished) && setting(a, "eval-sequences") != setting(b, "eval-sequences")) return false;
  Identity one = identity_of(a), other = identity_of(b);
  if (!same_data(one, other) || !same_start(one, other)) return false;
  one.training.erase("data");
  other.training.erase("data");
  return one.known && other.known && one.training == other.training &&
         (!a.finished || !b.finished || one.measurement == other.measurement);
}

namespace {

// The settings in which some runs differ.
class Comparison {
 public:
  explicit Comparison(const std::vector<const Run*>& runs) : runs_(runs) {
    for (const Run* run : runs) {
      all_.push_back(identity_of(*run));
      for (const auto& [name, value] : all_.back().training) of_measurement_.emplace(name, false);
      for (const auto& [name, value] : all_.back().measurement) of_measurement_[name] = true;
    }
  }

  // In the order input, training, measurement, commit.
  std::vector<std::string> varying() const {
    std::vector<std::string> names;
    for (const auto& [name, of_measurement] : of_measurement_)
      if (name != "ablation" && varies(name)) names.push_back(name);
    std::stable_sort(names.begin(), names.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    return names;
  }

  // "learning rate 0.01"; empty where it is unknown.
  std::string words(std::size_t run, const std::string& name) const {
    const std::string text = value(run, name);
    if (text.empty() && (of_measurement_.at(name) || !all_[run].known)) return "";
    if (name == "input") return text + " input";
    const std::string& sha256 = name == "initial" ? all_[run].initial_sha256 : all_[run].data_sha256;
    const bool names_checksum = name == "data" || (name == "initial" && has_other_start(run));
    return name + " " + (text.empty() ? "none" : text) +
           (names_checksum && !sha256.empty() ? " (" + sha256.substr(0, 8) + ")" : "");
  }

 private:
  std::string value(std::size_t run, const std::string& name) const {
    const Settings& settings = of_measurement_.at(name) ? all_[run].measurement : all_[run].training;
    const auto found = settings.find(name);
    return found == settings.end() ? std::string() : found->second;
  }
  bool comparable(std::size_t a, std::size_t b, const std::string& name) const {
    if (name == "input seed" && value(a, "input") != value(b, "input")) return false;
    if (of_measurement_.at(name)) return runs_[a]->finished && runs_[b]->finished;
    return all_[a].known && all_[b].known && (!name.starts_with("policy ") || runs_[a]->ablation == runs_[b]->ablation);
  }
  bool same(std::size_t a, std::size_t b, const std::string& name) const {
    if (name == "data") return same_data(all_[a], all_[b]);
    return value(a, name) == value(b, name) && (name != "initial" || same_start(all_[a], all_[b]));
  }
  // Whether another run started from other parameters under the same path.
  bool has_other_start(std::size_t run) const {
    return std::ranges::any_of(all_, [&](const Identity& other) { return !same_start(all_[run], other); });
  }
  bool varies(const std::string& name) const {
    for (std::size_t a = 0; a < runs_.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (comparable(a, b, name) && !same(a, b, name)) return true;
    return false;
  }
  int rank(const std::string& name) const {
    return name.starts_with("input") ? 0 : !of_measurement_.at(name) ? 1 : name == "commit" ? 3 : 2;
  }

  const std::vector<const Run*>& runs_;
  std::vector<Identity> all_;
  std::map<std::string, bool> of_measurement_;  // every name, and whether it is of the measurement
};

}  // namespace

std::vector<std::string> differences(const std::vector<const Run*>& runs) {
  const Comparison comparison(runs);
  const std::vector<std::string> names = comparison.varying();
  std::vector<std::string> out;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    std::string text;
    std::size_t named = 0;
    for (const std::string& name : names) {
      const std::string words = comparison.words(run, name);
      if (words.empty() || named++ >= kMaxNamed) continue;
      text += (text.empty() ? "" : ", ") + words;
    }
    if (named > kMaxNamed)
      text +=
          " and " + std::to_string(named - kMaxNamed) + (named == kMaxNamed + 1 ? " setting more" : " settings more");
    out.push_back(text);
  }
  return out;
}

bool measures_own_text(const Run& run) {
  if (!run.evaluation) return false;
  const std::string& input = run.evaluation->input;
  return (input.empty() || input == "text") && run.evaluation->positions.empty() && other_data(run).empty();
}

InputKind input_kind_of(const Run& run) {
  return sink::input_kind_of([&](const std::string& flag) {
    if (flag == "task") return run.task;
    const std::string own = setting(run, flag.c_str());
    return own.empty() && flag == "fixed-token" ? setting(run, "fixed-first-token") : own;  // its name in older runs
  });
}

std::int64_t whole_setting(const Run& run, const char* key, std::int64_t otherwise) {
  const auto found = run.settings.find(key);
  return found == run.settings.end() ? otherwise
                                     : std::max<std::int64_t>(0, std::strtoll(found->second.c_str(), nullptr, 10));
}

std::optional<VisibleKeys> visible_keys_of(const Run& run) {
  const auto count = [&](const char* name) -> std::optional<std::int64_t> {
    const auto found = run.settings.find(name);
    return found == run.settings.end() ? std::nullopt : parse_number<std::int64_t>(found->second);
  };
  const std::optional<std::int64_t> window = count("window"), prefix = count("prefix");
  const std::int64_t T = run.context > 0 ? run.context : count("context").value_or(0);
  if (!window || !prefix || T < 1 || T > kLongestContext || !run.evaluation ||
      run.evaluation->extra == Evaluation::Extra::unknown || setting(run, "document-mask") == "true")
    return std::nullopt;
  const std::int64_t layers = std::max<std::int64_t>(1, count("layers").value_or(1));
  const std::int64_t every = count("global_every").value_or(count("global-every").value_or(0));
  return VisibleKeys{.T = T,
                     .layers = layers,
                     .window = *window,
                     .prefix = *prefix,
                     .global_layers = every > 0 ? layers / every : 0,
                     .extra_key = run.evaluation->extra == Evaluation::Extra::key,
                     .extra_tokens = run.evaluation->extra == Evaluation::Extra::token ? 1 : 0,
                     .by_all_rows = divides_by_all_rows(run)};
}

EvenAttention alpha_over_even(const Run& run) {
  const std::optional<VisibleKeys> keys = visible_keys_of(run);
  if (!keys) return {kNaN, kNaN};
  const EvenAttention even = even_attention(*keys);
  return {run.evaluation->proxy.alpha_1 / even.alpha_1, run.evaluation->proxy.alpha_star / even.alpha_star};
}

}  // namespace sink::report
