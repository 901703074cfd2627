#include "engine/io/weights/safetensors_writer.h"

#include <nlohmann/json.hpp>
#include <set>

#include "engine/check.h"
#include "engine/io/utf8.h"
#include "engine/io/weights/safetensors_header.h"
#include "engine/io/weights/stored_bytes.h"
#include "engine/io/weights/weight_failure.h"

namespace sink {
namespace {

std::string in_json_quotes(const std::string& text) {
  SINK_CHECK(utf8_valid_prefix(text) == text.size(), "safetensors", in_quotes(text) + " is not UTF-8");
  return nlohmann::json(text).dump();
}

}  // namespace

SafetensorsWriter::Head SafetensorsWriter::head_of(const std::vector<Entry>& entries,
                                                   const std::map<std::string, std::string>& metadata) {
  std::string json = "{", comma;
  auto add = [&](const std::string& key, const std::string& value) {
    json += comma + in_json_quotes(key) + ":" + value;
    comma = ",";
  };
  if (!metadata.empty()) {
    std::string texts;
    for (const auto& [key, text] : metadata)
      texts += (texts.empty() ? "" : ",") + in_json_quotes(key) + ":" + in_json_quotes(text);
    add("__metadata__", "{" + texts + "}");
  }
  std::uint64_t end = 0;
  std::set<std::string> names;
  for (const auto& [name, type, shape] : entries) {
    SINK_CHECK(!name.empty() && name != "__metadata__" && names.insert(name).second, "safetensors",
               in_quotes(name) + " cannot be the name of a tensor, or is that of two");
    SINK_CHECK(layout_of(type).numbers == 1, "safetensors",
               in_quotes(name) + " is " + layout_of(type).name + ", which safetensors has not");
    std::string sizes;
    for (int axis = 0; axis < shape.rank(); ++axis) sizes += (axis > 0 ? "," : "") + std::to_string(shape[axis]);
    std::uint64_t begin = end;
    end += stored_bytes(name, type, shape);
    add(name, std::string("{\"dtype\":\"") + layout_of(type).name + "\",\"shape\":[" + sizes + "],\"data_offsets\":[" +
                  std::to_string(begin) + "," + std::to_string(end) + "]}");
  }
  json += "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  SINK_CHECK(json.size() <= kLongestSafetensorsHeader, "safetensors",
             "the header has " + std::to_string(json.size()) + " bytes; the format has at most " +
                 std::to_string(kLongestSafetensorsHeader));
  std::uint64_t length = json.size();
  return {std::string(reinterpret_cast<const char*>(&length), sizeof length) + json, end};
}

SafetensorsWriter::SafetensorsWriter(const std::string& path, const std::vector<Entry>& entries,
                                     const std::map<std::string, std::string>& metadata)
    : SafetensorsWriter(path, head_of(entries, metadata)) {}

SafetensorsWriter::SafetensorsWriter(const std::string& path, const Head& head)
    : file_(path, head.text.size() + head.bytes), left_(head.bytes) {
  file_.write(head.text.data(), head.text.size());
}

void SafetensorsWriter::write(const void* data, std::size_t bytes) {
  SINK_CHECK(bytes <= left_, "safetensors",
             "got " + std::to_string(bytes) + " bytes where the tensors have " + std::to_string(left_) + " left");
  file_.write(data, bytes);
  left_ -= bytes;
}

void SafetensorsWriter::commit() {
  SINK_CHECK(left_ == 0, "safetensors", "the tensors miss " + std::to_string(left_) + " bytes");
  file_.close();
  file_.commit();
}

}  // namespace sink
