#include "engine/io/weights/safetensors_json.h"

#include <nlohmann/json.hpp>
#include <set>

#include "engine/io/bounded_json.h"
#include "engine/io/weights/weight_file.h"

namespace sink {
namespace {

using Json = nlohmann::json;

constexpr StoredType kSafetensorsTypes[] = {StoredType::F64, StoredType::F32,  StoredType::F16,    StoredType::BF16,
                                            StoredType::I64, StoredType::I32,  StoredType::I16,    StoredType::I8,
                                            StoredType::U8,  StoredType::Bool, StoredType::F8_E4M3};

// Refuses duplicate keys, of which the parsed object would keep one. A callback of Json::parse could do it in the same
// pass, but at the end of each object goes through all that the one around it has so far.
class KeysAreUnique : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool start_object(std::size_t) override {
    keys_.emplace_back();
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    return true;
  }
  bool key(string_t& name) override {
    if (!keys_.back().insert(name).second) throw WeightFailure("its JSON has the key " + in_quotes(name) + " twice");
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override { return false; }

 private:
  std::vector<std::set<std::string>> keys_;  // of the objects around the current position
};

Json parse_json(std::string_view text) {
  if (json_depth(text, kDeepestJson + 1) > kDeepestJson)
    throw WeightFailure("it has no valid JSON: it nests more than " + std::to_string(kDeepestJson) + " deep");
  KeysAreUnique check;
  try {
    Json::sax_parse(text, &check);
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw WeightFailure("it has no valid JSON: the error is at byte " + std::to_string(error.byte) + " of it");
  } catch (const Json::exception&) { throw WeightFailure("it has no valid JSON: a number is out of range"); }
}

[[noreturn]] void refuse(const std::string& name, const char* expected, const Json& got) {
  const std::string text = got.is_array()    ? "a list"
                           : got.is_object() ? "an object"
                           : got.is_string() ? in_quotes(got.get_ref<const std::string&>())
                                             : got.dump();
  throw WeightFailure("at " + in_quotes(name) + " of its JSON: expected " + expected + ", got " + text);
}

StoredType type_of(const std::string& dtype, const std::string& name) {
  std::string list;
  for (StoredType type : kSafetensorsTypes) {
    if (dtype == layout_of(type).name) return type;
    list += std::string(list.empty() ? "" : " ") + layout_of(type).name;
  }
  throw WeightsNotRead(in_quotes(name) + " is of dtype " + in_quotes(dtype) + ", which is not read; expected one of " +
                       list);
}

std::vector<std::uint64_t> whole_numbers(const std::string& name, const char* expected, const Json& list,
                                         std::size_t least, std::size_t most) {
  if (!list.is_array() || list.size() < least || list.size() > most) refuse(name, expected, list);
  std::vector<std::uint64_t> numbers;
  for (const Json& number : list) {
    if (!number.is_number_unsigned() || number.get<std::uint64_t>() >> 63 != 0) refuse(name, expected, number);
    numbers.push_back(number.get<std::uint64_t>());
  }
  return numbers;
}

SafetensorsEntry entry_of(const std::string& name, const Json& json) {
  for (const char* key : {"dtype", "shape", "data_offsets"})
    if (!json.contains(key)) throw WeightFailure(in_quotes(name) + " has no " + key);
  for (const auto& [key, value] : json.items())
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      refuse(name, "dtype, shape and data_offsets only", Json(key));
  SafetensorsEntry entry;
  entry.name = name;
  if (!json["dtype"].is_string()) refuse(name, "a text as dtype", json["dtype"]);
  entry.type = type_of(json["dtype"].get<std::string>(), name);
  for (std::uint64_t size : whole_numbers(name, "at most 5 sizes below 2^63", json["shape"], 0, Shape::kMaxRank))
    entry.shape.append(static_cast<std::int64_t>(size));
  const auto offsets = whole_numbers(name, "two offsets below 2^63", json["data_offsets"], 2, 2);
  entry.begin = offsets[0];
  entry.end = offsets[1];
  const std::uint64_t bytes = stored_bytes(name, entry.type, entry.shape);
  if (entry.end < entry.begin || entry.end - entry.begin != bytes)
    throw WeightFailure(in_quotes(name) + " is " + layout_of(entry.type).name + " " + entry.shape.str() + ", " +
                        std::to_string(bytes) + " bytes, and its data_offsets are [" + std::to_string(entry.begin) +
                        ", " + std::to_string(entry.end) + "]");
  return entry;
}

void check_file_name(const std::string& tensor, const std::string& file) {
  if (file.empty() || file.front() == '.' || file.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos)
    throw WeightFailure(in_quotes(tensor) + " is in the file " + in_quotes(file) +
                        "; expected a plain name of a file next to the index");
  if (file.ends_with(".json"))
    throw WeightFailure(in_quotes(tensor) + " is in the file " + in_quotes(file) +
                        "; expected a file of weights, not another index");
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text) {
  const Json json = parse_json(text);
  SafetensorsHeader header;
  if (!json.is_object()) refuse("", "an object", json);
  for (const auto& [name, value] : json.items()) {
    if (!value.is_object()) refuse(name, "an object for each name", value);
    if (name != "__metadata__") {
      header.entries.push_back(entry_of(name, value));
      continue;
    }
    for (const auto& [key, entry] : value.items()) {
      if (!entry.is_string()) refuse(name, "a text for each key", entry);
      header.metadata.emplace_back(key, entry.get<std::string>());
    }
  }
  return header;
}

ShardIndex parse_shard_index(std::string_view text) {
  const Json json = parse_json(text);
  ShardIndex index;
  if (!json.is_object()) refuse("", "an object", json);
  if (!json.contains("weight_map")) throw WeightFailure("it has no `weight_map`");
  if (!json["weight_map"].is_object()) refuse("weight_map", "an object of names and files", json["weight_map"]);
  for (const auto& [tensor, file] : json["weight_map"].items()) {
    if (!file.is_string()) refuse(tensor, "the name of a file", file);
    check_file_name(tensor, file.get_ref<const std::string&>());
    index.files.emplace_back(tensor, file.get<std::string>());
  }
  if (auto metadata = json.find("metadata"); metadata != json.end() && metadata->is_object())
    for (const auto& [key, value] : metadata->items())
      if (value.is_string() || value.is_number())
        index.metadata.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
  return index;
}

}  // namespace sink
