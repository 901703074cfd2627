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

Tensor KeyValueCache::positions_of_next(std::int64_t B, std::int64_t T, std::int64_t last) const {
  const std::int64_t first = positions_ == Positions::of_text ? read() : length_;
  return Tensor::table<std::int32_t>(B, T, [&](std::int64_t, std::int64_t t) { return std::min(first + t, last); });
}

KeyValueCache::KeysValues KeyValueCache::append(std::int64_t layer, const Tensor& k_BGTD, const Tensor& v_BGTD) {
  const std::int64_t B = k_BGTD.dim(0), G = k_BGTD.dim(1), T = k_BGTD.dim(2), D = k_BGTD.dim(3), needed = length_ + T;
  SINK_CHECK(needed <= longest_, "cache",
             std::to_string(T) + " tokens after " + std::to_string(length_) + " are more than the " +
                 std::to_string(longest_) + " that it was made for",
             Exit::usage);
  Layer& of_layer = layers_[layer];
  if (!of_layer.held.k_BGKD.defined()) {
    const Shape shape{B, G, std::min(std::max(kFirstPlaces, T), longest_), D};
    of_layer.held = {k_BGTD.new_zeros(shape, k_BGTD.dtype()), v_BGTD.new_zeros(shape, v_BGTD.dtype())};
  }
  KeysValues& held = of_layer.held;
  SINK_CHECK(held.k_BGKD.dim(0) == B, "cache",
             "keys are kept of " + std::to_string(held.k_BGKD.dim(0)) + " sequences, and those that follow are of " +
                 std::to_string(B));
  if (needed > held.k_BGKD.dim(2)) {
    const std::int64_t places = std::min(std::max(needed, 2 * held.k_BGKD.dim(2)), longest_);
    held = {with_places(held.k_BGKD, length_, places), with_places(held.v_BGKD, length_, places)};
    if (Tensor& rotated = of_layer.rotated_BGKD; rotated.defined()) rotated = with_places(rotated, length_, places);
  }
  copy_cached_rows(k_BGTD, 0, T, held.k_BGKD, length_);
  copy_cached_rows(v_BGTD, 0, T, held.v_BGKD, length_);
  if (rounding_.any() && !rounding_.by_group()) rounding_.round(held.k_BGKD, held.v_BGKD, length_, needed, read());
  return held;
}

void KeyValueCache::advance(std::int64_t T) {
  length_ += T;
  constexpr std::int64_t kGroup = CacheRounding::kGroup;
  if (!rounding_.by_group() || read() % kGroup != 0) return;
  for (auto& [number, layer] : layers_) {
    rounding_.round(layer.held.k_BGKD, layer.held.v_BGKD, length_ - kGroup, length_, read() - kGroup);
    layer.rotated = std::min(layer.rotated, length_ - kGroup);
  }
}

void KeyValueCache::drop(std::int64_t begin, std::int64_t end) {
  SINK_CHECK(0 <= begin && begin <= end && end <= length_, "cache",
             "tokens [" + std::to_string(begin) + ", " + std::to_string(end) + ") are not among the " +
                 std::to_string(length_) + " that are held");
  SINK_CHECK(positions_ == Positions::of_cache || end == length_, "cache",
             "where keys have the positions of the text, only the last ones can be dropped", Exit::usage);
  SINK_CHECK(recurrences_.empty() || begin == end, "cache",
             "layers without attention keep a state of all tokens, from which none can be dropped", Exit::usage);
  for (auto& [number, layer] : layers_) {
    layer.rotated = std::min(layer.rotated, begin);
    for (Tensor* x_BGKD : {&layer.held.k_BGKD, &layer.held.v_BGKD})
      copy_cached_rows(x_BGKD->clone(), end, length_, *x_BGKD, begin);
  }
  if (positions_ == Positions::of_cache) dropped_ += end - begin;
  length_ -= end - begin;
}

void KeyValueCache::drop_one(const std::vector<std::vector<std::int64_t>>& rows_LG) {
  SINK_CHECK(positions_ == Positions::of_text && rows_LG.size() == layers_.size() && recurrences_.empty(), "cache",
             "a row for each head is dropped where all layers have keys, with the positions of the text", Exit::usage);
  for (auto& [number, layer] : layers_)
    for (Tensor* x_BGKD : {&layer.held.k_BGKD, &layer.held.v_BGKD}) {
      const std::vector<std::int64_t>& rows_G = rows_LG[static_cast<std::size_t>(number)];
      const std::int64_t K = x_BGKD->dim(2), D = x_BGKD->dim(3);
      for (std::size_t g = 0; g < rows_G.size(); ++g) {
        const std::int64_t head = static_cast<std::int64_t>(g) * K, row = rows_G[g];
        if (row < length_ - 1)
          x_BGKD->slice((head + row) * D, {D}).copy_from(x_BGKD->slice((head + length_ - 1) * D, {D}));
      }
    }
  --length_;
  ++dropped_;
}

std::size_t KeyValueCache::bytes() const {
  std::size_t sum = 0;
  for (const auto& [number, layer] : layers_)
    sum += layer.held.k_BGKD.bytes() + layer.held.v_BGKD.bytes() + layer.rotated_BGKD.bytes();
  for (const auto& [layer, held] : recurrences_) sum += held.before_BTE.bytes() + held.state_BHDD.bytes();
  return sum;
}

Tensor KeyValueCache::key_rows(std::int64_t layer, std::int64_t begin, std::int64_t end) const {
  const Tensor& k_BGKD = layers_.at(layer).held.k_BGKD;
  Tensor rows = k_BGKD.new_empty({k_BGKD.dim(0), k_BGKD.dim(1), end - begin, k_BGKD.dim(3)}, k_BGKD.dtype());
  copy_cached_rows(k_BGKD, begin, end, rows, 0);
  return rows;
}

const Tensor& KeyValueCache::set_rotated(std::int64_t layer, std::int64_t begin, const Tensor& rotated_BGTD) {
  Layer& of_layer = layers_.at(layer);
  const Tensor& k_BGKD = of_layer.held.k_BGKD;
  if (!of_layer.rotated_BGKD.defined()) of_layer.rotated_BGKD = k_BGKD.new_zeros(k_BGKD.shape(), k_BGKD.dtype());
  copy_cached_rows(rotated_BGTD, 0, rotated_BGTD.dim(2), of_layer.rotated_BGKD, begin);
  of_layer.rotated = begin + rotated_BGTD.dim(2);
  return of_layer.rotated_BGKD;
}

}  // namespace sink
