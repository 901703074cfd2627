#include "engine/data/batch.h"

#include <string>
#include <string_view>
#include <xtensor/xview.hpp>

#include "engine/tensor_view.h"

namespace sink {
namespace {

// Throws where an element (b, t) of x_BT is not in [lowest(b, t), highest(t)].
template <class Lowest, class Highest>
void check_elements(const char* what, const Tensor& x, const char* advice, Exit code, Lowest&& lowest,
                    Highest&& highest) {
  auto x_BT = view<std::int32_t, 2>(x);
  for (std::int64_t b = 0; b < x.dim(0); ++b)
    for (std::int64_t t = 0; t < x.dim(1); ++t)
      SINK_CHECK(lowest(b, t) <= x_BT(b, t) && x_BT(b, t) <= highest(t), "batch",
                 std::string(what) + " " + std::to_string(x_BT(b, t)) + " of sequence " + std::to_string(b + 1) +
                     (std::string_view(what) == "position" ? ", token " : ", position ") + std::to_string(t + 1) +
                     ", is not in [" + std::to_string(lowest(b, t)) + ", " + std::to_string(highest(t)) + "]" + advice,
                 code);
}

void check_ids(const char* what, const Tensor& ids, std::int64_t lowest, std::int64_t vocabulary) {
  check_elements(
      what, ids, ": was the text encoded with another tokenizer?", Exit::bad_input,
      [&](std::int64_t, std::int64_t) { return lowest; }, [&](std::int64_t) { return vocabulary - 1; });
}

// An element of starts_BT or positions_BT is at most the token's index in its sequence.
template <class Lowest>
void check_places(const char* what, const Tensor& x, const Tensor& tokens, Lowest&& lowest) {
  SINK_CHECK(x.shape() == tokens.shape() && x.dtype() == DType::I32, "batch",
             std::string("expected ") + what + "s like the tokens " + tokens.str() + ", got " + x.str());
  check_elements(what, x, "", Exit::failure, lowest, [](std::int64_t t) { return t; });
}

Tensor first_tokens(const Tensor& ids_BT, std::int64_t T) {
  Tensor part = Tensor::empty({ids_BT.dim(0), T}, DType::I32);
  view<std::int32_t, 2>(part) = xt::view(view<std::int32_t, 2>(ids_BT), xt::all(), xt::range(0, T));
  return part;
}

// f of the tensors that are defined.
template <class F>
DocumentPlaces each(const DocumentPlaces& documents, F&& f) {
  auto of = [&](const Tensor& x) { return x.defined() ? f(x) : Tensor(); };
  return {of(documents.starts_BT), of(documents.positions_BT)};
}

}  // namespace

std::int64_t DocumentPlaces::end(std::int64_t b, std::int64_t t, std::int64_t T) const {
  if (!defined()) return T;
  auto starts = view<std::int32_t, 2>(starts_BT);
  std::int64_t end = t + 1;
  while (end < T && starts(b, end) <= t) ++end;
  return end;
}

DocumentPlaces DocumentPlaces::rows(std::int64_t begin, std::int64_t end) const {
  return each(*this, [&](const Tensor& x) { return x.rows(begin, end); });
}

DocumentPlaces DocumentPlaces::first(std::int64_t T) const {
  return each(*this, [&](const Tensor& x) { return first_tokens(x, T); });
}

DocumentPlaces DocumentPlaces::to(Device device) const {
  return each(*this, [&](const Tensor& x) { return x.to(device); });
}

void check_tokens(const Tensor& tokens_BT, std::int64_t vocabulary) {
  SINK_CHECK(tokens_BT.rank() == 2 && tokens_BT.dtype() == DType::I32, "batch",
             "expected tokens as i32 (B, T), got " + tokens_BT.str(), Exit::bad_input);
  check_ids("token", tokens_BT, 0, vocabulary);
}

Batch::Batch(const Tensor& tokens_BT, const Tensor& targets_BT, std::int64_t vocabulary, DocumentPlaces documents)
    : tokens_BT_(tokens_BT), targets_BT_(targets_BT), vocabulary_(vocabulary), documents_(std::move(documents)) {
  SINK_CHECK(tokens_BT.size() > 0 && tokens_BT.shape() == targets_BT.shape() && targets_BT.dtype() == DType::I32,
             "batch",
             "expected tokens and targets (B, T) with B, T > 0, got " + tokens_BT.str() + " and " + targets_BT.str(),
             Exit::bad_input);
  check_tokens(tokens_BT, vocabulary);
  check_ids("target", targets_BT, -1, vocabulary);
  for (std::int32_t target : view<std::int32_t, 2>(targets_BT)) predicted_ += target >= 0;
  if (documents_.starts_BT.defined()) {
    auto starts_BT = view<std::int32_t, 2>(documents_.starts_BT);
    check_places("document start", documents_.starts_BT, tokens_BT,
                 [&](std::int64_t b, std::int64_t t) { return t > 0 ? starts_BT(b, t - 1) : 0; });
  }
  if (documents_.positions_BT.defined())
    check_places("position", documents_.positions_BT, tokens_BT, [](std::int64_t, std::int64_t) { return 0; });
}

Batch Batch::rows(std::int64_t begin, std::int64_t end) const {
  return {tokens_BT_.rows(begin, end), targets_BT_.rows(begin, end), vocabulary_, documents_.rows(begin, end)};
}

Batch Batch::first(std::int64_t T) const {
  SINK_CHECK(0 < T && T <= context(), "batch", "asked for " + std::to_string(T) + " tokens of " + tokens_BT_.str());
  return {first_tokens(tokens_BT_, T), first_tokens(targets_BT_, T), vocabulary_, documents_.first(T)};
}

Batch Batch::to(Device device) const {
  Batch there = *this;
  there.tokens_BT_ = tokens_BT_.to(device);
  there.targets_BT_ = targets_BT_.to(device);
  there.documents_ = documents_.to(device);
  return there;
}

void Batch::copy_from(const Batch& other) {
  SINK_CHECK(tokens_BT_.shape() == other.tokens_BT_.shape() && vocabulary_ == other.vocabulary_, "batch",
             "expected a batch like " + tokens_BT_.str() + " of " + std::to_string(vocabulary_) + " tokens, got " +
                 other.tokens_BT_.str() + " of " + std::to_string(other.vocabulary_));
  tokens_BT_.copy_from(other.tokens_BT_);
  targets_BT_.copy_from(other.targets_BT_);
  if (documents_.starts_BT.defined()) documents_.starts_BT.copy_from(other.documents_.starts_BT);
  if (documents_.positions_BT.defined()) documents_.positions_BT.copy_from(other.documents_.positions_BT);
  predicted_ = other.predicted_;
}

}  // namespace sink
