#include "engine/io/weights/safetensors_writer.h"

#include <nlohmann/json.hpp>
#include <set>

#include "engine/check.h"
#include "engine/io/utf8.h"
#include "engine/io/weights/safetensors_json.h"
#include "engine/io/weights/weight_file.h"

namespace sink {
namespace {

const std::string& checked(const std::string& text) {
  SINK_CHECK(utf8_valid_prefix(text) == text.size(), "safetensors", in_quotes(text) + " is not UTF-8");
  return text;
}

}  // namespace

SafetensorsWriter::Head SafetensorsWriter::head_of(const std::vector<Entry>& entries,
                                                   const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  for (const auto& [key, text] : metadata) header["__metadata__"][checked(key)] = checked(text);
  std::uint64_t end = 0;
  std::set<std::string> names;
  for (const auto& [name, type, shape] : entries) {
    SINK_CHECK(!name.empty() && name != "__metadata__" && names.insert(name).second, "safetensors",
               in_quotes(name) + " cannot be the name of a tensor, or is that of two");
    SINK_CHECK(layout_of(type).elements == 1, "safetensors",
               in_quotes(name) + " is " + layout_of(type).name + ", a type that safetensors does not have");
    const std::uint64_t begin = end;
    end += stored_bytes(name, type, shape);
    nlohmann::ordered_json sizes = nlohmann::ordered_json::array();
    for (int axis = 0; axis < shape.rank(); ++axis) sizes.push_back(shape[axis]);
    header[checked(name)] = {{"dtype", layout_of(type).name}, {"shape", sizes}, {"data_offsets", {begin, end}}};
  }
  std::string json = header.dump();
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
