// The table of a run's settings: one line a setting, from which come its flag, its environment variable, its TOML key,
// its range check and its help.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "train/run_config.h"

namespace sink {

using RunConfigMember = std::variant<std::int64_t RunConfig::*, std::uint64_t RunConfig::*, double RunConfig::*,
                                     std::string RunConfig::*, bool RunConfig::*>;

struct RunConfigField {
  std::string flag;  // "feed-forward": --feed-forward, SINKLAB_FEED_FORWARD, feed-forward = 256
  std::string group;
  RunConfigMember member;
  std::string help;
  // Numbers: low <= value <= high, or < high where the end is open.
  double low = 0;
  double high = 0;
  bool open_high = false;
  // Texts: one of these, or any when empty.
  std::vector<std::string> choices = {};

  // Whether it says what the run is (and so belongs in config.toml) or only how it was started (group Running).
  bool saved() const;
  std::string environment() const;  // SINKLAB_FEED_FORWARD
  std::string expected() const;     // "a whole number from 1 to 1024"
  std::string kind() const;         // INT, NUMBER, TEXT or the choices, for the help
  bool is_switch() const { return std::holds_alternative<bool RunConfig::*>(member); }
  // The value as TOML; numbers in the fewest digits that read back to the same bits.
  std::string value(const RunConfig& config) const;
  // Sets the value from text. `where` opens the message of the Error (Exit::usage): "--batch", "SINKLAB_BATCH".
  void set(RunConfig& config, const std::string& text, const std::string& where) const;
};

const std::vector<RunConfigField>& run_config_fields();

// "; did you mean --learning-rate?" for the known name nearest to `name` (with dashes or without), "" when none is
// near.
std::string did_you_mean(const std::string& name);

}  // namespace sink
