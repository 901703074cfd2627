#include "engine/io/hdf5_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>

#include "engine/io/file.h"

namespace sink {
namespace {

static_assert(std::endian::native == std::endian::little, "values are copied without swapping bytes");

FileDescriptor open_file(const std::string& path) {
  FileDescriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (descriptor < 0 && is_shortage(errno)) fail_io("open", path, errno);
  if (descriptor < 0) throw Hdf5Failure(std::string("cannot open it: ") + std::strerror(errno));
  return descriptor;
}

Hdf5Index index_of(int descriptor) {
  struct stat about;
  if (::fstat(descriptor, &about) != 0) throw Hdf5Failure(std::string("cannot measure it: ") + std::strerror(errno));
  if (!S_ISREG(about.st_mode)) throw Hdf5Failure("it is not a file");
  const MappedBytes bytes(descriptor, 0, static_cast<std::size_t>(about.st_size));
  return read_hdf5_index({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Decodes a whole number of any width; false where it does not fit 32 bits.
bool whole_number(const unsigned char* from, const Hdf5Dataset& type, std::int32_t& to) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < type.element_bytes; ++i) {
    std::size_t place = type.big_endian ? i : type.element_bytes - 1 - i;
    bits = bits << 8 | from[place];
  }
  int unused = 64 - 8 * static_cast<int>(type.element_bytes);
  auto as_signed = static_cast<std::int64_t>(bits << unused) >> unused;
  constexpr std::int64_t kLeast = std::numeric_limits<std::int32_t>::min(),
                         kMost = std::numeric_limits<std::int32_t>::max();
  if (type.is_signed ? as_signed < kLeast || as_signed > kMost : bits > static_cast<std::uint64_t>(kMost)) return false;
  to = static_cast<std::int32_t>(type.is_signed ? as_signed : static_cast<std::int64_t>(bits));
  return true;
}

}  // namespace

Hdf5Reader::Hdf5Reader(FileDescriptor descriptor) : descriptor_(std::move(descriptor)), index_(index_of(descriptor_)) {}

Hdf5Reader::Hdf5Reader(const std::string& path) : Hdf5Reader(open_file(path)) {}

void Hdf5Reader::read(std::uint64_t offset, void* data, std::size_t bytes) const {
  int error = 0;
  const std::size_t got = read_at(descriptor_, offset, data, bytes, error);
  if (error) throw Hdf5Failure(std::string("cannot read it: ") + std::strerror(error));
  if (got < bytes) throw Hdf5Failure("it became shorter while it was read");
}

const Hdf5Dataset& Hdf5Reader::dataset(const std::string& path) const {
  auto found = std::lower_bound(index_.datasets.begin(), index_.datasets.end(), path,
                                [](const Hdf5Dataset& d, const std::string& name) { return d.path < name; });
  if (found == index_.datasets.end() || found->path != path) throw Hdf5Failure("there is no dataset " + path);
  if (!found->problem.empty()) throw Hdf5Failure(path + " " + found->problem);
  return *found;
}

std::vector<std::pair<std::string, std::string>> Hdf5Reader::text_attributes() const {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const Hdf5Attribute& a : index_.attributes) {
    if (!a.problem.empty()) throw Hdf5Failure("attribute " + a.name + " " + a.problem);
    texts.emplace_back(a.name, a.text);
  }
  return texts;
}

std::vector<std::string> Hdf5Reader::dataset_paths() const {
  std::vector<std::string> paths;
  for (const Hdf5Dataset& d : index_.datasets) paths.push_back(d.path);
  return paths;
}

std::string Hdf5Reader::text(const std::string& path) const {
  const Hdf5Dataset& d = dataset(path);
  if (d.kind != Hdf5Kind::text || d.shape.size() != 1) throw Hdf5Failure(path + " is not one text of fixed length");
  std::string text(d.bytes(), '\0');
  read(d.offset, text.data(), text.size());
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

Tensor Hdf5Reader::tensor(const std::string& path) const {
  const Hdf5Dataset& d = dataset(path);
  if (d.kind != Hdf5Kind::real || d.big_endian)
    throw Hdf5Failure(path + " is " + d.type_name() + "; expected little-endian f32 or f64");
  Tensor tensor = Tensor::empty(d.shape, d.element_bytes == 8 ? DType::F64 : DType::F32);
  read(d.offset, tensor.raw(), d.bytes());
  return tensor;
}

Tensor Hdf5Reader::integers(const std::string& path) const {
  const Hdf5Dataset& d = dataset(path);
  if (d.kind != Hdf5Kind::integer) throw Hdf5Failure(path + " is " + d.type_name() + "; expected integers");
  Tensor tensor = Tensor::empty(d.shape, DType::I32);
  constexpr std::int64_t kPiece = 1 << 17;  // elements
  std::vector<unsigned char> bytes(static_cast<std::size_t>(std::min(kPiece, tensor.size())) * d.element_bytes);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    std::int64_t in_piece = i % kPiece;
    if (in_piece == 0) {
      auto count = static_cast<std::uint64_t>(std::min(kPiece, tensor.size() - i));
      read(d.offset + static_cast<std::uint64_t>(i) * d.element_bytes, bytes.data(), count * d.element_bytes);
    }
    const unsigned char* from = bytes.data() + static_cast<std::uint64_t>(in_piece) * d.element_bytes;
    if (!whole_number(from, d, tensor.data<std::int32_t>()[i]))
      throw Hdf5Failure(path + ": number " + std::to_string(i + 1) + " does not fit 32 bits");
  }
  return tensor;
}

MappedBytes Hdf5Reader::mapped_ids(const std::string& path, std::uint64_t& width) const {
  const Hdf5Dataset& d = dataset(path);
  bool is_list = d.kind == Hdf5Kind::integer && !d.big_endian && d.shape.rank() == 1;
  if (!is_list || d.is_signed || (d.element_bytes != 2 && d.element_bytes != 4))
    throw Hdf5Failure(path + " is " + d.type_name() + " " + d.shape.str() + "; expected a list of u16 or u32");
  width = d.element_bytes;
  return {descriptor_, d.offset, d.bytes()};
}

std::string Hdf5Reader::axes(const std::string& path) const { return dataset(path).axes; }

}  // namespace sink
