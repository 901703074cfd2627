// Reads the keys of a config.json or tokenizer_config.json, and says which one it was where something is not as
// expected.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sink {

class ConfigJson {
 public:
  // Throws Error: Exit::bad_input where there is no such file, Exit::corrupt_checkpoint where it is no JSON object.
  static ConfigJson read(const std::string& path);

  bool has(const char* key) const;  // and it is not null
  bool holds(const char* key) const { return json_.contains(key); }
  bool is_integer(const char* key) const;  // and there
  bool is_object(const char* key) const;   // and there
  // Each throws Error (Exit::corrupt_checkpoint) where the key is missing or of another kind; the second form gives
  // `otherwise` where it is missing or null.
  std::int64_t integer(const char* key) const;
  std::int64_t integer(const char* key, std::int64_t otherwise) const;
  double real(const char* key) const;
  double real(const char* key, double otherwise) const;
  std::string text(const char* key) const;
  std::string text(const char* key, const std::string& otherwise) const;
  bool flag(const char* key) const;
  // An object inside; has() of everything is false where there is none.
  ConfigJson object(const char* key) const;
  std::vector<std::string> texts(const char* key) const;

  std::vector<std::string> keys() const;
  bool operator==(const ConfigJson& other) const { return json_ == other.json_; }
  // The same with keys that are missing as `defaults` (an object) has them; null is there.
  ConfigJson completed(const nlohmann::json& defaults) const;
  ConfigJson with_null(const char* key) const;
  // Throws Error (Exit::corrupt_checkpoint) where the key is there, and is another than these (a list); null is no
  // other than null.
  void expect(const std::string& key, const nlohmann::json& values) const;
  void expect_not_null(const std::string& key) const;
  // Throws Error (Exit::corrupt_checkpoint) where one of these keys, here or in an object inside, has a number that is
  // 0 or less.
  void expect_positive(std::initializer_list<const char*> keys) const;
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  ConfigJson(std::string where, nlohmann::json json) : where_(std::move(where)), json_(std::move(json)) {}
  const nlohmann::json& at(const char* key) const;

  std::string where_;  // "MODEL/config.json", "MODEL/config.json: rope_scaling"
  nlohmann::json json_;
};

}  // namespace sink
