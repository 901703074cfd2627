#include "engine/io/weights/weight_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <optional>

#include "engine/check.h"
#include "engine/io/failed_download.h"
#include "engine/io/file.h"
#include "engine/io/str_format.h"

namespace sink {
namespace {

[[noreturn]] void refuse_pickle(const std::string& path, const std::string& folder) {
  const std::string name = "'" + printable(folder) + "'";
  throw Error(printable(path) +
                  " is a pickle of PyTorch, which can run programs and is not read; convert its folder to safetensors: "
                  "python3 -c \"from transformers import AutoModelForCausalLM as M; M.from_pretrained(" +
                  name + ").save_pretrained(" + name + ", safe_serialization=True)\"",
              Exit::corrupt_checkpoint);
}

// A base model of PEFT in whose folder its adapter is: transformers applies the adapter when it loads the folder.
[[noreturn]] void refuse_adapter(const std::string& path, const std::string& folder) {
  const std::string name = "'" + printable(folder) + "'";
  throw Error(printable(path) +
                  " is of an adapter of PEFT, which changes the weights and is not applied; merge it into them: "
                  "python3 -c \"from peft import AutoPeftModelForCausalLM as M; M.from_pretrained(" +
                  name +
                  ").merge_and_unload().save_pretrained('MERGED')\", or move it to another folder to compute the model "
                  "without it",
              Exit::corrupt_checkpoint);
}

// "-00002-of-00005" before the end of a file name: the part and how many there are.
struct PartName {
  std::string stem, end;
  std::int64_t number = 0, count = 0;

  std::string of(std::int64_t n) const {
    return stem + str_format("-%05d-of-%05d", static_cast<int>(n), static_cast<int>(count)) + end;
  }
};

std::optional<PartName> part_name(const std::string& path, const std::string& end) {
  constexpr std::size_t kLength = 15;
  if (!path.ends_with(end) || path.size() < end.size() + kLength) return std::nullopt;
  const std::size_t at = path.size() - end.size() - kLength;
  PartName name{path.substr(0, at), end};
  int number = 0, count = 0, length = 0;
  const std::string part = path.substr(at, kLength);
  if (std::sscanf(part.c_str(), "-%5d-of-%5d%n", &number, &count, &length) != 2 || number < 1 || number > count)
    return std::nullopt;
  name.number = number;
  name.count = count;
  return name.of(number) == path ? std::optional(name) : std::nullopt;
}

// model-00001-of-0000N.safetensors of a folder without an index; "" without one.
std::string first_shard_in(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator file(folder, error), last; !error && file != last; file.increment(error))
    if (const auto name = part_name(file->path().string(), ".safetensors"); name && name->stem.ends_with("model"))
      return name->of(1);
  return "";
}

void require_part(const PartName& name, std::int64_t n) {
  std::error_code ignored;
  if (!std::filesystem::exists(name.of(n), ignored))
    throw Error(printable(name.of(n)) + " is missing: the model is in " + std::to_string(name.count) +
                    " files, and all are needed in one folder",
                Exit::bad_input);
}

[[noreturn]] void refuse_part(const std::string& path, const std::string& why) {
  throw Error(printable(path) + " " + why + "; get all parts again from where they are from", Exit::corrupt_checkpoint);
}

void finish_parts(WeightFile& file) {
  try {
    file.finish();
  } catch (const WeightFailure& failure) { refuse_part(file.path(), std::string("and its parts: ") + failure.what()); }
}

WeightFile read_safetensors_parts(const PartName& name) {
  for (std::int64_t n = 1; n <= name.count; ++n) require_part(name, n);
  WeightFile file = read_safetensors(name.of(1));
  for (std::int64_t n = 2; n <= name.count; ++n) file.add(read_safetensors(name.of(n)));
  finish_parts(file);
  return file;
}

// A file that gguf-split made has `split.no` (from 0), `split.count` and the number of tensors of all. Only the first
// has the metadata of the model.
WeightFile read_gguf_parts(const std::string& path, WeightFile given) {
  auto number = [](const WeightFile& file, const char* key) {
    const MetadataValue* value = file.find_metadata(key);
    return value ? value->integer() : 0;
  };
  const std::int64_t count = number(given, "split.count");
  if (count <= 1) return given;
  const auto name = part_name(path, ".gguf");
  if (!name || name->count != count)
    refuse_part(path, "is part " + std::to_string(number(given, "split.no") + 1) + " of " + std::to_string(count) +
                          " (`split.count`), and its name does not end with -0000N-of-0000M.gguf, from which the "
                          "others are found: name them so, or join them with llama-gguf-split --merge");
  for (std::int64_t n = 1; n <= count; ++n) require_part(*name, n);
  const std::int64_t tensors = number(given, "split.tensors.count");
  WeightFile file = read_gguf(name->of(1));
  for (std::int64_t n = 1; n <= count; ++n) {
    WeightFile part = read_gguf(name->of(n));
    if (number(part, "split.no") != n - 1 || number(part, "split.count") != count ||
        number(part, "split.tensors.count") != tensors)
      refuse_part(name->of(n), "is no part " + std::to_string(n) +
                                   " of this model by its `split.no`, `split.count` and "
                                   "`split.tensors.count`");
    if (n > 1) file.add(std::move(part));
  }
  finish_parts(file);
  if (tensors != 0 && std::ssize(file.tensors()) != tensors)
    refuse_part(path, "and the other parts have " + std::to_string(file.tensors().size()) + " tensors; expected " +
                          std::to_string(tensors) + " (`split.tensors.count`)");
  return file;
}

// GGUF files that are no language model.
void require_language_model(const std::string& path, const WeightFile& file) {
  auto text = [&](const char* key) {
    const MetadataValue* value = file.find_metadata(key);
    return value && value->type == MetadataType::text ? std::string(value->text()) : "";
  };
  const std::string type = text("general.type");
  auto refuse = [&](const char* what) {
    throw Error(printable(path) + " " + what + ", not a model: expected the other .gguf of the model",
                Exit::corrupt_checkpoint);
  };
  if (type == "mmproj" || text("general.architecture") == "clip")
    refuse("is the vision or audio part of a model (mmproj)");
  if (type == "imatrix") refuse("is an importance matrix");
  if (type == "adapter") refuse("is an adapter (LoRA), which is not applied");
}

// What a server sends in the place of a file: "Entry not found".
bool is_sentence(std::string_view text) {
  return text.size() <= 1000 && !text.starts_with('{') && text.find(' ') != std::string_view::npos &&
         printable_lines(text) == text;
}

std::string weights_in(const std::string& folder) {
  std::error_code ignored;
  for (const char* name : {"adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"}) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    if (std::filesystem::exists(path, ignored)) refuse_adapter(path, folder);
  }
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"}) {
    std::string path = (std::filesystem::path(folder) / name).string();
    if (std::filesystem::exists(path, ignored)) return path;
  }
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    if (std::filesystem::exists(path, ignored)) refuse_pickle(path, folder);
  }
  if (const std::string shard = first_shard_in(folder); !shard.empty()) return shard;
  if (std::filesystem::exists(std::filesystem::path(folder) / "consolidated.safetensors", ignored))
    throw Error(printable(folder) +
                    " has consolidated.safetensors only, whose tensors have names that are not read: expected "
                    "model.safetensors, of the folder for transformers",
                Exit::bad_input);
  throw Error(printable(folder) +
                  " has no weights: expected model.safetensors or model.safetensors.index.json in it; " +
                  "name a file where it is called otherwise",
              Exit::bad_input);
}

}  // namespace

std::uint64_t stored_bytes(std::string_view name, StoredType type, const Shape& shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 48;  // elements, as of Shape
  std::int64_t elements = 1;                             // axes of size 0 count as 1
  bool empty = false;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    empty = empty || shape[axis] == 0;
    if (__builtin_mul_overflow(elements, std::max<std::int64_t>(shape[axis], 1), &elements) || elements >= kMost)
      throw WeightFailure(in_quotes(name) + " has shape " + shape.str() + ", more elements than any memory holds");
  }
  const StoredLayout& block = layout_of(type);
  if (block.elements > 1 && (shape.rank() == 0 || shape[-1] % block.elements != 0))
    throw WeightFailure(in_quotes(name) + " has shape " + shape.str() + "; expected rows of whole blocks of " +
                        std::to_string(block.elements) + ", as " + block.name + " has them");
  if (empty) return 0;
  return static_cast<std::uint64_t>(elements / block.elements) * static_cast<std::uint64_t>(block.bytes);
}

const StoredTensor* WeightFile::find(std::string_view name) const {
  auto found = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                [&](std::uint32_t i, std::string_view sought) { return tensors_[i].name < sought; });
  return found == by_name_.end() || tensors_[*found].name != name ? nullptr : &tensors_[*found];
}

const StoredTensor& WeightFile::tensor(std::string_view name) const {
  const StoredTensor* found = find(name);
  if (!found) throw Error(printable(path_) + " has no tensor " + in_quotes(name), Exit::corrupt_checkpoint);
  return *found;
}

const MetadataValue* WeightFile::find_metadata(std::string_view key) const {
  auto found = std::lower_bound(metadata_.begin(), metadata_.end(), key,
                                [](const MetadataValue& v, std::string_view sought) { return v.key < sought; });
  return found == metadata_.end() || found->key != key ? nullptr : &*found;
}

const MetadataValue& WeightFile::metadata(std::string_view key) const {
  const MetadataValue* found = find_metadata(key);
  if (!found) throw Error(printable(path_) + " does not say " + in_quotes(key), Exit::corrupt_checkpoint);
  return *found;
}

void WeightFile::add(StoredTensor tensor) {
  if (tensors_.size() == kMostTensors)
    throw WeightsNotRead("it has more than " + std::to_string(kMostTensors) + " tensors, which are not read");
  tensors_.push_back(std::move(tensor));
}

void WeightFile::add_text(std::string key, std::string text) {
  texts_.push_back(std::move(key));
  std::string_view kept_key = texts_.back();
  texts_.push_back(std::move(text));
  metadata_.push_back({kept_key, MetadataType::text, texts_.back()});
}

void WeightFile::add(WeightFile&& shard) {
  std::move(shard.maps_.begin(), shard.maps_.end(), std::back_inserter(maps_));
  for (StoredTensor& tensor : shard.tensors_) add(std::move(tensor));
}

void WeightFile::exchange(std::vector<StoredTensor> tensors, std::vector<std::unique_ptr<unsigned char[]>> owned) {
  tensors_ = std::move(tensors);
  owned_ = std::move(owned);
  finish();
}

void WeightFile::finish() {
  by_name_.resize(tensors_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  auto name = [&](std::uint32_t i) -> const std::string& { return tensors_[i].name; };
  std::sort(by_name_.begin(), by_name_.end(), [&](auto a, auto b) { return name(a) < name(b); });
  auto twice = std::adjacent_find(by_name_.begin(), by_name_.end(), [&](auto a, auto b) { return name(a) == name(b); });
  if (twice != by_name_.end()) throw WeightFailure("it has two tensors " + in_quotes(name(*twice)));
  std::sort(metadata_.begin(), metadata_.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  auto again = std::adjacent_find(metadata_.begin(), metadata_.end(),
                                  [](const auto& a, const auto& b) { return a.key == b.key; });
  if (again != metadata_.end()) throw WeightFailure("it says " + in_quotes(again->key) + " twice");
}

MappedBytes map_weights(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file < 0 && is_shortage(errno)) fail_io("open", printable(path), errno);
  struct stat about;
  if (file < 0 || ::fstat(file, &about) != 0)
    throw Error("cannot open " + printable(path) + ": " + std::strerror(errno) + "; expected a file of weights",
                Exit::bad_input);
  if (!S_ISREG(about.st_mode))
    throw Error(printable(path) + " is not a file; expected a file of weights", Exit::bad_input);
  return {file, 0, static_cast<std::size_t>(about.st_size)};
}

WeightFile read_weights(const std::string& path, const char* format,
                        void (*parse)(std::string_view bytes, WeightFile& file)) {
  WeightFile file;
  file.path_ = path;
  file.format_ = format;
  const MappedBytes& bytes = file.maps_.emplace_back(map_weights(path));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  try {
    parse(text, file);
    file.finish();
  } catch (const WeightsNotRead& failure) {
    throw Error("cannot read " + printable(path) + ": " + failure.what() + "; convert it to what is read",
                Exit::corrupt_checkpoint);
  } catch (const WeightFailure& failure) {
    if (const std::string what = failed_download(text); !what.empty())
      throw Error(printable(path) + " " + what, Exit::corrupt_checkpoint);
    if (is_sentence(text))
      throw Error(printable(path) + " holds only the text " + in_quotes(text) + ": download the file itself again",
                  Exit::corrupt_checkpoint);
    throw Error(printable(path) + " is not a usable " + format + " file: " + failure.what() +
                    "; get it again from where it is from",
                Exit::corrupt_checkpoint);
  }
  return file;
}

WeightFile open_weights(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return open_weights(weights_in(path));
  MappedBytes bytes = map_weights(path);
  std::string_view head(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 4));
  if (head == "GGUF") {
    WeightFile file = read_gguf(path);
    require_language_model(path, file);
    return read_gguf_parts(path, std::move(file));
  }
  if (head.starts_with("PK") || head.starts_with("\x80\x02"))
    refuse_pickle(path, std::filesystem::absolute(path, ignored).parent_path().string());
  if (path.ends_with(".json")) return read_sharded_safetensors(path);
  if (path.ends_with(".bin")) return read_llama2c(path);
  if (path.ends_with(".gguf")) return read_gguf(path);  // its error names the first bytes
  if (const auto name = part_name(path, ".safetensors")) return read_safetensors_parts(*name);
  return read_safetensors(path);
}

}  // namespace sink
