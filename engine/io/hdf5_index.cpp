#include "engine/io/hdf5_index.h"

#include <algorithm>
#include <cstring>

#include "engine/io/child_report.h"

namespace sink {
namespace {

// The report: integers as eight bytes, texts as their length and bytes. First 1 and the index, or 0 and the error.
class Writer {
 public:
  void number(std::uint64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(const std::string& text) {
    number(text.size());
    bytes_ += text;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

[[noreturn]] void refuse_report() { throw Hdf5Failure("the process that lists HDF5 files gave an invalid report"); }

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  // At most `most`.
  std::uint64_t number(std::uint64_t most) {
    std::uint64_t value = 0;
    if (rest_.size() < sizeof value) refuse_report();
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    if (value > most) refuse_report();
    return value;
  }
  std::string text() {
    std::uint64_t size = number(rest_.size());
    if (size > rest_.size()) refuse_report();
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  std::size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
};

std::string without_padding(std::string text) {
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

Hdf5Dataset decode_dataset(Reader& from) {
  constexpr std::uint64_t kAny = ~std::uint64_t{0}, kLargestSize = std::uint64_t{1} << 62;
  Hdf5Dataset d;
  d.path = from.text();
  d.axes = without_padding(from.text());
  d.problem = from.text();
  d.kind = static_cast<Hdf5Kind>(from.number(static_cast<std::uint64_t>(Hdf5Kind::text)));
  d.is_signed = from.number(1) != 0;
  d.big_endian = from.number(1) != 0;
  d.element_bytes = from.number(kAny);
  d.offset = from.number(kAny);
  for (std::uint64_t rank = from.number(Shape::kMaxRank); rank > 0; --rank)
    d.shape.append(static_cast<std::int64_t>(from.number(kLargestSize)));
  return d;
}

// Whether the file contains the whole dataset. Forms no product that could overflow.
bool fits(const Hdf5Dataset& d, std::uint64_t file_bytes) {
  if (d.element_bytes < 1 || d.element_bytes > file_bytes) return false;
  std::uint64_t elements_left = file_bytes / d.element_bytes;
  for (int axis = 0; axis < d.shape.rank(); ++axis) {
    auto size = static_cast<std::uint64_t>(d.shape[axis]);
    if (size > elements_left) return false;
    if (size > 0) elements_left /= size;
  }
  return d.bytes() == 0 || (d.offset <= file_bytes && d.bytes() <= file_bytes - d.offset);
}

// No two datasets overlap, so that together they need no more memory than the file is long.
void require_disjoint(const std::vector<Hdf5Dataset>& datasets) {
  std::vector<const Hdf5Dataset*> stored;
  for (const Hdf5Dataset& d : datasets) {
    if (d.problem.empty() && d.bytes() > 0) stored.push_back(&d);
  }
  std::sort(stored.begin(), stored.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
  for (std::size_t i = 1; i < stored.size(); ++i) {
    const Hdf5Dataset &before = *stored[i - 1], &d = *stored[i];
    if (d.offset < before.offset + before.bytes())
      throw Hdf5Failure(before.path + " and " + d.path + " share their bytes; each needs data of its own");
  }
}

}  // namespace

std::uint64_t Hdf5Dataset::bytes() const { return element_bytes * static_cast<std::uint64_t>(shape.size()); }

std::string Hdf5Dataset::type_name() const {
  if (kind == Hdf5Kind::text) return "text";
  if (kind == Hdf5Kind::other) return "of another type";
  std::string letter = kind == Hdf5Kind::real ? "f" : is_signed ? "i" : "u";
  return (big_endian ? "big-endian " : "") + letter + std::to_string(8 * element_bytes);
}

std::string encode_hdf5_index(const Hdf5Index& index) {
  Writer to;
  to.number(1);
  to.number(index.attributes.size());
  for (const Hdf5Attribute& a : index.attributes) {
    for (const std::string* text : {&a.name, &a.text, &a.problem}) to.text(*text);
  }
  to.number(index.datasets.size());
  for (const Hdf5Dataset& d : index.datasets) {
    for (const std::string* text : {&d.path, &d.axes, &d.problem}) to.text(*text);
    to.number(static_cast<std::uint64_t>(d.kind));
    to.number(d.is_signed);
    to.number(d.big_endian);
    to.number(d.element_bytes);
    to.number(d.offset);
    to.number(static_cast<std::uint64_t>(d.shape.rank()));
    for (int axis = 0; axis < d.shape.rank(); ++axis) to.number(static_cast<std::uint64_t>(d.shape[axis]));
  }
  return to.take();
}

Hdf5Index decode_hdf5_index(std::string_view report, std::uint64_t file_bytes) {
  Reader from(report);
  if (from.number(1) == 0) throw Hdf5Failure(from.text());
  Hdf5Index index;
  for (std::uint64_t count = from.number(from.left()); count > 0; --count) {
    Hdf5Attribute& a = index.attributes.emplace_back();
    a.name = from.text();
    a.text = without_padding(from.text());
    a.problem = from.text();
  }
  for (std::uint64_t count = from.number(from.left()); count > 0; --count) {
    Hdf5Dataset& d = index.datasets.emplace_back(decode_dataset(from));
    if (d.problem.empty() && !fits(d, file_bytes)) d.problem = "claims to be larger than the file";
  }
  if (from.left() > 0) refuse_report();
  std::sort(index.datasets.begin(), index.datasets.end(), [](auto& a, auto& b) { return a.path < b.path; });
  for (std::size_t i = 1; i < index.datasets.size(); ++i) {
    if (index.datasets[i].path == index.datasets[i - 1].path)
      throw Hdf5Failure("it has two datasets named " + index.datasets[i].path);
  }
  require_disjoint(index.datasets);
  return index;
}

Hdf5Index read_hdf5_index(std::string_view file) {
  ChildReport report = report_of_child([&] {
    try {
      return encode_hdf5_index(walk_hdf5(file));
    } catch (const Hdf5Failure& failure) {
      Writer to;
      to.number(0);
      to.text(failure.what());
      return to.take();
    }
  });
  if (!report.failure.empty()) throw Hdf5Failure("the HDF5 library cannot read it: " + report.failure);
  return decode_hdf5_index(report.bytes, file.size());
}

}  // namespace sink
