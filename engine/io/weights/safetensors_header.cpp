#include "engine/io/weights/safetensors_header.h"

#include <algorithm>

#include "engine/io/weights/stored_bytes.h"
#include "engine/io/weights/weight_json.h"

namespace sink {
namespace {

constexpr StoredType kSafetensorsTypes[] = {StoredType::F64, StoredType::F32, StoredType::F16, StoredType::BF16,
                                            StoredType::I64, StoredType::I32, StoredType::I16, StoredType::I8,
                                            StoredType::U8,  StoredType::Bool};

class SafetensorsEvents : public WeightJson {
 public:
  bool start_object(std::size_t) override {
    if (place_ == Place::begin) return go(Place::names);
    if (place_ != Place::names) refuse("an object");
    if (name_ == "__metadata__") {
      if (has_metadata_) throw WeightFailure("it has two `__metadata__`");
      has_metadata_ = true;
      return go(Place::metadata);
    }
    header.entries.emplace_back().name = name_;
    has_dtype_ = false;
    offsets_ = axes_ = -1;
    return go(Place::entry);
  }

  bool key(string_t& word) override {
    (place_ == Place::names ? name_ : field_) = word;
    if (place_ != Place::entry) return true;
    bool known = word == "dtype" || word == "shape" || word == "data_offsets";
    bool again = word == "dtype" ? has_dtype_ : word == "shape" ? axes_ >= 0 : offsets_ >= 0;
    if (!known || again) refuse((again ? "a second " : "") + in_quotes(word));
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::metadata) {
      header.metadata.emplace_back(field_, text);
      return true;
    }
    if (place_ != Place::entry || field_ != "dtype") refuse(in_quotes(text));
    entry().type = safetensors_type(text, name_);
    return has_dtype_ = true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::entry || field_ == "dtype") refuse("a list");
    (field_ == "shape" ? axes_ : offsets_) = 0;
    return go(field_ == "shape" ? Place::shape : Place::offsets);
  }

  bool number_unsigned(number_unsigned_t number) override {
    bool fits = place_ == Place::shape ? axes_ < Shape::kMaxRank : place_ == Place::offsets && offsets_ < 2;
    if (!fits || number >> 63 != 0) refuse(std::to_string(number));
    if (place_ == Place::shape) {
      entry().shape.append(static_cast<std::int64_t>(number));
      ++axes_;
    } else {
      (offsets_++ == 0 ? entry().begin : entry().end) = number;
    }
    return true;
  }

  bool end_array() override {
    if (place_ == Place::offsets && offsets_ != 2) refuse("one");
    return go(Place::entry);
  }

  bool end_object() override {
    if (place_ == Place::entry) finish_entry();
    return go(place_ == Place::names ? Place::end : Place::names);
  }

  SafetensorsHeader header;

 private:
  enum class Place { begin, names, metadata, entry, shape, offsets, end };

  bool go(Place place) {
    place_ = place;
    return true;
  }
  SafetensorsEntry& entry() { return header.entries.back(); }

  void finish_entry() {
    const SafetensorsEntry& e = entry();
    if (!has_dtype_ || axes_ < 0 || offsets_ < 0)
      throw WeightFailure(in_quotes(name_) + " has no " +
                          (!has_dtype_ ? "dtype"
                           : axes_ < 0 ? "shape"
                                       : "data_offsets"));
    std::uint64_t bytes = stored_bytes(name_, e.type, e.shape);
    if (e.end < e.begin || e.end - e.begin != bytes)
      throw WeightFailure(in_quotes(name_) + " is " + layout_of(e.type).name + " " + e.shape.str() + ", " +
                          std::to_string(bytes) + " bytes, and its data_offsets are [" + std::to_string(e.begin) +
                          ", " + std::to_string(e.end) + "]");
  }

  std::string where() const override { return name_; }
  const char* expected() const override {
    switch (place_) {
      case Place::begin:
        return "an object";
      case Place::names:
        return "an object for each name";
      case Place::metadata:
        return "a text for each key";
      case Place::entry:
        return "dtype (a text), shape and data_offsets (lists), once each";
      case Place::shape:
        return "at most 5 sizes below 2^63";
      default:
        return "two offsets below 2^63";
    }
  }

  Place place_ = Place::begin;
  std::string name_, field_;
  bool has_metadata_ = false, has_dtype_ = false;
  int axes_ = -1, offsets_ = -1;  // how many the entry has so far; -1: no list
};

}  // namespace

StoredType safetensors_type(std::string_view dtype, std::string_view name) {
  std::string list;
  for (StoredType type : kSafetensorsTypes) {
    if (dtype == layout_of(type).name) return type;
    list += std::string(list.empty() ? "" : " ") + layout_of(type).name;
  }
  throw WeightsNotRead(in_quotes(name) + " is of dtype " + in_quotes(dtype) + ", which is not read; expected one of " +
                       list);
}

SafetensorsHeader parse_safetensors_header(std::string_view json) {
  SafetensorsEvents events;
  events.parse(json);
  return std::move(events.header);
}

}  // namespace sink
