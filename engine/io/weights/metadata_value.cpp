#include "engine/io/weights/metadata_value.h"

#include <cstring>
#include <limits>

#include "engine/check.h"

namespace sink {
namespace {

struct MetadataLayout {
  const char* name;
  std::uint64_t bytes;  // 0: as many as the value says
};
constexpr MetadataLayout kMetadataLayouts[] = {{"u8", 1},  {"i8", 1},  {"u16", 2},  {"i16", 2},    {"u32", 4},
                                               {"i32", 4}, {"f32", 4}, {"bool", 1}, {"a text", 0}, {"an array", 0},
                                               {"u64", 8}, {"i64", 8}, {"f64", 8}};
constexpr int kDeepestMetadata = 8;

const MetadataLayout& layout_of(MetadataType type) { return kMetadataLayouts[static_cast<int>(type)]; }

template <class T>
T value_in(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// Calls f with the whole number; false where the type has none.
template <class F>
bool with_integer(const MetadataValue& value, F&& f) {
  switch (value.type) {
    case MetadataType::u8:
      return f(value_in<std::uint8_t>(value.bytes));
    case MetadataType::i8:
      return f(value_in<std::int8_t>(value.bytes));
    case MetadataType::u16:
      return f(value_in<std::uint16_t>(value.bytes));
    case MetadataType::i16:
      return f(value_in<std::int16_t>(value.bytes));
    case MetadataType::u32:
      return f(value_in<std::uint32_t>(value.bytes));
    case MetadataType::i32:
      return f(value_in<std::int32_t>(value.bytes));
    case MetadataType::u64:
      return f(value_in<std::uint64_t>(value.bytes));
    case MetadataType::i64:
      return f(value_in<std::int64_t>(value.bytes));
    default:
      return false;
  }
}

}  // namespace

MetadataType take_metadata_type(ByteReader& reader) {
  std::uint32_t type = reader.number<std::uint32_t>("type of a value");
  if (type >= std::size(kMetadataLayouts))
    throw WeightFailure("byte " + std::to_string(reader.at() - 4) + " says " + std::to_string(type) +
                        " as the type of a value; expected 0 to 12");
  return static_cast<MetadataType>(type);
}

std::string_view take_metadata_value(ByteReader& reader, MetadataType type, int depth) {
  const char* what = "value";
  if (type == MetadataType::text) return reader.take(reader.count(1, "length of a text"), what);
  if (type != MetadataType::array) {
    std::string_view bytes = reader.take(layout_of(type).bytes, what);
    if (type == MetadataType::boolean && static_cast<unsigned char>(bytes[0]) > 1)
      throw WeightFailure("byte " + std::to_string(reader.at() - 1) + " is no bool; expected 0 or 1");
    return bytes;
  }
  if (depth == kDeepestMetadata)
    throw WeightFailure("arrays lie more than " + std::to_string(kDeepestMetadata) + " deep in each other at byte " +
                        std::to_string(reader.at()));
  ByteReader begin = reader;
  MetadataType of = take_metadata_type(reader);
  std::uint64_t least = of == MetadataType::text ? 8 : of == MetadataType::array ? 12 : layout_of(of).bytes;
  std::uint64_t count = reader.count(least, "size of an array");
  if (layout_of(of).bytes > 0 && of != MetadataType::boolean)
    reader.take(count * least, what);
  else
    for (; count > 0; --count) take_metadata_value(reader, of, depth + 1);
  return begin.take(reader.at() - begin.at(), what);
}

std::int64_t MetadataValue::integer() const {
  std::int64_t result = 0;
  bool fits = with_integer(*this, [&](auto number) {
    result = static_cast<std::int64_t>(number);
    return sizeof number < 8 || std::is_signed_v<decltype(number)> || result >= 0;
  });
  if (!fits) refuse("a whole number");
  return result;
}

double MetadataValue::real() const {
  if (type == MetadataType::f32) return static_cast<double>(value_in<float>(bytes));
  if (type == MetadataType::f64) return value_in<double>(bytes);
  double result = 0;
  bool whole = with_integer(*this, [&](auto number) {
    result = static_cast<double>(number);
    return true;
  });
  if (!whole) refuse("a number");
  return result;
}

bool MetadataValue::boolean() const {
  if (type != MetadataType::boolean) refuse("a bool");
  return bytes[0] != 0;
}

std::string_view MetadataValue::text() const {
  if (type != MetadataType::text) refuse("a text");
  return bytes;
}

std::uint64_t MetadataValue::size() const { return value_in<std::uint64_t>(array_bytes().substr(4)); }

std::vector<std::int64_t> MetadataValue::integers() const {
  std::vector<std::int64_t> list;
  list.reserve(size());
  for_each([&](const MetadataValue& element) { list.push_back(element.integer()); });
  return list;
}

std::vector<double> MetadataValue::reals() const {
  std::vector<double> list;
  list.reserve(size());
  for_each([&](const MetadataValue& element) { list.push_back(element.real()); });
  return list;
}

std::vector<std::string_view> MetadataValue::texts() const {
  std::vector<std::string_view> list;
  list.reserve(size());
  for_each([&](const MetadataValue& element) { list.push_back(element.text()); });
  return list;
}

std::string_view MetadataValue::array_bytes() const {
  if (type != MetadataType::array) refuse("an array");
  return bytes;
}

MetadataValue MetadataValue::element(ByteReader& reader, MetadataType of) const {
  return {key, of, take_metadata_value(reader, of)};
}

void MetadataValue::refuse(const char* expected) const {
  std::string message = in_quotes(key) + " is " + layout_of(type).name + "; expected " + expected;
  if (type == MetadataType::u64 && with_integer(*this, [](auto) { return true; })) message += " that fits 63 bits";
  throw Error(message, Exit::corrupt_checkpoint);
}

}  // namespace sink
