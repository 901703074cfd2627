#include "engine/io/setting.h"

#include <cctype>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "engine/io/parse_number.h"
#include "engine/io/printable.h"
#include "engine/io/settings_toml.h"
#include "engine/io/str_format.h"
#include "engine/io/utf8.h"

namespace sink {
namespace {

constexpr std::uint64_t kLargestInteger = std::numeric_limits<std::int64_t>::max();  // of TOML
constexpr std::size_t kShown = 200;  // bytes of a value in a message; a file can hold one of any length

// A bound as people write it: 1000000, not 1e+06.
std::string plain(double bound) { return str_format("%.15g", bound); }

// Reads the whole of `text`, a leading + allowed.
template <class Number>
bool read_number(const std::string& text, Number& number) {
  const std::optional<Number> read = parse_number<Number>(std::string_view(text).substr(text.starts_with('+')));
  number = read.value_or(0);
  return read.has_value();
}

bool read_switch(const std::string& text, bool& value) {
  value = text == "true" || text == "1";
  return value || text == "false" || text == "0";
}

// Number of letters to insert, delete or replace (Levenshtein).
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

// Our flags, and what PyTorch, transformers and nanoGPT call them. Of two rows the first counts.
constexpr struct {
  const char *ours, *theirs;
} kForeignFlags[] = {
    {"learning-rate", " lr max-lr "},
    {"min-learning-rate", " min-lr "},
    {"weight-decay", " wd "},
    {"steps", " epochs num-epochs max-steps max-iters iterations "},
    {"batch", " batch-size "},
    {"accumulate", " grad-accum gradient-accumulation-steps "},
    {"clip", " grad-clip max-grad-norm "},
    {"warmup", " warmup-steps warmup-iters "},
    {"layers", " n-layer n-layers num-layers num-hidden-layers "},
    {"heads", " n-head num-heads num-attention-heads "},
    {"kv-heads", " num-key-value-heads "},
    {"d-model", " hidden-size n-embd dim "},
    {"feed-forward", " intermediate-size d-ff "},
    {"context", " seq-len block-size max-length ctx "},
    {"precision", " dtype "},
    {"run", " output-dir "},
    {"out", " output-dir output "},
    {"max-new-tokens", " max-tokens "},
    {"text", " prompt "},
    {"beta1", " adam-beta1 "},
    {"beta2", " adam-beta2 "},
    {"adam-epsilon", " eps "},
    {"vocabulary", " vocab-size "},
    {"vocab", " vocab-size "},
    {"model", " checkpoint "},
    {"nproc", " ranks gpus "},
    {"rotary-base", " rope-theta "},
};

// What other programs call a choice.
std::string standard_choice(const std::string& text, const std::vector<std::string>& choices) {
  static const std::map<std::string, std::string> names{{"fp32", "f32"},      {"float32", "f32"},  {"float", "f32"},
                                                        {"fp16", "bf16"},     {"float16", "bf16"}, {"half", "bf16"},
                                                        {"bfloat16", "bf16"}, {"float64", "f64"},  {"double", "f64"},
                                                        {"gpu", "cuda"},      {"adam", "adamw"}};
  const auto found = names.find(text);
  if (found == names.end() || std::find(choices.begin(), choices.end(), found->second) == choices.end()) return "";
  return found->second;
}

// Whether `text` is a value that the rule allows, which then is in `value`.
template <class Value>
bool fits(const SettingRule& rule, const std::string& text, Value& value) {
  if constexpr (std::is_same_v<Value, bool>) {
    return read_switch(text, value);
  } else if constexpr (std::is_same_v<Value, std::string>) {
    value = text;
    if (rule.choices.empty()) return utf8_valid_prefix(text) == text.size();
    return std::find(rule.choices.begin(), rule.choices.end(), text) != rule.choices.end();
  } else if constexpr (std::is_same_v<Value, std::uint64_t>) {
    return read_number(text, value);
  } else {
    if (!read_number(text, value)) return false;
    auto number = static_cast<double>(value);  // NaN fits nowhere
    return number >= rule.low && (rule.open_high ? number < rule.high : number <= rule.high);
  }
}

NumberCheck check_of(SettingValue kind, double low, double high) {
  const SettingRule rule{.flag = "", .group = "", .help = "", .of_kind = std::move(kind), .low = low, .high = high};
  return [rule](const std::string& text) -> std::string {
    try {
      rule.read(text, "");
    } catch (const Error& error) {
      const std::string message = error.what();  // " must be a number from ..."
      return "expected" + message.substr(message.find(" must be ") + 8);
    }
    return "";
  };
}

}  // namespace

std::string plain_text(const SettingValue& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        using Value = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Value, bool>)
          return held ? "true" : "false";
        else if constexpr (std::is_same_v<Value, double>)
          return toml_number(held);
        else if constexpr (std::is_same_v<Value, std::string>)
          return held;
        else
          return std::to_string(held);
      },
      value);
}

std::string toml_text(const SettingValue& value) {
  const auto* seed = std::get_if<std::uint64_t>(&value);
  bool quoted = std::holds_alternative<std::string>(value) || (seed && *seed > kLargestInteger);
  return quoted ? toml_string(plain_text(value)) : plain_text(value);
}

std::string SettingRule::option() const { return "--" + (standard_flag.empty() ? flag : standard_flag); }

std::string SettingRule::options() const { return standard_flag.empty() ? option() : option() + ",--" + flag; }

std::vector<std::string> SettingRule::environment() const {
  std::vector<std::string> names;
  for (const std::string& name : {standard_flag, flag}) {
    if (name.empty()) continue;
    names.push_back("SINKLAB_");
    for (char c : name) names.back() += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return names;
}

std::string SettingRule::key() const {
  std::string name = flag;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string SettingRule::expected() const {
  if (is_switch()) return "true or false";
  if (std::holds_alternative<std::uint64_t>(of_kind)) return "a whole number from 0 to 18446744073709551615";
  if (std::holds_alternative<std::int64_t>(of_kind)) return "a whole number from " + plain(low) + " to " + plain(high);
  if (std::holds_alternative<double>(of_kind))
    return "a number from " + plain(low) + (open_high ? " to below " : " to ") + plain(high);
  if (choices.empty()) return "text in UTF-8";
  std::string any;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) any += i + 1 == choices.size() ? " or " : ", ";
    any += choices[i];
  }
  return any;
}

std::string SettingRule::kind() const {
  if (std::holds_alternative<double>(of_kind)) return "NUMBER";
  if (!std::holds_alternative<std::string>(of_kind)) return "INT";
  return choices.empty() ? "TEXT" : joined(choices, "|");
}

SettingValue SettingRule::read(const std::string& text, const std::string& where) const {
  SettingValue value = of_kind;
  if (std::visit([&](auto& held) { return fits(*this, text, held); }, value)) return value;
  std::string got = printable(utf8_prefix(text, kShown));
  if (text.size() > kShown) got = std::string(utf8_prefix(got, kShown)) + "...";
  const std::string nearest = standard_choice(text, choices);
  throw Error(where + " must be " + expected() + ", got `" + got + "`" +
                  (nearest.empty() ? "" : "; did you mean " + nearest + "?"),
              Exit::usage);
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& flags) {
  std::string dashes = name.substr(0, std::min(name.find_first_not_of('-'), name.size()));
  const std::string foreign = " " + name.substr(dashes.size()) + " ";
  for (const auto& [ours, theirs] : kForeignFlags)
    if (std::string_view(theirs).find(foreign) != std::string_view::npos &&
        std::ranges::find(flags, ours) != flags.end())
      return "; did you mean " + dashes + ours + "?";
  std::string nearest;
  std::size_t smallest = 2 + (name.size() - dashes.size()) / 3;
  for (const std::string& flag : flags) {
    std::size_t edits = distance(name, dashes + flag);
    if (edits >= smallest) continue;
    smallest = edits;
    nearest = dashes + flag;
  }
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

NumberCheck real_number(double low, double high) { return check_of(0.0, low, high); }

NumberCheck whole_number(std::int64_t low, std::int64_t high) {
  return check_of(std::int64_t{0}, static_cast<double>(low), static_cast<double>(high));
}

NumberCheck seed_number() { return check_of(std::uint64_t{0}, 0, 0); }

}  // namespace sink
