#include "engine/data/batch.h"

#include <string>
#include <xtensor/xview.hpp>

#include "engine/tensor_view.h"

namespace sink {
namespace {

// All of ids_BT lie in [lowest, vocabulary).
void check_ids(const char* what, const Tensor& ids, std::int64_t lowest, std::int64_t vocabulary) {
  auto ids_BT = view<std::int32_t, 2>(ids);
  for (std::int64_t b = 0; b < ids.dim(0); ++b)
    for (std::int64_t t = 0; t < ids.dim(1); ++t)
      SINK_CHECK(lowest <= ids_BT(b, t) && ids_BT(b, t) < vocabulary, "batch",
                 std::string(what) + " " + std::to_string(ids_BT(b, t)) + " of sequence " + std::to_string(b + 1) +
                     ", position " + std::to_string(t + 1) + ", is not in [" + std::to_string(lowest) + ", " +
                     std::to_string(vocabulary) + "): was the text encoded with another tokenizer?",
                 Exit::bad_input);
}

}  // namespace

void check_tokens(const Tensor& tokens_BT, std::int64_t vocabulary) {
  SINK_CHECK(tokens_BT.rank() == 2 && tokens_BT.dtype() == DType::I32, "batch",
             "expected tokens as i32 (B, T), got " + tokens_BT.str(), Exit::bad_input);
  check_ids("token", tokens_BT, 0, vocabulary);
}

Batch::Batch(const Tensor& tokens_BT, const Tensor& targets_BT, std::int64_t vocabulary)
    : tokens_BT_(tokens_BT), targets_BT_(targets_BT), vocabulary_(vocabulary) {
  SINK_CHECK(tokens_BT.size() > 0 && tokens_BT.shape() == targets_BT.shape() && targets_BT.dtype() == DType::I32,
             "batch",
             "expected tokens and targets (B, T) with B, T > 0, got " + tokens_BT.str() + " and " + targets_BT.str(),
             Exit::bad_input);
  check_tokens(tokens_BT, vocabulary);
  check_ids("target", targets_BT, -1, vocabulary);
  for (std::int32_t target : view<std::int32_t, 2>(targets_BT)) predicted_ += target >= 0;
}

Batch Batch::rows(std::int64_t begin, std::int64_t end) const {
  return {tokens_BT_.rows(begin, end), targets_BT_.rows(begin, end), vocabulary_};
}

Batch Batch::first(std::int64_t T) const {
  SINK_CHECK(0 < T && T <= context(), "batch", "asked for " + std::to_string(T) + " tokens of " + tokens_BT_.str());
  auto cut = [&](const Tensor& ids) {
    Tensor part = Tensor::empty({sequences(), T}, DType::I32);
    view<std::int32_t, 2>(part) = xt::view(view<std::int32_t, 2>(ids), xt::all(), xt::range(0, T));
    return part;
  };
  return {cut(tokens_BT_), cut(targets_BT_), vocabulary_};
}

Batch Batch::to(Device device) const {
  Batch there = *this;
  there.tokens_BT_ = tokens_BT_.to(device);
  there.targets_BT_ = targets_BT_.to(device);
  return there;
}

void Batch::copy_from(const Batch& other) {
  SINK_CHECK(tokens_BT_.shape() == other.tokens_BT_.shape() && vocabulary_ == other.vocabulary_, "batch",
             "expected a batch like " + tokens_BT_.str() + " of " + std::to_string(vocabulary_) + " tokens, got " +
                 other.tokens_BT_.str() + " of " + std::to_string(other.vocabulary_));
  tokens_BT_.copy_from(other.tokens_BT_);
  targets_BT_.copy_from(other.targets_BT_);
  predicted_ = other.predicted_;
}

}  // namespace sink
