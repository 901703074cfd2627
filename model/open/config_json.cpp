#include "model/open/config_json.h"

#include <filesystem>

#include "engine/check.h"
#include "engine/io/bounded_json.h"
#include "engine/io/file.h"
#include "engine/io/printable.h"
#include "engine/io/utf8.h"

namespace sink {
namespace {

constexpr std::size_t kLongestConfig = std::size_t{16} << 20;

std::string shown(const nlohmann::json& value) {
  std::string text = printable(value.dump());
  return text.size() <= 60 ? text : std::string(utf8_prefix(text, 57)) + "...";
}

std::string must_be(const char* key, const char* type, const nlohmann::json& value) {
  return std::string("`") + key + "` must be " + type + ", got " + shown(value);
}

}  // namespace

ConfigJson ConfigJson::read(const std::string& path) {
  std::error_code ignored;
  const auto kind = std::filesystem::status(path, ignored).type();
  if (kind != std::filesystem::file_type::regular && kind != std::filesystem::file_type::not_found)
    throw Error(path + " is not a file; expected a file of JSON that describes a model", Exit::bad_input);
  const std::string bytes = read_file("config", path);
  try {
    nlohmann::json json = parse_bounded_json(bytes, kLongestConfig);
    ConfigJson config(path, std::move(json));
    if (!config.json_.is_object()) config.refuse("expected a JSON object, got " + shown(config.json_));
    return config;
  } catch (const JsonFailure& failure) {
    throw Error(path + ": expected a JSON object; " + failure.what() + "; get it again from where it is from",
                Exit::corrupt_checkpoint);
  }
}

void ConfigJson::refuse(const std::string& why) const {
  throw Error(where_ + ": " + why + advice_, Exit::corrupt_checkpoint);
}

bool ConfigJson::has(const char* key) const { return json_.contains(key) && !json_.at(key).is_null(); }

bool ConfigJson::is_object(const char* key) const { return json_.contains(key) && json_.at(key).is_object(); }

const nlohmann::json& ConfigJson::at(const char* key) const {
  if (!has(key)) refuse(std::string("`") + key + "` is missing");
  return json_.at(key);
}

const nlohmann::json& ConfigJson::at(const char* key, const char* type, Is is) const {
  const nlohmann::json& value = at(key);
  if (!(value.*is)()) refuse(must_be(key, type, value));
  return value;
}

std::int64_t ConfigJson::integer(const char* key) const {
  const nlohmann::json& value = at(key);
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
    refuse(std::string("`") + key + "` is " + shown(value) + ", which no model has");
  if (!value.is_number_integer()) refuse(must_be(key, "a whole number", value));
  return value.get<std::int64_t>();
}
std::int64_t ConfigJson::integer(const char* key, std::int64_t otherwise) const {
  return has(key) ? integer(key) : otherwise;
}

double ConfigJson::real(const char* key) const { return at(key, "a number", &nlohmann::json::is_number).get<double>(); }
double ConfigJson::real(const char* key, double otherwise) const { return has(key) ? real(key) : otherwise; }

std::string ConfigJson::text(const char* key) const {
  return at(key, "a text", &nlohmann::json::is_string).get<std::string>();
}
std::string ConfigJson::text(const char* key, const std::string& otherwise) const {
  return has(key) ? text(key) : otherwise;
}

bool ConfigJson::flag(const char* key) const {
  return at(key, "true or false", &nlohmann::json::is_boolean).get<bool>();
}

ConfigJson ConfigJson::object(const char* key) const {
  if (!has(key)) return {where_ + ": " + key, nlohmann::json::object(), advice_};
  return {where_ + ": " + key, at(key, "an object", &nlohmann::json::is_object), advice_};
}

std::vector<std::string> ConfigJson::texts(const char* key) const {
  std::vector<std::string> texts;
  for (const nlohmann::json& one : at(key, "a list", &nlohmann::json::is_array)) {
    if (!one.is_string()) refuse(must_be(key, "a list of texts", one));
    texts.push_back(one.get<std::string>());
  }
  return texts;
}

std::vector<std::int64_t> ConfigJson::integers(const char* key) const {
  std::vector<std::int64_t> integers;
  for (const nlohmann::json& one : at(key, "a list", &nlohmann::json::is_array)) {
    if (!one.is_number_integer()) refuse(must_be(key, "a list of integers", one));
    integers.push_back(one.get<std::int64_t>());
  }
  return integers;
}

std::vector<double> ConfigJson::reals(const char* key) const {
  std::vector<double> reals;
  for (const nlohmann::json& one : at(key, "a list", &nlohmann::json::is_array)) {
    if (!one.is_number()) refuse(must_be(key, "a list of values", one));
    reals.push_back(one.get<double>());
  }
  return reals;
}

std::vector<std::string> ConfigJson::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json_.items()) keys.push_back(key);
  return keys;
}

ConfigJson ConfigJson::completed(const nlohmann::json& defaults) const {
  nlohmann::json json = json_;
  for (const auto& [key, value] : defaults.items())
    if (!json.contains(key)) json[key] = value;
  return {where_, std::move(json), advice_};
}

ConfigJson ConfigJson::with_null(const char* key) const {
  nlohmann::json json = json_;
  json[key] = nullptr;
  return {where_, std::move(json), advice_};
}

ConfigJson ConfigJson::with_advice(const std::string& advice) const { return {where_, json_, advice}; }

void ConfigJson::expect(const std::string& key, const nlohmann::json& values) const {
  if (!json_.contains(key)) return;
  std::string list;
  for (const nlohmann::json& value : values) {
    if (json_.at(key) == value) return;
    list += (list.empty() ? "" : " or ") + value.dump();
  }
  refuse("`" + key + "` must be " + list + ", got " + shown(json_.at(key)) +
         (advice_.empty() ? ": no family here computes that (`ablations` lists them)" : ""));
}

void ConfigJson::expect_positive(std::initializer_list<const char*> keys) const {
  for (const char* key : keys)
    if (has(key) && at(key).is_number() && !(at(key).get<double>() > 0))
      refuse(std::string("`") + key + "` must be above 0, got " + shown(at(key)) +
             ": leave it out where the default is meant");
  for (const auto& [key, value] : json_.items())
    if (value.is_object()) object(key.c_str()).expect_positive(keys);
}

void ConfigJson::expect_not_null(const std::string& key) const {
  if (json_.contains(key) && json_.at(key).is_null()) refuse("`" + key + "` is null; expected a value, or no such key");
}

}  // namespace sink
