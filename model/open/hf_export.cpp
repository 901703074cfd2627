#include "model/open/hf_export.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "engine/check.h"
#include "engine/io/file.h"
#include "engine/io/temporary_name.h"
#include "engine/io/weights/safetensors_writer.h"
#include "model/open/name_tables.h"
#include "model/open/tensor_names.h"
#include "model/size_settings.h"

namespace sink {
namespace {

namespace fs = std::filesystem;

OpenConfig config_of_sizes(const std::string& policies, const Sizes& sizes) {
  const std::string family = family_of_policies(policies);
  OpenConfig config{.family = family, .sizes = sizes_of_family(family, sizes)};
  config.origin = &written_family(config);
  config.names = &config.origin->names;
  if (config.origin->scaled_embedding) config.embedding_scale = std::sqrt(static_cast<double>(sizes.width));
  config.gain_less = config.origin->gains_less_one;
  return config;
}

OpenConfig config_of(const Ablation& ablation, const Sizes& sizes) {
  if (family_of_policies(ablation.policies).empty())
    throw Error("export: Hugging Face's transformers has no model of the policies of `" + ablation.name + "` (" +
                    ablation.policies + "); it has those of " + family_names(),
                Exit::usage);
  if (sizes.delta_alternating)
    throw Error(
        "export: the order of heads that GGUF files have in gated delta rules is not written; use the folder "
        "that the file was made of",
        Exit::usage);
  if (!sizes.long_rope.short_E.empty())
    throw Error("export: the factors of YaRN and LongRoPE are not written; use the file of the model itself",
                Exit::usage);
  return config_of_sizes(ablation.policies, sizes);
}

bool is_same(const Setting<Sizes>& size, const Sizes& wanted, const Sizes& written) {
  const std::string wants = plain_text(size.value(wanted)), has = plain_text(size.value(written));
  return wants == has || std::abs(std::stod(wants) - std::stod(has)) <= 1e-12 * std::abs(std::stod(wants));
}

std::string option_and_value(const Setting<Sizes>& size, const Sizes& sizes) {
  return "`" + size.option() + " " + plain_text(size.value(sizes)) + "`";
}

// A size without which the class that is chosen has `size`, too; empty: there is none.
std::string not_together_with(const Setting<Sizes>& size, const std::string& policies, const Sizes& wanted,
                              const std::function<Sizes(const OpenConfig&)>& written) {
  for (const Setting<Sizes>& other : size_settings()) {
    Sizes without = wanted;
    try {
      other.set(without, plain_text(other.value(Sizes{})), "");
      without = sizes_of_family(family_of_policies(policies), without);
      if (other.flag != size.flag && !is_same(other, wanted, without) && is_same(size, wanted, without) &&
          is_same(size, wanted, written(config_of_sizes(policies, without))))
        return option_and_value(other, wanted);
    } catch (const Error&) {}  // no model without this size
  }
  return "";
}

// Throws for different sizes, naming one that the class in transformers has no key for. `written`: the sizes in the
// config.json of a model.
void require_same_sizes_there(const OpenConfig& config, const std::string& policies,
                              const std::function<Sizes(const OpenConfig&)>& written) {
  const Sizes there = written(config);
  for (const Setting<Sizes>& size : size_settings()) {
    if (is_same(size, config.sizes, there)) continue;
    const std::string wanted = option_and_value(size, config.sizes);
    const std::string other = not_together_with(size, policies, config.sizes, written);
    throw Error("export: no class of Hugging Face's transformers for the family `" + config.family + "` has " + wanted +
                    (other.empty() ? "; there it would be " + plain_text(size.value(there))
                                   : " together with " + other + "; each of them alone has one"),
                Exit::usage);
  }
  for (std::int64_t layer = 0; layer < there.layers; ++layer)
    if (there.is_global(layer) != config.sizes.is_global(layer) || there.rotates(layer) != config.sizes.rotates(layer))
      throw Error("export: no class of Hugging Face's transformers for the family `" + config.family +
                      "` has the layers of this model that have a window or rotary positions",
                  Exit::usage);
}

// y with y * scale == x in F32, or else the nearest y.
float divided(float x, double scale) {
  const auto times = static_cast<float>(scale);
  const float y = x / times;
  for (const float candidate : {y, std::nextafter(y, -INFINITY), std::nextafter(y, INFINITY)})
    if (candidate * times == x) return candidate;
  return y;
}
// For an embedding multiplied in double, whose error is less than half a unit of F32.
float divided(double x, double scale) { return static_cast<float>(x / scale); }

// A tensor of the export, and what it holds of a parameter: `rows` rows, `step` apart, from their column `column` on.
struct Exported {
  const Parameter* parameter;
  TensorPlace place;
  std::int64_t first, rows, step = 1, column = 0, column_count = 0;  // 0: all columns
  const Parameter* gates = nullptr;                                  // of queries: the rows after those of each head

  std::int64_t row_length() const { return parameter->info().shape.rank() == 1 ? 1 : parameter->info().shape[1]; }
  std::int64_t columns() const { return column_count > 0 ? column_count : row_length(); }
  Shape shape(const OpenConfig& config) const {
    const std::int64_t E = config.sizes.experts;
    if (place.experts == ExpertAxis::columns)
      return place.transposed ? Shape{E, columns() / E, rows} : Shape{E, rows, columns() / E};
    if (parameter->info().shape.rank() == 1)
      return place.experts == ExpertAxis::rows ? Shape{E, rows / E} : Shape{rows};
    if (place.experts == ExpertAxis::rows)
      return place.transposed ? Shape{E, columns(), rows / E} : Shape{E, rows / E, columns()};
    if (gates) return {2 * rows, columns()};
    if (parameter->name().ends_with(".delta.convolution.weight")) return {rows, 1, columns()};
    return place.transposed ? Shape{columns(), rows} : Shape{rows + place.first_row, columns()};
  }
  std::vector<float> numbers(const OpenConfig& config) const {
    const Tensor master = parameter->master().to(Device::cpu);
    std::vector<float> theirs = with_real<float, double>(
        master.dtype(), [&](auto zero) { return numbers(config, master.data<decltype(zero)>()); });
    if (!gates) return theirs;
    const std::vector<float> others =
        Exported{gates, {.name = place.name, .order = RowOrder::gates}, 0, rows}.numbers(config);
    std::ranges::transform(theirs, others, theirs.begin(), std::plus());  // each is zero in the rows of the other
    return theirs;
  }
  template <class R>
  std::vector<float> numbers(const OpenConfig& config, const R* master) const {
    const std::int64_t K = columns();
    const std::int64_t stored = is_with_others(place.order) ? 2 * rows : rows + place.first_row;
    std::vector<float> theirs(static_cast<std::size_t>(stored * K));
    const bool scaled = parameter->name() == "embedding.token.weight" && config.embedding_scale != 1;
    const R less = static_cast<R>(gain_less(config, parameter->info()));
    // The rows of each stacked, transposed matrix, and the columns of each that is not transposed.
    const std::int64_t height = place.experts == ExpertAxis::rows ? rows / config.sizes.experts : rows;
    const std::int64_t width = place.experts == ExpertAxis::columns ? K / config.sizes.experts : K;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t row = row_in(place.order, r, config.sizes) + place.first_row;
      const R* ours = master + (first + r * step) * row_length() + column;
      for (std::int64_t k = 0; k < K; ++k) {
        const R x = ours[k];
        theirs[static_cast<std::size_t>(place.transposed ? (r / height * K + k) * height + r % height
                                                         : (k / width * rows + row) * width + k % width)] =
            scaled ? divided(x, config.embedding_scale) : static_cast<float>(x - less);
      }
    }
    return theirs;
  }
};

// The full name in transformers.
std::string whole_name(const OpenConfig& config, const std::string& name) {
  const std::vector<TensorPlace> head = places_of(config, "unembedding.weight");
  return !head.empty() && name == head[0].name ? name : config.names->prefix + name;
}

// Throws unless a parameter that the class does not have is what it is there, or is `same`, whose tensor it reads.
void require_not_needed(const OpenConfig& config, const Parameter& parameter, const Parameter* same) {
  const double there = value_left_out(config, parameter.name());
  for (std::int64_t n = 0; n < parameter.info().shape.size(); ++n)
    if (parameter.master().item(n) != (same ? same->master().item(n) : there))
      throw Error("export: " + config.origin->keys.classes[0] + " of Hugging Face's transformers has no " +
                      parameter.name() + ", which must be " +
                      (same         ? same->name()
                       : there == 0 ? "zero"
                                    : "one"),
                  Exit::usage);
}

std::vector<Exported> exported(const OpenConfig& config, const LanguageModel& model) {
  std::vector<Exported> all;
  const auto experts = static_cast<std::size_t>(config.sizes.experts);
  for (const auto& parameter : model.parameters()) {
    const std::vector<TensorPlace> places = places_of(config, parameter->name());
    const auto same = std::ranges::find_if(
        all, [&](const Exported& one) { return !places.empty() && one.place.name == places[0].name; });
    if (same != all.end() && places[0].order == RowOrder::gates) {
      same->gates = parameter.get();
      continue;
    }
    if (same != all.end() || is_left_out(config, parameter->name())) {
      require_not_needed(config, *parameter, same == all.end() ? nullptr : same->parameter);
      continue;
    }
    SINK_CHECK(!places.empty(), "export", config.family + " has no name for " + parameter->name());
    std::int64_t first = 0;
    for (std::size_t n = 0; n < places.size(); ++n) {
      const std::int64_t rows = rows_of_tensor(n, places, parameter->info().shape[0], config.sizes);
      Exported one{parameter.get(), places[n], first, rows};
      const auto e = static_cast<std::int64_t>(n % std::max<std::size_t>(1, experts));
      if (places[n].order == RowOrder::alternating)  // gates of all experts before ups
        one.first = e * 2 * rows + static_cast<std::int64_t>(n / experts), one.step = 2;
      if (places[n].experts == ExpertAxis::tensors) {
        one.column_count = parameter->info().shape[1] / config.sizes.experts;
        one.column = e * one.column_count, one.first = 0;
      }
      all.push_back(one);
      first += rows;
    }
  }
  return all;
}

// Removes one of embedding and unembedding if they are equal up to the embedding scale. Returns whether they are tied.
bool tie(const OpenConfig& config, std::vector<Exported>& all) {
  Exported *embedding = nullptr, *unembedding = nullptr;
  for (Exported& one : all) {
    if (one.parameter->name() == "embedding.token.weight") embedding = &one;
    if (one.parameter->name() == "unembedding.weight") unembedding = &one;
  }
  if (!unembedding) return true;
  const Tensor looked_up = embedding->parameter->master().to(Device::cpu);
  const Tensor multiplied = unembedding->parameter->master().to(Device::cpu);
  const bool same = with_real<float, double>(looked_up.dtype(), [&](auto zero) {
    using R = decltype(zero);
    for (std::int64_t n = 0; n < looked_up.size(); ++n)
      if (multiplied.data<R>()[n] * static_cast<R>(config.embedding_scale) != looked_up.data<R>()[n]) return false;
    return true;
  });
  if (!same) return false;
  unembedding->place.name = embedding->place.name;
  all.erase(all.begin() + (embedding - all.data()));
  return true;
}

void write_weights(const std::string& path, const OpenConfig& config, const std::vector<Exported>& all) {
  std::vector<SafetensorsWriter::Entry> entries;
  for (const Exported& one : all)
    entries.push_back({whole_name(config, one.place.name), StoredType::F32, one.shape(config)});
  SafetensorsWriter writer(path, entries, {{"format", "pt"}});
  for (const Exported& one : all) {
    const std::vector<float> numbers = one.numbers(config);
    writer.write(numbers.data(), numbers.size() * sizeof(float));
  }
  writer.commit();
}

// A temporary folder that commit() renames; removed without commit().
class NewFolder {
 public:
  explicit NewFolder(const std::string& path) {
    if (path.empty())
      throw Error("export: the folder has no name; give one to make, such as runs/first/hugging_face", Exit::usage);
    path_ = fs::absolute(path).lexically_normal().string();
    while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
    std::error_code failed;
    if (fs::exists(fs::symlink_status(path_, failed)))
      throw Error("export: " + path + " is there already; give another folder, or remove it", Exit::usage);
    remove_orphans(path_);
    temporary_ = temporary_name(path_);
    if (!fs::create_directory(temporary_, failed)) fail_io("make the folder", temporary_, failed.value());
  }
  ~NewFolder() {
    std::error_code ignored;
    if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  std::string operator/(const char* name) const { return temporary_ + "/" + name; }
  // The files have been flushed before.
  void commit() {
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_io("make the folder", path_, errno);
    temporary_.clear();
    sync_folder(path_);
  }

 private:
  std::string path_, temporary_;
};

// transformers 4 gives a ByteLevel that is the only pre-tokenizer the `add_prefix_space` of this file.
std::string tokenizer_config(const std::string& tokenizer_json) {
  nlohmann::json config{{"tokenizer_class", "PreTrainedTokenizerFast"}};
  const nlohmann::json tokenizer = nlohmann::json::parse(tokenizer_json, nullptr, false);
  const nlohmann::json step = tokenizer.is_object() ? tokenizer.value("pre_tokenizer", nlohmann::json()) : tokenizer;
  if (step.is_object() && step.value("add_prefix_space", nlohmann::json()) == true) config["add_prefix_space"] = true;
  return config.dump() + "\n";
}

}  // namespace

DType export_type(const Ablation& ablation) {
  const std::string family = family_of_policies(ablation.policies);
  return !family.empty() && family_of_ablation(family).gains_less_one ? DType::F64 : DType::F32;
}

void export_hf(const Ablation& ablation, const LanguageModel& model, const ExportedTokenizer& tokenizer,
               const std::string& folder) {
  const OpenConfig config = config_of(ablation, model.sizes());
  std::vector<Exported> all = exported(config, model);
  const bool tied = tie(config, all);
  NewFolder out(folder);
  auto written = [&](const OpenConfig& of) {
    write_file_atomically(out / "config.json", hf_config_json(of, tied, tokenizer.begin_token, tokenizer.end_tokens));
    const OpenConfig there = read_hf_config(out / "config.json");
    SINK_CHECK(there.family == of.family, "export", of.family + " became " + there.family);
    return sizes_of_family(there.family, there.sizes);
  };
  require_same_sizes_there(config, ablation.policies, written);
  if (!tokenizer.json.empty()) {
    write_file_atomically(out / "tokenizer.json", tokenizer.json);
    write_file_atomically(out / "tokenizer_config.json", tokenizer_config(tokenizer.json));
  }
  write_file_atomically(out / "transformer_lens_adapter.py", carried_text("transformer_lens_adapter.py"));
  write_weights(out / "model.safetensors", config, all);
  out.commit();
}

}  // namespace sink
