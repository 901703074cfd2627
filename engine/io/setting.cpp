#include "engine/io/setting.h"

#include <cctype>
#include <charconv>
#include <cstdio>
#include <limits>
#include <numeric>

#include "engine/io/printable.h"
#include "engine/io/settings_toml.h"
#include "engine/io/utf8.h"

namespace sink {
namespace {

constexpr std::uint64_t kLargestInteger = std::numeric_limits<std::int64_t>::max();  // of TOML
constexpr std::size_t kShown = 200;  // bytes of a value in a message; a file can hold one of any length

// A bound as people write it: 1000000, not 1e+06.
std::string plain(double bound) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%.15g", bound);
  return buffer;
}

// Reads the whole of `text`, a leading + allowed.
template <class Number>
bool read_number(const std::string& text, Number& number) {
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  auto [stopped, error] = std::from_chars(begin, end, number);
  return error == std::errc() && stopped == end;
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

std::string SettingRule::environment() const {
  std::string name = "SINKLAB_";
  for (char c : key()) name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
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
  std::string any;
  for (const std::string& choice : choices) any += (any.empty() ? "" : "|") + choice;
  return any.empty() ? "TEXT" : any;
}

SettingValue SettingRule::read(const std::string& text, const std::string& where) const {
  SettingValue value = of_kind;
  if (std::visit([&](auto& held) { return fits(*this, text, held); }, value)) return value;
  std::string got = printable(text.substr(0, kShown));
  if (text.size() > kShown) got = std::string(utf8_prefix(got, kShown)) + "...";
  throw Error(where + " must be " + expected() + ", got `" + got + "`", Exit::usage);
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& flags) {
  std::string dashes = name.substr(0, std::min(name.find_first_not_of('-'), name.size()));
  std::string nearest;
  std::size_t smallest = 2 + name.size() / 3;
  for (const std::string& flag : flags) {
    std::size_t edits = distance(name, dashes + flag);
    if (edits >= smallest) continue;
    smallest = edits;
    nearest = dashes + flag;
  }
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

}  // namespace sink
