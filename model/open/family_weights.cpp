// The weights of a model of another program as a WeightSource.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "autograd/parameter_arena.h"
#include "engine/check.h"
#include "engine/io/printable.h"
#include "engine/io/weights/weight_file.h"
#include "engine/stored/stored_type.h"
#include "model/open/open_config.h"
#include "model/open/open_model.h"
#include "model/open/stored_values.h"
#include "model/open/tensor_names.h"

namespace sink {
namespace {

// Prefixes that files may put before the names in the tables.
constexpr const char* kPrefixes[] = {
    "", "model.", "transformer.", "gpt_neox.", "language_model.model.", "model.language_model.", "language_model."};

const StoredTensor* find(const WeightFile& file, const std::string& name) {
  for (const char* prefix : kPrefixes)
    if (const StoredTensor* tensor = file.find(prefix + name)) return tensor;
  return nullptr;
}

// The tensor of the unembedding. Some files of GPT-2 and OPT have one, though these families have no parameter for it.
std::string head_name(const OpenConfig& config) {
  const std::vector<TensorPlace> places = places_of(config, "unembedding.weight");
  return places.empty() ? "lm_head.weight" : places[0].name;
}

// The shape of a tensor without its axis of E experts: of the matrix of one expert, or, for vectors and where experts
// are columns of one matrix, of all experts together. Rank 0 if the tensor has no such axis.
Shape without_experts(const Shape& shape, const TensorPlace& place, std::int64_t E, bool vector) {
  if (place.experts == ExpertAxis::none) return shape;
  if (place.experts == ExpertAxis::tensors) return shape.rank() == 2 ? Shape{shape[0], E * shape[1]} : Shape{};
  if (shape.rank() != (vector ? 2 : 3) || shape[0] != E) return {};
  if (vector) return {E * shape[1]};
  if (place.experts == ExpertAxis::rows) return {shape[1], shape[2]};
  return place.transposed ? Shape{E * shape[1], shape[2]} : Shape{shape[1], E * shape[2]};
}

bool is_plain(StoredType type) {
  return type == StoredType::F64 || type == StoredType::F32 || type == StoredType::F16 || type == StoredType::BF16;
}

// Where the rows of a parameter are in one tensor.
struct RowLayout {
  std::int64_t matrices;  // 1, or as many as there are experts where their rows are stacked
  std::int64_t rows;      // of a matrix
  std::int64_t lines;     // its rows in memory, or its columns where the tensor is transposed
  std::int64_t line_bytes;
  std::int64_t line_pieces;  // experts that are columns: a row has a line of each, in this tensor, `lines` apart
  std::int64_t row_pieces;   // the same, in this tensor or each in a separate one
};

// Of `rows` rows of a parameter of this shape. None if the tensor has another shape, or a type that cannot hold them:
// vectors and transposed matrices are not stored in blocks.
std::optional<RowLayout> layout_in(const StoredTensor& stored, const TensorPlace& place, const Shape& parameter,
                                   std::int64_t rows, std::int64_t experts) {
  const bool vector = parameter.rank() == 1;
  const std::int64_t columns = vector ? 1 : parameter[1], E = place.experts == ExpertAxis::none ? 1 : experts;
  const std::int64_t matrices = place.experts == ExpertAxis::rows && !vector ? E : 1;
  const bool one_row =
      parameter == Shape{1, columns} && stored.shape == Shape{columns};                // GGUF's gates of shared experts
  const bool by_channel = !vector && stored.shape == Shape{parameter[0], 1, columns};  // a convolution's weights
  const Shape shape = one_row || by_channel ? parameter : without_experts(stored.shape, place, E, vector);
  const StoredLayout& blocks = layout_of(stored.type);

  const bool type_fits = is_plain(stored.type) || (blocks.elements > 1 && !vector && !place.transposed);
  if (!type_fits || shape.rank() != parameter.rank() || rows % matrices != 0) return std::nullopt;
  if (!vector && shape[place.transposed ? 0 : 1] != columns) return std::nullopt;
  const std::int64_t stored_rows = is_with_others(place.order) ? 2 * rows
                                   : matrices > 1              ? rows / matrices
                                                               : rows + place.first_row;
  if (shape[place.transposed ? 1 : 0] != stored_rows) return std::nullopt;

  RowLayout layout{
      .matrices = matrices, .rows = rows / matrices, .lines = 0, .line_bytes = 0, .line_pieces = 1, .row_pieces = 1};
  layout.lines = place.transposed ? columns : layout.rows;
  if (place.experts == ExpertAxis::columns && !place.transposed) layout.line_pieces = E;
  layout.row_pieces = place.experts == ExpertAxis::tensors ? E : layout.line_pieces;
  layout.line_bytes = (place.transposed ? shape[1] : columns / layout.row_pieces) / blocks.elements * blocks.bytes;
  return layout;
}

// Adds a part for each matrix.
void add_parts(const StoredTensor& stored, const TensorPlace& place, const RowLayout& layout, const Sizes& sizes,
               std::vector<StoredPart>& parts) {
  for (std::int64_t matrix = 0; matrix < layout.matrices; ++matrix) {
    StoredPart part{.type = stored.type,
                    .transposed = place.transposed,
                    .rows = layout.rows,
                    .lines = {},
                    .pieces = layout.row_pieces};
    for (std::int64_t r = 0; r < layout.lines; ++r) {
      const std::int64_t row = place.transposed ? r : row_in(place.order, r, sizes) + place.first_row;
      for (std::int64_t piece = 0; piece < layout.line_pieces; ++piece)
        part.lines.push_back(stored.data + ((matrix + piece) * layout.lines + row) * layout.line_bytes);
    }
    parts.push_back(std::move(part));
  }
}

// Joins the parts n, n + count, n + 2 count ... to part n, whose lines come from each in turn. False if they are of
// several types, which no part holds.
bool join_in_turn(std::vector<StoredPart>& parts, std::size_t count) {
  for (std::size_t n = 0; n < count; ++n) {
    std::vector<const unsigned char*> lines;
    for (std::size_t r = 0; r < parts[n].lines.size(); ++r)
      for (std::size_t other = n; other < parts.size(); other += count) {
        if (parts[other].type != parts[n].type) return false;
        lines.push_back(parts[other].lines[r]);
      }
    parts[n].lines = std::move(lines);
  }
  parts.resize(count);
  return true;
}

// Matrices stay in the memory-mapped files.
class FamilyWeights : public WeightSource {
 public:
  FamilyWeights(std::shared_ptr<const WeightFile> file, OpenConfig config, bool in_place)
      : file_(std::move(file)), config_(std::move(config)), in_place_(in_place) {}

  // Throws Error (Exit::corrupt_checkpoint), naming tensor and shapes, for a tensor that is missing or has another
  // shape; so do matrix() and read_values(). Called before allocation: a small file makes no large model.
  void require_shapes(const ParameterArena& parameters) const {
    for (const auto& parameter : parameters)
      if (!is_left_out(config_, parameter->name())) rows_of(parameter->info());
  }

  std::shared_ptr<const StoredMatrix> matrix(const ParameterInfo& parameter) const override {
    const bool is_matrix = parameter.role == ParameterRole::weight || parameter.name == "embedding.token.weight";
    if (!in_place_ || !is_matrix) return nullptr;
    StoredMatrix matrix = rows_of(parameter);
    matrix.times = static_cast<float>(factor_of(parameter));
    return std::make_shared<StoredMatrix>(std::move(matrix));
  }

  void read_values(const ParameterInfo& parameter, Tensor& out) const override {
    if (is_left_out(config_, parameter.name)) return out.fill(value_left_out(config_, parameter.name));
    const StoredMatrix matrix = rows_of(parameter);
    with_real<float, double>(out.dtype(), [&](auto zero) {
      using R = decltype(zero);
      R *const begin = out.data<R>(), *next = begin;
      for (const StoredPart& part : matrix.parts) {
        decode_rows(part, matrix.columns, 0, part.rows, next);
        next += part.rows * matrix.columns;
      }
      const R times = static_cast<R>(factor_of(parameter));
      const R plus = static_cast<R>(gain_less(config_, parameter));
      for (R* x = begin; x < next; ++x) *x = (*x + plus) * times;
      if (config_.names->rates && parameter.name.ends_with(".delta.log_rate"))
        for (R* x = begin; x < next; ++x) *x = log_of_rate(*x);
    });
  }

  template <class R>
  R log_of_rate(R stored) const {
    if (!(stored < 0))
      throw Error(file_->path() + ": rates of decay (`ssm_a`) must be below 0, got " + std::to_string(stored),
                  Exit::corrupt_checkpoint);
    return std::log(-stored);
  }

  bool is_repeated(const ParameterInfo& parameter) const override {
    return parameter.name == "unembedding.weight" && (is_tied() || !config_.missing_unembedding.empty());
  }

  // Throws Error (Exit::corrupt_checkpoint) for weights in the files without a parameter.
  void require_all_used(const ParameterArena& parameters) const {
    std::set<const StoredTensor*> used = tensors_of(parameters);
    require_one_embedding();
    if (is_tied()) used.insert(find(*file_, head_name(config_)));
    for (const StoredTensor& tensor : file_->tensors())
      if (!used.contains(&tensor) && !is_no_weight(config_, tensor.name) && !is_bias_of_zeros(tensor))
        throw Error(file_->path() + ": a model of the family `" + config_.family + "` has no place for the tensor " +
                        in_quotes(tensor.name) + " " + tensor.shape.str() +
                        (is_of_quantized(tensor.name)
                             ? ", which is of quantized weights; expected the model before it was quantized, or a GGUF "
                               "file of it"
                             : ""),
                    Exit::corrupt_checkpoint);
  }

  // Throws Error (Exit::corrupt_checkpoint), naming the tensor and its first such element, for NaN or infinite weights,
  // which would make results meaningless without notice. Reads all weights once.
  void require_finite(const ParameterArena& parameters) const {
    for (const StoredTensor* tensor : tensors_of(parameters)) {
      const std::int64_t at = first_not_finite(*tensor);
      if (at < 0) continue;
      const StoredLayout& block = layout_of(tensor->type);
      std::vector<float> values(static_cast<std::size_t>(block.elements));
      decode(tensor->type, tensor->data + at / block.elements * block.bytes, block.elements, values.data());
      const bool is_nan = std::isnan(values[static_cast<std::size_t>(at % block.elements)]);
      throw Error(file_->path() + ": the tensor " + in_quotes(tensor->name) + " is " +
                      (is_nan                            ? "NaN"
                       : tensor->type == StoredType::F64 ? "infinite, or beyond the range of F32,"
                                                         : "infinite") +
                      " at " + place_of(*tensor, at) +
                      "; expected finite weights: get the file again from where it is from, or convert it again",
                  Exit::corrupt_checkpoint);
    }
  }

  // Throws Error (Exit::corrupt_checkpoint), naming the tensor, for a matrix most rows of which are zero only, as in a
  // download that was preallocated and never finished: keys without weights look like a perfect sink. Projections that
  // add to the residual stream may be zero: in all blocks before training, or both of a block that was inserted.
  void require_not_zero(const ParameterArena& parameters) const {
    std::set<std::string> zero;  // projections to the residual stream
    std::set<const StoredTensor*> seen;
    for (const auto& parameter : parameters) {
      if (parameter->info().shape.rank() != 2 || !parameter->name().ends_with(".weight")) continue;
      bool all_zero = true;
      for (const TensorPlace& place : places(parameter->info())) {
        const StoredTensor* tensor = find(*file_, place.name);
        if (!tensor || tensor->shape.rank() < 2 || !seen.insert(tensor).second) continue;
        const ZeroRows rows = zero_rows(*tensor);
        all_zero = all_zero && rows.zero == rows.rows;
        if (2 * rows.zero > rows.rows && !(is_residual(parameter->name()) && rows.zero == rows.rows))
          refuse_zero(*tensor, rows);
      }
      if (all_zero && is_residual(parameter->name())) zero.insert(parameter->name());
    }
    auto is_zero_in_all = [&](const std::string& module) {
      return std::ranges::count_if(zero, [&](const std::string& name) { return name.ends_with(module); }) ==
             config_.sizes.layers;
    };
    for (const std::string& name : zero) {
      const std::string module = name.substr(name.find('.', std::strlen("blocks.")));
      const std::string other = module == kOut ? kDown : kOut;
      if (is_zero_in_all(module) || zero.contains(name.substr(0, name.size() - module.size()) + other)) continue;
      refuse_zero(*find(*file_, places_of(config_, name)[0].name), {1, 1});
    }
  }

 private:
  static constexpr const char *kOut = ".attention.out.weight", *kDown = ".feed_forward.down.weight";
  static bool is_residual(const std::string& name) { return name.ends_with(kOut) || name.ends_with(kDown); }

  // Programs for GPTQ write one for each quantized matrix, also where the family has no bias.
  bool is_bias_of_zeros(const StoredTensor& tensor) const {
    const std::string matrix = tensor.name.substr(0, tensor.name.rfind('.')) + ".weight";
    return config_.quantization && tensor.name.ends_with(".bias") && tensor.shape.rank() == 1 && file_->find(matrix) &&
           zero_rows(tensor).zero == 1;
  }

  [[noreturn]] void refuse_zero(const StoredTensor& tensor, const ZeroRows& rows) const {
    const std::string share = rows.zero == rows.rows ? "is zero only"
                                                     : "is zero only in " + std::to_string(rows.zero) + " of " +
                                                           std::to_string(rows.rows) + " rows";
    throw Error(file_->path() + ": the tensor " + in_quotes(tensor.name) + " " + tensor.shape.str() + " " + share +
                    ", as in a download that was never finished; expected weights: get the file again from where it is "
                    "from",
                Exit::corrupt_checkpoint);
  }

  // The factors of a family after a lookup or a linear layer are those of its weights here. Logits are linear in the
  // gain of the final norm.
  double factor_of(const ParameterInfo& parameter) const {
    const std::string module = parameter.name.substr(0, parameter.name.rfind('.'));
    if (module == "embedding.token") return config_.embedding_scale;
    if (module == "final_norm") return config_.logit_scale;
    if (module.ends_with(".attention.out") || module.ends_with(".feed_forward.down")) return config_.residual_scale;
    return 1;
  }

  bool is_tied() const { return config_.tied ? *config_.tied : !find(*file_, head_name(config_)); }

  // A tied embedding may be stored again as the unembedding, with equal values: transformers 4 reads the one,
  // transformers 5 the other.
  void require_one_embedding() const {
    const StoredTensor* head = is_tied() ? find(*file_, head_name(config_)) : nullptr;
    const StoredTensor* embedding = find(*file_, places_of(config_, "embedding.token.weight")[0].name);
    if (!head || !embedding) return;
    if (head->type == embedding->type && head->shape == embedding->shape &&
        std::memcmp(head->data, embedding->data, head->bytes) == 0)
      return;
    throw Error(file_->path() + ": the tensor " + in_quotes(head->name) + " is not " + in_quotes(embedding->name) +
                    ", and by `tie_word_embeddings` of config.json they are one; expected the same weights in both, or "
                    "`tie_word_embeddings` false",
                Exit::corrupt_checkpoint);
  }

  std::set<const StoredTensor*> tensors_of(const ParameterArena& parameters) const {
    std::set<const StoredTensor*> used;
    for (const auto& parameter : parameters)
      for (const TensorPlace& place : places(parameter->info())) used.insert(find(*file_, place.name));
    used.erase(nullptr);  // missing tensors throw where they are read
    return used;
  }

  StoredMatrix rows_of(const ParameterInfo& parameter) const {
    StoredMatrix matrix{.rows = parameter.shape[0],
                        .columns = parameter.shape.rank() == 1 ? 1 : parameter.shape[1],
                        .parts = {},
                        .owner = file_};
    bool all_fit = true;
    std::string shapes;
    const std::vector<TensorPlace> all = places(parameter);
    for (std::size_t n = 0; n < all.size(); ++n) {
      const StoredTensor& stored = tensor(parameter, all[n].name);
      shapes += (shapes.empty() ? "" : ", ") + (in_quotes(stored.name) + " " + stored.shape.str());
      const std::int64_t rows = rows_of_tensor(n, all, matrix.rows, config_.sizes);
      TensorPlace place = all[n];
      if (layout_of(stored.type).elements > 1 && place.experts != ExpertAxis::none)
        place.transposed = false;  // rows of blocks are rows of the matrix
      const auto layout = layout_in(stored, place, parameter.shape, rows, config_.sizes.experts);
      if (layout) add_parts(stored, place, *layout, config_.sizes, matrix.parts);
      all_fit = all_fit && layout;
    }
    if (all_fit && all[0].order == RowOrder::alternating) {
      all_fit = join_in_turn(matrix.parts, matrix.parts.size() / 2);
      for (StoredPart& part : matrix.parts) part.rows *= 2;
    }
    if (all_fit && all[0].experts == ExpertAxis::tensors) all_fit = join_in_turn(matrix.parts, 1);
    if (!all_fit)
      throw Error(
          file_->path() + ": " + parameter.name + " is " + parameter.shape.str() + " by " + sizes_of(parameter.name) +
              " of " + (config_.files == ModelFiles::hugging_face ? "config.json" : "the metadata") +
              ", and comes from " + shapes + "; expected tensors of these sizes, of a type that holds such values" +
              (all[0].order == RowOrder::alternating || all.size() > 3 ? ", the same in all" : ""),
          Exit::corrupt_checkpoint);
    return matrix;
  }

  // The keys that determine the shape of a parameter: "`vocab_size` and `hidden_size`".
  std::string sizes_of(const std::string& name) const {
    std::vector<std::string> keys;
    auto add = [&](std::initializer_list<const char*> flags) {
      for (const char* flag : flags) keys.push_back("`" + key_in_file(config_, flag) + "`");
    };
    if (name.starts_with("embedding.token") || name.starts_with("unembedding")) add({"vocabulary", "width"});
    if (name.starts_with("embedding.position")) add({"context", "width"});
    if (name.find(".attention.qkv.") != std::string::npos) add({"heads", "kv-heads", "head-width", "width"});
    if (name.find(".attention.gate.") != std::string::npos) add({"heads", "head-width", "width"});
    if (name.find(".delta.") != std::string::npos)
      add({"delta-heads", "delta-key-heads", "delta-key-width", "delta-value-width", "convolution", "width"});
    if (name.find(".attention.out.") != std::string::npos) add({"heads", "head-width", "width"});
    if (name.find(".shared.") != std::string::npos) {
      add({"shared-feed-forward", "width"});
    } else if (name.find(".feed_forward.") != std::string::npos) {
      if (config_.sizes.experts > 0) add({"experts"});
      add({"feed-forward", "width"});
    }
    return keys.empty() ? "the sizes" : listed(keys);
  }

  const StoredTensor& tensor(const ParameterInfo& parameter, const std::string& name) const {
    const StoredTensor* tensor = find(*file_, name);
    if (!tensor)
      throw Error(file_->path() + ": the tensor `" + name + "` is missing, which " + parameter.name + " of `" +
                      config_.family + "` comes from",
                  Exit::corrupt_checkpoint);
    return *tensor;
  }

  std::vector<TensorPlace> places(const ParameterInfo& parameter) const {
    std::vector<TensorPlace> places =
        places_of(config_, is_repeated(parameter) ? "embedding.token.weight" : parameter.name);
    if (places.empty() && !is_left_out(config_, parameter.name))
      throw Error(file_->path() + ": a model of the family `" + config_.family + "` has " + parameter.name +
                      ", which files of this kind have no name for",
                  Exit::corrupt_checkpoint);
    return places;
  }

  std::shared_ptr<const WeightFile> file_;
  OpenConfig config_;
  bool in_place_;
};

}  // namespace

std::string missing_unembedding(const WeightFile& file, const OpenConfig& config) {
  const std::string name = head_name(config);
  return config.tied.value_or(true) || find(file, name) ? "" : name;
}

void load_family_weights(std::shared_ptr<const WeightFile> file, const OpenConfig& config, ParameterArena& parameters,
                         bool in_place) {
  const FamilyWeights weights(std::move(file), config, in_place);
  weights.require_all_used(parameters);
  weights.require_shapes(parameters);
  weights.require_finite(parameters);
  weights.require_not_zero(parameters);
  parameters.load_weights(weights);
}

}  // namespace sink
