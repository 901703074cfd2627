// A setting: one row in the table of a configuration, which defines its flag, environment variable, name in files,
// range and help. Setting<Config> points to a member of the configuration.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/check.h"

namespace sink {

using SettingValue = std::variant<std::int64_t, std::uint64_t, double, std::string, bool>;

// As on the command line: strings without quotes.
std::string plain_text(const SettingValue& value);
// As a TOML value. A number has the fewest digits that read back to the same bits.
std::string toml_text(const SettingValue& value);

// The name and the allowed values of a setting, independent of its configuration.
struct SettingRule {
  std::string flag;  // "feed-forward": --feed-forward, SINKLAB_FEED_FORWARD, feed-forward = 256, `feed_forward`
  std::string group;
  std::string help;
  SettingValue of_kind;  // any value of its type
  // For a numeric setting: low <= value <= high, or value < high if the end is open.
  double low = 0;
  double high = 0;
  bool open_high = false;
  // For a text setting: one of these, or any text if empty.
  std::vector<std::string> choices = {};
  // Former names in files, with dashes; read but not written.
  std::vector<std::string> older_names = {};
  // The standard name on the command line where it is not `flag`, which files keep: "d-model" of `width`.
  std::string standard_flag = {};

  std::string option() const;                    // "--d-model": how messages and the help name it
  std::string options() const;                   // "--d-model,--width": all names on the command line
  std::vector<std::string> environment() const;  // SINKLAB_D_MODEL, SINKLAB_WIDTH
  std::string key() const;                       // feed_forward, as an attribute of a checkpoint
  std::string expected() const;                  // "a whole number from 1 to 1024"
  std::string kind() const;                      // INT, NUMBER, TEXT or the choices, for the help
  bool is_switch() const { return std::holds_alternative<bool>(of_kind); }
  // Parses `text`. `where` ("--batch", "SINKLAB_BATCH") begins the message of the Error (Exit::usage) for an invalid
  // value.
  SettingValue read(const std::string& text, const std::string& where) const;
};

template <class Config>
struct Setting : SettingRule {
  using Member = std::variant<std::int64_t Config::*, std::uint64_t Config::*, double Config::*, std::string Config::*,
                              bool Config::*>;
  Member member;

  Setting(std::string flag, std::string group, Member member, std::string help, double low = 0, double high = 0,
          bool open_high = false)
      : SettingRule{flag, group, help, {}, low, high, open_high}, member(member) {
    of_kind = std::visit(
        [](auto pointer) { return SettingValue(std::decay_t<decltype(std::declval<Config>().*pointer)>()); }, member);
  }

  // A setting of a base class of this configuration.
  template <class Base>
  requires(std::is_base_of_v<Base, Config> && !std::is_same_v<Base, Config>) Setting(const Setting<Base>& setting)
      : SettingRule(setting), member(std::visit([](auto pointer) { return Member(pointer); }, setting.member)) {}

  SettingValue value(const Config& config) const {
    return std::visit([&](auto pointer) { return SettingValue(config.*pointer); }, member);
  }
  void set(Config& config, const SettingValue& value) const {
    std::visit([&](auto pointer) { config.*pointer = std::get<std::decay_t<decltype(config.*pointer)>>(value); },
               member);
  }
  void set(Config& config, const std::string& text, const std::string& where) const { set(config, read(text, where)); }
};

template <class Config>
using Settings = std::vector<Setting<Config>>;

// The same setting with a standard name on the command line.
template <class Config>
Setting<Config> with_flag(std::string standard_flag, Setting<Config> setting) {
  setting.standard_flag = std::move(standard_flag);
  return setting;
}

// Returns the setting with this name, standard flag or older name, with dashes or underscores; null if there is none.
template <class Config>
const Setting<Config>* setting_named(const Settings<Config>& settings, std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  auto found = std::find_if(settings.begin(), settings.end(), [&](const auto& setting) {
    const auto& older = setting.older_names;
    return setting.flag == name || (!name.empty() && setting.standard_flag == name) ||
           std::find(older.begin(), older.end(), name) != older.end();
  });
  return found == settings.end() ? nullptr : &*found;
}

// Returns "; did you mean --learning-rate?": the flag that other programs call `name` (--lr), or else the most similar
// one; "" if there is none. `name` has leading dashes or not.
std::string did_you_mean(const std::string& name, const std::vector<std::string>& flags);
template <class Config>
std::string did_you_mean(const std::string& name, const Settings<Config>& settings) {
  std::vector<std::string> flags;
  for (const auto& setting : settings)
    flags.push_back(name.starts_with('-') ? setting.option().substr(2) : setting.flag);
  return did_you_mean(name, flags);
}

// Range checks of command-line options for CLI11's check(). CLI11's own ranges accept NaN, and its integers saturate
// silently.
// "" where the text is valid, else "expected a number from 0 to 100, got `nan`".
using NumberCheck = std::function<std::string(const std::string& text)>;

inline constexpr std::int64_t kLargestCount = 1'000'000'000;

NumberCheck real_number(double low, double high);
NumberCheck whole_number(std::int64_t low, std::int64_t high = kLargestCount);
// Any of 64 bits.
NumberCheck seed_number();

}  // namespace sink
