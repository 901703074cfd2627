#include "model/key_value_cache.h"

#include <algorithm>

#include "engine/check.h"

namespace sink {
namespace {

constexpr std::int64_t kFirstPlaces = 64;

// Rows [begin, end) of every head of `from` to rows `place` and on of `to`; both (B, G, rows, D).
void copy_cached_rows(const Tensor& from, std::int64_t begin, std::int64_t end, Tensor& to, std::int64_t place) {
  const std::int64_t D = from.dim(3), heads = from.dim(0) * from.dim(1), n = (end - begin) * D;
  if (n == 0) return;
  for (std::int64_t head = 0; head < heads; ++head)
    to.slice((head * to.dim(2) + place) * D, {n}).copy_from(from.slice((head * from.dim(2) + begin) * D, {n}));
}

Tensor with_places(const Tensor& held_BGKD, std::int64_t length, std::int64_t places) {
  const Shape& shape = held_BGKD.shape();
  Tensor more = held_BGKD.new_zeros({shape[0], shape[1], places, shape[3]}, held_BGKD.dtype());
  copy_cached_rows(held_BGKD, 0, length, more, 0);
  return more;
}

}  // namespace

Tensor KeyValueCache::positions_of_next(std::int64_t B, std::int64_t T) const {
  return Tensor::table<std::int32_t>(B, T, [this](std::int64_t, std::int64_t t) { return length_ + t; });
}

KeyValueCache::KeysValues KeyValueCache::append(std::int64_t layer, const Tensor& k_BGTD, const Tensor& v_BGTD) {
  const std::int64_t B = k_BGTD.dim(0), G = k_BGTD.dim(1), T = k_BGTD.dim(2), D = k_BGTD.dim(3), needed = length_ + T;
  SINK_CHECK(needed <= longest_, "cache",
             std::to_string(T) + " tokens after " + std::to_string(length_) + " are more than the " +
                 std::to_string(longest_) + " that it was made for",
             Exit::usage);
  KeysValues& held = layers_[layer];
  if (!held.k_BGKD.defined()) {
    const Shape shape{B, G, std::min(std::max(kFirstPlaces, T), longest_), D};
    held = {k_BGTD.new_zeros(shape, k_BGTD.dtype()), v_BGTD.new_zeros(shape, v_BGTD.dtype())};
  }
  SINK_CHECK(held.k_BGKD.dim(0) == B, "cache",
             "keys are kept of " + std::to_string(held.k_BGKD.dim(0)) + " sequences, and those that follow are of " +
                 std::to_string(B));
  if (needed > held.k_BGKD.dim(2)) {
    const std::int64_t places = std::min(std::max(needed, 2 * held.k_BGKD.dim(2)), longest_);
    held = {with_places(held.k_BGKD, length_, places), with_places(held.v_BGKD, length_, places)};
  }
  copy_cached_rows(k_BGTD, 0, T, held.k_BGKD, length_);
  copy_cached_rows(v_BGTD, 0, T, held.v_BGKD, length_);
  return held;
}

void KeyValueCache::drop(std::int64_t begin, std::int64_t end) {
  SINK_CHECK(0 <= begin && begin <= end && end <= length_, "cache",
             "tokens [" + std::to_string(begin) + ", " + std::to_string(end) + ") are not among the " +
                 std::to_string(length_) + " that are held");
  SINK_CHECK(positions_ == Positions::of_cache || end == length_, "cache",
             "where keys have the positions of the text, only the last ones can be dropped", Exit::usage);
  SINK_CHECK(recurrences_.empty() || begin == end, "cache",
             "layers without attention keep a state of all tokens, from which none can be dropped", Exit::usage);
  for (auto& [layer, held] : layers_)
    for (Tensor* x_BGKD : {&held.k_BGKD, &held.v_BGKD}) {
      Tensor left = x_BGKD->new_zeros(x_BGKD->shape(), x_BGKD->dtype());
      copy_cached_rows(*x_BGKD, 0, begin, left, 0);
      copy_cached_rows(*x_BGKD, end, length_, left, begin);
      *x_BGKD = left;
    }
  length_ -= end - begin;
}

std::size_t KeyValueCache::bytes() const {
  std::size_t sum = 0;
  for (const auto& [layer, held] : layers_) sum += held.k_BGKD.bytes() + held.v_BGKD.bytes();
  for (const auto& [layer, held] : recurrences_) sum += held.before_BTE.bytes() + held.state_BHDD.bytes();
  return sum;
}

}  // namespace sink
