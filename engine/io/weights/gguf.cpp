// GGUF on disk, little-endian, a string being a u64 length and its bytes:
//   "GGUF"; u32 version; u64 tensors; u64 entries
//   an entry: string key; u32 type (MetadataType); the value
//   a tensor: string name; u32 axes; u64 size of each axis, innermost first; u32 type; u64 offset
//   padding to a multiple of the entry `general.alignment` (32 by default); the data, which offsets count from
// Each tensor begins where another ends, padded with zeros to a multiple of the alignment; the end of the file may be
// padded, too. A row is whole blocks.

#include <algorithm>
#include <bit>

#include "engine/io/weights/weight_file.h"

namespace sink {
namespace {

constexpr std::uint64_t kGgufAlignment = 32, kLargestGgufAlignment = 1 << 20;
constexpr std::uint32_t kMostGgufAxes = 4;

struct GgufType {
  std::uint32_t number;
  StoredType type;
};
constexpr GgufType kGgufTypes[] = {{0, StoredType::F32},     {1, StoredType::F16},     {2, StoredType::Q4_0},
                                   {3, StoredType::Q4_1},    {6, StoredType::Q5_0},    {7, StoredType::Q5_1},
                                   {8, StoredType::Q8_0},    {10, StoredType::Q2_K},   {11, StoredType::Q3_K},
                                   {12, StoredType::Q4_K},   {13, StoredType::Q5_K},   {14, StoredType::Q6_K},
                                   {20, StoredType::IQ4_NL}, {23, StoredType::IQ4_XS}, {30, StoredType::BF16},
                                   {34, StoredType::TQ1_0},  {35, StoredType::TQ2_0},  {39, StoredType::MXFP4}};

// Those that are refused by their names.
struct OtherGgufType {
  std::uint32_t number;
  const char* name;
};
constexpr OtherGgufType kOtherGgufTypes[] = {{9, "Q8_1"},     {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"},
                                             {18, "IQ3_XXS"}, {19, "IQ1_S"}, {21, "IQ3_S"},   {22, "IQ2_S"},
                                             {24, "I8"},      {25, "I16"},   {26, "I32"},     {27, "I64"},
                                             {28, "F64"},     {29, "IQ1_M"}, {40, "NVFP4"}};

StoredType gguf_type(std::uint32_t number, const std::string& name) {
  std::string list, of_other;
  for (auto [n, type] : kGgufTypes) {
    if (n == number) return type;
    list += std::string(list.empty() ? "" : " ") + layout_of(type).name;
  }
  for (auto [n, other] : kOtherGgufTypes)
    if (n == number) of_other = std::string(" (") + other + ")";
  throw WeightsNotRead(in_quotes(name) + " is of type " + std::to_string(number) + of_other +
                       ", which is not read; expected one of " + list);
}

std::uint64_t rounded_up(std::uint64_t number, std::uint64_t to) { return (number + to - 1) / to * to; }

// A tensor and the offset of its data. StoredTensor::data is set once the position of the data is known.
struct GgufTensor {
  StoredTensor tensor;
  std::uint64_t offset;
};

GgufTensor take_tensor(ByteReader& reader) {
  GgufTensor taken{};
  StoredTensor& tensor = taken.tensor;
  tensor.name = reader.take(reader.count(1, "length of a tensor's name"), "tensor's name");
  auto axes = reader.number<std::uint32_t>("number of axes");
  if (axes > kMostGgufAxes)
    throw WeightFailure(in_quotes(tensor.name) + " has " + std::to_string(axes) + " axes; expected at most " +
                        std::to_string(kMostGgufAxes));
  std::uint64_t sizes[kMostGgufAxes];
  for (std::uint32_t axis = 0; axis < axes; ++axis) sizes[axis] = reader.number<std::uint64_t>("size of an axis");
  for (std::uint32_t axis = axes; axis-- > 0;) {
    if (sizes[axis] >> 63 != 0)
      throw WeightFailure(in_quotes(tensor.name) + " has an axis of size " + std::to_string(sizes[axis]));
    tensor.shape.append(static_cast<std::int64_t>(sizes[axis]));
  }
  tensor.type = gguf_type(reader.number<std::uint32_t>("type of a tensor"), tensor.name);
  tensor.bytes = stored_bytes(tensor.name, tensor.type, tensor.shape);
  taken.offset = reader.number<std::uint64_t>("offset of a tensor");
  return taken;
}

std::uint64_t alignment_of(const WeightFile& file) {
  auto& entries = file.metadata();
  auto found = std::find_if(entries.begin(), entries.end(), [](auto& v) { return v.key == "general.alignment"; });
  if (found == entries.end()) return kGgufAlignment;
  if (found->type != MetadataType::u32) throw WeightFailure("`general.alignment` is not a u32");
  auto alignment = static_cast<std::uint64_t>(found->integer());
  if (!std::has_single_bit(alignment) || alignment < 8 || alignment > kLargestGgufAlignment)
    throw WeightFailure("`general.alignment` is " + std::to_string(alignment) + "; expected a power of two from 8 to " +
                        std::to_string(kLargestGgufAlignment));
  return alignment;
}

void check_head(ByteReader& reader) {
  if (std::string_view magic = reader.take(4, "word GGUF"); magic != "GGUF")
    throw WeightFailure("expected the word GGUF at its beginning, got " + in_quotes(magic));
  auto version = reader.number<std::uint32_t>("version");
  if (version >= 1 << 16)
    throw WeightsNotRead("its version is " + std::to_string(version) +
                         ", as of a file for big-endian machines; expected version 2 or 3, little-endian");
  if (version != 2 && version != 3)
    throw WeightsNotRead("it is of version " + std::to_string(version) + "; expected 2 or 3");
}

// The tensors must cover `numbers` without gaps other than zero padding for alignment. They are in the order of the
// file, which need not be the order of their offsets. A tensor whose type or shape is not the one that was written is
// therefore not read as a smaller one.
void check_offsets(const std::vector<GgufTensor>& tensors, std::string_view numbers, std::uint64_t alignment) {
  std::vector<const GgufTensor*> sorted;
  for (const GgufTensor& t : tensors) {
    if (t.offset % alignment != 0)
      throw WeightFailure(in_quotes(t.tensor.name) + " is at offset " + std::to_string(t.offset) +
                          "; expected a multiple of " + std::to_string(alignment));
    if (t.offset > numbers.size() || t.tensor.bytes > numbers.size() - t.offset)
      throw WeightFailure(in_quotes(t.tensor.name) + " has " + std::to_string(t.tensor.bytes) + " bytes at offset " +
                          std::to_string(t.offset) + " of " + std::to_string(numbers.size()) + ": the file is cut off");
    if (t.tensor.bytes > 0) sorted.push_back(&t);
  }
  std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
  std::uint64_t end = 0;  // of the tensors before
  auto after = [&](std::size_t i) { return i == 0 ? "" : " after " + in_quotes(sorted[i - 1]->tensor.name); };
  auto check_zeros = [&](std::size_t i, std::uint64_t to) {
    if (numbers.substr(end, to - end).find_first_not_of('\0') != std::string_view::npos)
      throw WeightFailure(in_quotes(sorted[i - 1]->tensor.name) + " ends at offset " + std::to_string(end) +
                          ", and there is something before offset " + std::to_string(to) +
                          "; expected zeros up to it (is its type or shape another than was written?)");
  };
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const StoredTensor& tensor = sorted[i]->tensor;
    const std::uint64_t offset = sorted[i]->offset, expected = rounded_up(end, alignment);
    if (offset < end)
      throw WeightFailure(in_quotes(tensor.name) + " begins before the end of " +
                          in_quotes(sorted[i - 1]->tensor.name));
    if (offset != expected)
      throw WeightFailure(in_quotes(tensor.name) + " is at offset " + std::to_string(offset) + "; expected " +
                          std::to_string(expected) + after(i));
    if (i > 0) check_zeros(i, offset);
    end = offset + tensor.bytes;
  }
  if (numbers.size() > rounded_up(end, alignment))
    throw WeightFailure("it has " + std::to_string(numbers.size()) + " bytes of data, and its tensors end at " +
                        std::to_string(end));
  if (!sorted.empty()) check_zeros(sorted.size(), numbers.size());
}

void parse_gguf(std::string_view bytes, WeightFile& file) {
  ByteReader reader(bytes);
  check_head(reader);
  // At least a name's length, axes, type and offset; a key's length, type and a value.
  constexpr std::uint64_t kLeastTensor = 24, kLeastEntry = 13;
  std::uint64_t count = reader.count(kLeastTensor, "number of tensors");
  std::uint64_t entries = reader.count(kLeastEntry, "number of entries");
  for (; entries > 0; --entries) {
    MetadataValue value;
    value.key = reader.take(reader.count(1, "length of a key"), "key");
    value.type = take_metadata_type(reader);
    value.bytes = take_metadata_value(reader, value.type);
    file.add(value);
  }
  std::uint64_t alignment = alignment_of(file);
  std::vector<GgufTensor> tensors;
  for (; count > 0; --count) {
    if (tensors.size() == WeightFile::kMostTensors) throw WeightsNotRead("it has too many tensors");
    tensors.push_back(take_tensor(reader));
  }
  std::uint64_t begin = rounded_up(reader.at(), alignment);
  check_offsets(tensors, bytes.substr(std::min<std::uint64_t>(begin, bytes.size())), alignment);
  for (GgufTensor& t : tensors) {
    t.tensor.data = reinterpret_cast<const unsigned char*>(bytes.data()) + (t.tensor.bytes > 0 ? begin + t.offset : 0);
    file.add(std::move(t.tensor));
  }
}

}  // namespace

WeightFile read_gguf(const std::string& path) { return read_weights(path, "GGUF", parse_gguf); }

}  // namespace sink
