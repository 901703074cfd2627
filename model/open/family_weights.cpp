#include "model/open/family_weights.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "engine/check.h"
#include "engine/io/printable.h"
#include "engine/stored/decode.h"
#include "engine/stored/finite.h"
#include "engine/threads.h"

namespace sink {
namespace {

// In front of the names that all programs' tables have.
constexpr const char* kPrefixes[] = {
    "", "model.", "transformer.", "gpt_neox.", "language_model.model.", "model.language_model.", "language_model."};

const StoredTensor* find(const WeightFile& file, const std::string& name) {
  for (const char* prefix : kPrefixes)
    if (const StoredTensor* tensor = file.find(prefix + name)) return tensor;
  return nullptr;
}

// Of the unembedding. GPT-2 and OPT have no parameter for it, and some of their files a tensor.
std::string head_name(const OpenConfig& config) {
  const std::vector<TensorPlace> places = places_of(config, "unembedding.weight");
  return places.empty() ? "lm_head.weight" : places[0].name;
}

// The shape of a tensor, without its axis of E experts: of one of their matrices, or, where their numbers are one
// vector or the columns of one matrix, of all. Of rank 0 where there is no such axis.
Shape without_experts(const Shape& shape, const TensorPlace& place, std::int64_t E, bool vector) {
  if (place.experts == ExpertAxis::none) return shape;
  if (shape.rank() != (vector ? 2 : 3) || shape[0] != E) return {};
  if (vector) return {E * shape[1]};
  return place.experts == ExpertAxis::rows ? Shape{shape[1], shape[2]} : Shape{E * shape[1], shape[2]};
}

// The first element that is NaN or infinite, -1: none. Threads take pieces of it.
std::int64_t first_not_finite(const StoredTensor& tensor) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 18;  // elements, whole blocks of every type
  const StoredLayout& block = layout_of(tensor.type);
  const std::int64_t count = tensor.shape.size(), pieces = (count + kPiece - 1) / kPiece;
  std::atomic<std::int64_t> first = count;
  parallel_for(pieces, [&](std::int64_t piece) {
    const std::int64_t begin = piece * kPiece;
    if (begin >= first.load(std::memory_order_relaxed)) return;
    const std::int64_t found = sink::first_not_finite(tensor.type, tensor.data + begin / block.numbers * block.bytes,
                                                      std::min(kPiece, count - begin));
    if (found < 0) return;
    std::int64_t before = first.load();
    while (begin + found < before && !first.compare_exchange_weak(before, begin + found)) {}
  });
  return first == count ? -1 : first.load();
}

// Of element `i` in the order of the file: "(3, 17)".
std::string place_of(const StoredTensor& tensor, std::int64_t i) {
  Shape place = tensor.shape;
  for (int axis = place.rank(); axis-- > 0; i /= tensor.shape[axis]) place[axis] = i % tensor.shape[axis];
  return place.str();
}

bool is_plain(StoredType type) {
  return type == StoredType::F64 || type == StoredType::F32 || type == StoredType::F16 || type == StoredType::BF16;
}

}  // namespace

bool FamilyWeights::is_tied() const {
  if (config_.tied) return *config_.tied;
  return !find(*file_, head_name(config_));
}

// Some files have it once more as the unembedding, where it must be the same: transformers 4 then takes the one,
// transformers 5 the other.
void FamilyWeights::require_one_embedding() const {
  const StoredTensor* head = is_tied() ? find(*file_, head_name(config_)) : nullptr;
  const StoredTensor* embedding = find(*file_, places_of(config_, "embedding.token.weight")[0].name);
  if (!head || !embedding) return;
  if (head->type == embedding->type && head->shape == embedding->shape &&
      std::memcmp(head->data, embedding->data, head->bytes) == 0)
    return;
  throw Error(file_->path() + ": the tensor `" + printable(head->name) + "` is not `" + printable(embedding->name) +
                  "`, and by `tie_word_embeddings` of config.json they are one; expected the same weights in both, or "
                  "`tie_word_embeddings` false",
              Exit::corrupt_checkpoint);
}

std::vector<TensorPlace> FamilyWeights::places(const ParameterInfo& parameter) const {
  std::vector<TensorPlace> places =
      places_of(config_, is_repeated(parameter) ? "embedding.token.weight" : parameter.name);
  if (places.empty())
    throw Error(file_->path() + ": a model of the family `" + config_.family + "` has " + parameter.name +
                    ", which files of this kind have no name for",
                Exit::corrupt_checkpoint);
  return places;
}

const StoredTensor& FamilyWeights::tensor(const ParameterInfo& parameter, const std::string& name) const {
  const StoredTensor* tensor = find(*file_, name);
  if (!tensor)
    throw Error(file_->path() + ": the tensor `" + name + "` is missing, which " + parameter.name + " of `" +
                    config_.family + "` comes from" +
                    (parameter.name == "unembedding.weight"
                         ? "; expected it, or `tie_word_embeddings` true in config.json, where it is the embedding"
                         : ""),
                Exit::corrupt_checkpoint);
  return *tensor;
}

StoredMatrix FamilyWeights::rows_of(const ParameterInfo& parameter) const {
  const bool vector = parameter.shape.rank() == 1;
  const std::int64_t rows = parameter.shape[0], columns = vector ? 1 : parameter.shape[1];
  StoredMatrix matrix{.rows = rows, .columns = columns, .parts = {}, .owner = file_};
  bool all_fit = true;
  std::string shapes;
  const std::vector<TensorPlace> all = places(parameter);
  for (std::size_t n = 0; n < all.size(); ++n) {
    const TensorPlace& place = all[n];
    const StoredTensor& stored = tensor(parameter, place.name);
    shapes += (shapes.empty() ? "" : ", ") + ("`" + printable(stored.name) + "` " + stored.shape.str());
    const std::int64_t count = rows_of_tensor(n, all.size(), rows, config_.sizes);
    // Rows of one number, and columns, are no whole blocks.
    const bool blocks = layout_of(stored.type).numbers > 1 && !vector && !place.transposed;
    // Experts' rows below each other are so many matrices; else there is one.
    const std::int64_t E = place.experts == ExpertAxis::none ? 1 : config_.sizes.experts;
    const bool below = place.experts == ExpertAxis::rows && !vector;
    const Shape shape = without_experts(stored.shape, place, E, vector);
    const bool fits = shape.rank() == parameter.shape.rank() && (!below || count % E == 0) &&
                      (vector || shape[place.transposed ? 0 : 1] == columns) &&
                      shape[place.transposed ? 1 : 0] == (below ? count / E : count + place.first_row) &&
                      (is_plain(stored.type) || blocks);
    all_fit = all_fit && fits;
    if (!fits) continue;
    const StoredLayout& layout = layout_of(stored.type);
    const std::int64_t line = (place.transposed ? shape[1] : columns) / layout.numbers * layout.bytes;
    for (std::int64_t e = 0; e < (below ? E : 1); ++e) {
      StoredPart part{
          .type = stored.type, .transposed = place.transposed, .rows = below ? count / E : count, .lines = {}};
      for (std::int64_t r = 0; r < (place.transposed ? columns : count); ++r) {
        const std::int64_t row = place.transposed ? r : row_in(place.order, r, config_.sizes) + place.first_row;
        part.lines.push_back(stored.data + (e * columns + row) * line);
      }
      matrix.parts.push_back(std::move(part));
    }
  }
  if (!all_fit)
    throw Error(file_->path() + ": " + parameter.name + " is " + parameter.shape.str() +
                    " by the sizes given, and comes from " + shapes +
                    "; expected as many rows of each as the heads have, of a type that holds such numbers",
                Exit::corrupt_checkpoint);
  return matrix;
}

std::shared_ptr<const StoredMatrix> FamilyWeights::matrix(const ParameterInfo& parameter) const {
  StoredMatrix matrix = rows_of(parameter);
  const bool token_table = parameter.name == "embedding.token.weight";
  if (token_table) matrix.times = static_cast<float>(config_.embedding_scale);
  if (parameter.role != ParameterRole::weight && !token_table) return nullptr;
  return std::make_shared<StoredMatrix>(std::move(matrix));
}

void FamilyWeights::numbers(const ParameterInfo& parameter, Tensor& out) const {
  const StoredMatrix matrix = rows_of(parameter);
  with_real<float, double>(out.dtype(), [&](auto zero) {
    using R = decltype(zero);
    R *const begin = out.data<R>(), *next = begin;
    for (const StoredPart& part : matrix.parts) {
      decode_rows(part, matrix.columns, 0, part.rows, next);
      next += part.rows * matrix.columns;
    }
    const R times = parameter.name == "embedding.token.weight" ? static_cast<R>(config_.embedding_scale) : 1;
    const R plus = parameter.role == ParameterRole::norm_gain ? static_cast<R>(config_.gain_less) : 0;
    for (R* x = begin; x < next; ++x) *x = *x * times + plus;
  });
}

std::set<const StoredTensor*> FamilyWeights::tensors_of(const ParameterArena& parameters) const {
  std::set<const StoredTensor*> used;
  for (const auto& parameter : parameters)
    for (const TensorPlace& place : places(parameter->info())) used.insert(find(*file_, place.name));
  used.erase(nullptr);  // what is missing is refused by name where it is read
  return used;
}

void FamilyWeights::require_all_used(const ParameterArena& parameters) const {
  std::set<const StoredTensor*> used = tensors_of(parameters);
  require_one_embedding();
  if (is_tied()) used.insert(find(*file_, head_name(config_)));
  for (const StoredTensor& tensor : file_->tensors())
    if (!used.contains(&tensor) && !is_no_weight(config_, tensor.name))
      throw Error(file_->path() + ": a model of the family `" + config_.family + "` has no place for the tensor `" +
                      printable(tensor.name) + "` " + tensor.shape.str(),
                  Exit::corrupt_checkpoint);
}

void FamilyWeights::require_finite(const ParameterArena& parameters) const {
  for (const StoredTensor* tensor : tensors_of(parameters)) {
    const std::int64_t at = first_not_finite(*tensor);
    if (at < 0) continue;
    const StoredLayout& block = layout_of(tensor->type);
    std::vector<float> values(static_cast<std::size_t>(block.numbers));
    decode(tensor->type, tensor->data + at / block.numbers * block.bytes, block.numbers, values.data());
    const bool is_nan = std::isnan(values[static_cast<std::size_t>(at % block.numbers)]);
    throw Error(file_->path() + ": the tensor `" + printable(tensor->name) + "` is " +
                    (is_nan                            ? "NaN"
                     : tensor->type == StoredType::F64 ? "infinite, or beyond the range of F32,"
                                                       : "infinite") +
                    " at " + place_of(*tensor, at) +
                    "; expected finite weights: get the file again from where it is from, or convert it again",
                Exit::corrupt_checkpoint);
  }
}

}  // namespace sink
