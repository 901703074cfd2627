// One entry of what a file of weights says about itself: a key, and a value that is looked at where it lies.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/weights/byte_reader.h"

namespace sink {

// In the order of GGUF, whose numbers they are.
enum class MetadataType : std::uint8_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };

struct MetadataValue {
  std::string_view key;
  MetadataType type = MetadataType::text;
  // Numbers little-endian; a text without its length; an array as GGUF has it: u32 type of its elements, u64 how many,
  // the elements, of which texts have a u64 length before them.
  std::string_view bytes;

  // Each throws Error (Exit::corrupt_checkpoint), with the key, where the value is of another type. Whole numbers
  // count as reals; a u64 above the largest i64 is no integer.
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

// The type that GGUF writes as a u32. Throws WeightFailure.
MetadataType take_metadata_type(ByteReader& reader);

// Takes a value of that type, and looks at every element of an array. Throws WeightFailure where it does not end in the
// file, and for arrays in more than eight arrays.
std::string_view take_metadata_value(ByteReader& reader, MetadataType type, int depth = 0);

}  // namespace sink
