#include "engine/io/number_check.h"

#include "engine/io/setting.h"

namespace sink {
namespace {

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

NumberCheck real_number(double low, double high) { return check_of(0.0, low, high); }

NumberCheck whole_number(std::int64_t low, std::int64_t high) {
  return check_of(std::int64_t{0}, static_cast<double>(low), static_cast<double>(high));
}

NumberCheck seed_number() { return check_of(std::uint64_t{0}, 0, 0); }

}  // namespace sink
