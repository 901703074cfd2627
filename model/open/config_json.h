// Reads the keys of a config.json or tokenizer_config.json. Errors name the file and the key.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sink {

class ConfigJson {
 public:
  // Throws Error: Exit::bad_input for a missing file, Exit::corrupt_checkpoint for a file that is no JSON object.
  static ConfigJson read(const std::string& path);

  bool has(const char* key) const;  // exists and is not null
  bool holds(const std::string& key) const { return json_.contains(key); }
  bool is_object(const char* key) const;  // false if missing
  // These throw Error (Exit::corrupt_checkpoint) for a key that is missing or of another type. With `otherwise`, they
  // return it for a key that is missing or null.
  std::int64_t integer(const char* key) const;
  std::int64_t integer(const char* key, std::int64_t otherwise) const;
  double real(const char* key) const;
  double real(const char* key, double otherwise) const;
  std::string text(const char* key) const;
  std::string text(const char* key, const std::string& otherwise) const;
  bool flag(const char* key) const;
  // A nested object; empty if the key is missing.
  ConfigJson object(const char* key) const;
  std::vector<std::string> texts(const char* key) const;
  std::vector<std::int64_t> integers(const char* key) const;
  std::vector<double> reals(const char* key) const;

  std::vector<std::string> keys() const;
  const nlohmann::json& json() const { return json_; }
  bool operator==(const ConfigJson& other) const { return json_ == other.json_; }
  // This object with missing keys from `defaults` (an object); keys that are null are not missing.
  ConfigJson completed(const nlohmann::json& defaults) const;
  ConfigJson with_null(const char* key) const;
  ConfigJson with_advice(const std::string& advice) const;  // at the end of what refusals of it say
  // Throws Error (Exit::corrupt_checkpoint) if the key exists and its value is none of `values` (a list).
  void expect(const std::string& key, const nlohmann::json& values) const;
  void expect_not_null(const std::string& key) const;
  // Throws Error (Exit::corrupt_checkpoint) if one of these keys, here or in a nested object, is 0 or less.
  void expect_positive(std::initializer_list<const char*> keys) const;
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  ConfigJson(std::string where, nlohmann::json json, std::string advice = "")
      : where_(std::move(where)), json_(std::move(json)), advice_(std::move(advice)) {}
  using Is = bool (nlohmann::json::*)() const noexcept;
  const nlohmann::json& at(const char* key) const;
  const nlohmann::json& at(const char* key, const char* type, Is is) const;

  std::string where_;  // "MODEL/config.json", "MODEL/config.json: rope_scaling"
  nlohmann::json json_;
  std::string advice_;
};

}  // namespace sink
