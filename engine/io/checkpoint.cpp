#include "engine/io/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "engine/io/file.h"
#include "engine/io/hdf5_file.h"
#include "engine/io/hdf5_reader.h"
#include "engine/io/parse_number.h"
#include "engine/io/printable.h"
#include "engine/io/utf8.h"

namespace sink {
namespace {

constexpr const char* kFormat = "format";
constexpr const char* kFormatName = "sinklab-checkpoint";
constexpr const char* kTexts = "texts/";
constexpr std::size_t kLongestAttribute = 60000;

bool all_finite(const Tensor& tensor) {
  return with_real(tensor.dtype(), [&](auto zero) {
    using R = decltype(zero);
    const R* values = tensor.data<R>();
    return std::all_of(values, values + tensor.size(), [](R x) { return std::isfinite(static_cast<double>(x)); });
  });
}

// HDF5 would treat "a//b" and "a/./b" as "a/b".
bool is_path(const std::string& path) {
  std::string part;
  std::istringstream parts(path + "/");
  while (std::getline(parts, part, '/')) {
    if (part.empty() || part == "." || part == ".." || part.find('\0') != std::string::npos) return false;
  }
  return true;
}

void check_contents(const Checkpoint& checkpoint) {
  for (const auto& [name, text] : checkpoint.attributes) {
    SINK_CHECK(!name.empty() && name.size() < 256 && name != kFormat && name.find('/') == std::string::npos,
               "checkpoint", "`" + name + "` cannot be the name of an attribute");
    SINK_CHECK(text.find('\0') == std::string::npos, "checkpoint", "attribute " + name + " holds a zero byte");
  }
  for (const auto& [path, tensor] : checkpoint.tensors) {
    SINK_CHECK(is_path(path) && !path.starts_with(kTexts), "checkpoint", "`" + path + "` cannot name a tensor");
    SINK_CHECK(tensor.defined() && (tensor.dtype() == DType::F32 || tensor.dtype() == DType::F64), "checkpoint",
               path + " must be f32 or f64, got " + tensor.str());
    if (!all_finite(tensor)) {
      throw Error(path + " holds NaN or infinity; no checkpoint was written and an older one stays as it was",
                  Exit::diverged);
    }
  }
}

// So that equal contents are equal bytes.
std::vector<std::pair<std::string, Tensor>> sorted(std::vector<std::pair<std::string, Tensor>> tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return tensors;
}

void fill(Hdf5Image& image, const Checkpoint& checkpoint) {
  image.add_text_attribute(kFormat, kFormatName);
  for (const auto& [name, text] : checkpoint.attributes) {
    if (text.size() <= kLongestAttribute)
      image.add_text_attribute(name, text);
    else
      image.add_text(kTexts + name, text);
  }
  for (const auto& [path, tensor] : sorted(checkpoint.tensors)) {
    auto axes = checkpoint.axes.find(path);
    image.add_tensor(path, tensor, axes == checkpoint.axes.end() ? "" : axes->second);
  }
}

Checkpoint read(const std::string& path, FileDescriptor descriptor) {
  Hdf5Reader file(std::move(descriptor));
  Checkpoint checkpoint;
  checkpoint.path = path;
  for (auto& [name, text] : file.text_attributes()) checkpoint.attributes[name] = std::move(text);
  if (checkpoint.attributes[kFormat] != kFormatName) {
    throw Hdf5Failure(std::string("expected the attribute `format` to be ") + kFormatName + ", got " +
                      in_quotes(checkpoint.attributes[kFormat]));
  }
  checkpoint.attributes.erase(kFormat);
  for (const std::string& name : file.dataset_paths()) {
    if (name.starts_with(kTexts)) {
      checkpoint.attributes[name.substr(std::string(kTexts).size())] = file.text(name);
      continue;
    }
    Tensor tensor = file.tensor(name);
    if (!all_finite(tensor)) throw Hdf5Failure(name + " holds NaN or infinity");
    if (std::string axes = file.axes(name); !axes.empty()) checkpoint.axes[name] = axes;
    checkpoint.tensors.emplace_back(name, tensor);
  }
  return checkpoint;
}

// Of an attribute, which may have the length of the file.
std::string beginning(const std::string& text) {
  constexpr std::size_t kMost = 500;  // of policies that exist, all
  return text.size() <= kMost ? text : std::string(utf8_prefix(text, kMost)) + "...";
}

[[noreturn]] void refuse(const Checkpoint& checkpoint, const std::string& why) {
  throw Error((checkpoint.path.empty() ? "the checkpoint" : checkpoint.path) + " " + why, Exit::corrupt_checkpoint);
}

// The words of `of` that `other` lacks, such as "attention=Sigmoid".
std::string differing(const std::string& of, const std::string& other) {
  std::istringstream words(of);
  std::string word, result;
  while (words >> word) {
    if ((" " + other + " ").find(" " + word + " ") == std::string::npos) result += (result.empty() ? "" : " ") + word;
  }
  return beginning(result.empty() ? of : result);
}

}  // namespace

const std::string& Checkpoint::attribute(const std::string& name) const {
  auto found = attributes.find(name);
  if (found == attributes.end()) refuse(*this, "has no attribute `" + name + "`");
  return found->second;
}

std::int64_t Checkpoint::integer(const std::string& name) const {
  const std::string& text = attribute(name);
  const std::optional<std::int64_t> value = parse_number<std::int64_t>(text);
  if (!value) refuse(*this, "has `" + name + "` = " + in_quotes(text) + "; expected a whole number");
  return *value;
}

double Checkpoint::real(const std::string& name) const {
  const std::string& text = attribute(name);
  const std::optional<double> value = parse_number<double>(text);
  if (!value) refuse(*this, "has `" + name + "` = " + in_quotes(text) + "; expected a number");
  return *value;
}

const Tensor& Checkpoint::tensor(const std::string& name) const {
  for (const auto& [candidate, tensor] : tensors) {
    if (candidate == name) return tensor;
  }
  refuse(*this, "has no tensor " + name);
}

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  check_contents(checkpoint);
  try {
    Hdf5Image image(kChecksumHeaderBytes);
    fill(image, checkpoint);
    auto [bytes, size] = image.bytes();
    std::string header =
        make_checksum_header(kCheckpointFormat, bytes + kChecksumHeaderBytes, size - kChecksumHeaderBytes);

    OutputFile file(path, size);
    file.write(header.data(), header.size());
    file.write(bytes + kChecksumHeaderBytes, size - kChecksumHeaderBytes);
    file.close();
    if (!file.temporary().empty()) verify_checksum(kCheckpointFormat, file.temporary());
    file.commit();
  } catch (const Hdf5Failure& failure) {
    throw Error("cannot write " + path + ": " + failure.what(), Exit::io);
  } catch (const Error& error) {
    if (error.code != Exit::corrupt_checkpoint) throw;
    throw Error("cannot write " + path + ": what the disk gave back is not what was written (" + error.what() + ")",
                Exit::io);
  }
}

Checkpoint load_checkpoint(const std::string& path) {
  VerifiedFile file = verify_checksum(kCheckpointFormat, path);
  try {
    return read(path, std::move(file.descriptor));
  } catch (const Hdf5Failure& failure) {
    throw Error(path + " is not a usable checkpoint: " + failure.what(), Exit::corrupt_checkpoint);
  }
}

void require_policy(const Checkpoint& checkpoint, const std::string& ablation, const std::string& policies,
                    const std::string& program) {
  const std::string& its_policies = checkpoint.attribute("policies");
  if (its_policies == policies) return;
  const std::string its_ablation = beginning(checkpoint.attribute("ablation"));
  std::string why = "was made by train_" + its_ablation + " (" + differing(its_policies, policies) + "); this is " +
                    program + " (" + differing(policies, its_policies) + "): ";
  if (its_ablation == ablation)
    refuse(checkpoint, why + "the ablation has changed since; build the commit that made it");
  refuse(checkpoint, why + "run train_" + its_ablation + " / eval_" + its_ablation + " instead");
}

}  // namespace sink
