#include "engine/io/weights/metadata_value.h"

#include <cstring>
#include <optional>

#include "engine/check.h"

namespace sink {
namespace {

struct MetadataLayout {
  const char* name;
  std::uint64_t bytes;  // 0: variable
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

// The bits of a whole number as 64 bits; none for other types.
std::optional<std::uint64_t> integer_bits(const MetadataValue& value) {
  const auto [name, bytes] = layout_of(value.type);
  if (name[0] != 'u' && name[0] != 'i') return std::nullopt;
  std::uint64_t bits = 0;
  std::memcpy(&bits, value.bytes.data(), bytes);
  const std::uint64_t unused = 64 - 8 * bytes;
  return name[0] == 'u' ? bits : static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << unused) >> unused);
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
      throw WeightFailure("byte " + std::to_string(reader.at() - 1) + " is not a bool; expected 0 or 1");
    return bytes;
  }
  if (depth == kDeepestMetadata)
    throw WeightFailure("arrays nest more than " + std::to_string(kDeepestMetadata) + " deep at byte " +
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
  const std::optional<std::uint64_t> bits = integer_bits(*this);
  if (!bits || (type == MetadataType::u64 && *bits >> 63 != 0)) refuse("a whole number");
  return static_cast<std::int64_t>(*bits);
}

double MetadataValue::real() const {
  if (type == MetadataType::f32) return static_cast<double>(value_in<float>(bytes));
  if (type == MetadataType::f64) return value_in<double>(bytes);
  if (type == MetadataType::u64) return static_cast<double>(value_in<std::uint64_t>(bytes));
  const std::optional<std::uint64_t> bits = integer_bits(*this);
  if (!bits) refuse("a number");
  return static_cast<double>(static_cast<std::int64_t>(*bits));
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

namespace {

template <class T, class Get>
std::vector<T> list_of(const MetadataValue& array, Get get) {
  std::vector<T> list;
  list.reserve(array.size());
  array.for_each([&](const MetadataValue& element) { list.push_back((element.*get)()); });
  return list;
}

}  // namespace

std::vector<std::int64_t> MetadataValue::integers() const {
  return list_of<std::int64_t>(*this, &MetadataValue::integer);
}
std::vector<double> MetadataValue::reals() const { return list_of<double>(*this, &MetadataValue::real); }
std::vector<std::string_view> MetadataValue::texts() const {
  return list_of<std::string_view>(*this, &MetadataValue::text);
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
  if (type == MetadataType::u64 && std::string_view(expected) == "a whole number") message += " that fits 63 bits";
  throw Error(message, Exit::corrupt_checkpoint);
}

}  // namespace sink
