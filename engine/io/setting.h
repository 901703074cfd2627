// A setting: one line in the table of a configuration, from which come its flag, its environment variable, its name in
// files, its range check and its help. What a configuration holds is its own matter: Setting<Config> points into it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/check.h"

namespace sink {

using SettingValue = std::variant<std::int64_t, std::uint64_t, double, std::string, bool>;

// As people give it: `text` in a TOML string's place stands without quotes.
std::string plain_text(const SettingValue& value);
// As a TOML value; numbers in the fewest digits that read back to the same bits.
std::string toml_text(const SettingValue& value);

// What may be given for a setting, wherever it is kept.
struct SettingRule {
  std::string flag;  // "feed-forward": --feed-forward, SINKLAB_FEED_FORWARD, feed-forward = 256, `feed_forward`
  std::string group;
  std::string help;
  SettingValue of_kind;  // any value of the type that it has
  // Numbers: low <= value <= high, or < high where the end is open.
  double low = 0;
  double high = 0;
  bool open_high = false;
  // Texts: one of these, or any when empty.
  std::vector<std::string> choices = {};
  // Names that older programs wrote into files, with dashes; read there, never written.
  std::vector<std::string> older_names = {};

  std::string environment() const;  // SINKLAB_FEED_FORWARD
  std::string key() const;          // feed_forward, as an attribute of a checkpoint
  std::string expected() const;     // "a whole number from 1 to 1024"
  std::string kind() const;         // INT, NUMBER, TEXT or the choices, for the help
  bool is_switch() const { return std::holds_alternative<bool>(of_kind); }
  // The value that `text` gives. `where` opens the message of the Error (Exit::usage) for one that does not fit:
  // "--batch", "SINKLAB_BATCH".
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

  // The setting of a base class of this configuration.
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

// The setting of this name, or once of this name, with dashes or underscores; null where there is none.
template <class Config>
const Setting<Config>* setting_named(const Settings<Config>& settings, std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  auto found = std::find_if(settings.begin(), settings.end(), [&](const auto& setting) {
    const auto& older = setting.older_names;
    return setting.flag == name || std::find(older.begin(), older.end(), name) != older.end();
  });
  return found == settings.end() ? nullptr : &*found;
}

// "; did you mean --learning-rate?" for the flag nearest to `name` (with dashes in front or without), "" when none is
// near.
std::string did_you_mean(const std::string& name, const std::vector<std::string>& flags);
template <class Config>
std::string did_you_mean(const std::string& name, const Settings<Config>& settings) {
  std::vector<std::string> flags;
  for (const auto& setting : settings) flags.push_back(setting.flag);
  return did_you_mean(name, flags);
}

}  // namespace sink
