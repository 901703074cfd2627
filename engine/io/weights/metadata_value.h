// One metadata entry of a file of weights: a key and a value, which is decoded on access.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/weights/byte_reader.h"

namespace sink {

// The values are GGUF's.
enum class MetadataType : std::uint8_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };

struct MetadataValue {
  std::string_view key;
  MetadataType type = MetadataType::text;
  // A scalar is little-endian. A text is without its length. An array is as in GGUF: u32 type of its elements, u64
  // count, then the elements; a text among them has a u64 length before it.
  std::string_view bytes;

  // Each throws Error (Exit::corrupt_checkpoint) with the key if the value has another type. real() also reads
  // integers; integer() refuses a u64 above the largest i64.
  std::int64_t integer() const;
  double real() const;
  bool boolean() const;
  std::string_view text() const;
  // Of an array.
  std::uint64_t size() const;
  std::vector<std::int64_t> integers() const;
  std::vector<double> reals() const;
  std::vector<std::string_view> texts() const;
  template <class F>
  void for_each(F&& f) const {  // f(MetadataValue of the element)
    ByteReader reader(array_bytes());
    MetadataType of = static_cast<MetadataType>(reader.number<std::uint32_t>("type"));
    for (std::uint64_t left = reader.number<std::uint64_t>("size"); left > 0; --left) f(element(reader, of));
  }

 private:
  std::string_view array_bytes() const;
  MetadataValue element(ByteReader& reader, MetadataType of) const;
  [[noreturn]] void refuse(const char* expected) const;
};

// Takes a type, a u32. Throws WeightFailure.
MetadataType take_metadata_type(ByteReader& reader);

// Takes a value of that type and checks every element of an array. Throws WeightFailure where the value exceeds the
// file, and for arrays nested deeper than eight.
std::string_view take_metadata_value(ByteReader& reader, MetadataType type, int depth = 0);

}  // namespace sink
