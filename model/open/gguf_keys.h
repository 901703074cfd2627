// Reads the keys of one architecture in the metadata of a GGUF file. Errors name the file and the key.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "engine/check.h"
#include "engine/io/printable.h"
#include "engine/io/str_format.h"
#include "engine/io/weights/weight_file.h"

namespace sink {

// The keys of one architecture: "llama.block_count".
class GgufKeys {
 public:
  explicit GgufKeys(const WeightFile& file)
      : file_(file), architecture_(file.metadata("general.architecture").text()) {}

  const std::string& architecture() const { return architecture_; }
  const MetadataValue* find(const char* key) const { return file_.find_metadata(spelled(key)); }
  bool has(const char* key) const { return find(key) != nullptr; }
  std::int64_t integer(const char* key) const { return file_.metadata(spelled(key)).integer(); }
  std::int64_t integer(const char* key, std::int64_t otherwise) const { return has(key) ? integer(key) : otherwise; }
  double real(const char* key) const { return file_.metadata(spelled(key)).real(); }
  double real(const char* key, double otherwise) const { return has(key) ? real(key) : otherwise; }
  std::string text(const char* key, const char* otherwise) const {
    return has(key) ? std::string(file_.metadata(spelled(key)).text()) : otherwise;
  }
  bool flag(const char* key, bool otherwise) const {
    return has(key) ? file_.metadata(spelled(key)).boolean() : otherwise;
  }
  // 0 is a default in Sizes, but an error in a file.
  void expect_positive(std::initializer_list<const char*> keys) const {
    for (const char* key : keys)
      if (has(key) && !(real(key) > 0))
        refuse("`" + spelled(key) + "` must be above 0, got " + str_format("%g", real(key)));
  }
  // Refuses keys that are neither known in every architecture nor in this one: they may change what the model computes.
  void expect_only(std::initializer_list<std::string_view> known, const std::vector<std::string_view>& here) const {
    for (const MetadataValue& value : file_.metadata()) {
      if (!value.key.starts_with(architecture_ + ".")) continue;
      const std::string_view key = value.key.substr(architecture_.size() + 1);
      if (std::ranges::find(known, key) == known.end() && std::ranges::find(here, key) == here.end())
        refuse("the key " + in_quotes(value.key) + " is not known here, and may change what the model computes");
    }
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(file_.path() + ": " + why, Exit::corrupt_checkpoint);
  }

 private:
  std::string spelled(const char* key) const { return architecture_ + "." + key; }

  const WeightFile& file_;
  std::string architecture_;
};

}  // namespace sink
