#include "autograd/parameter_parts.h"

#include <algorithm>

namespace sink {

ParameterParts::ParameterParts(ParameterArena& arena, ArenaShare share)
    : arena_(arena), share_(std::move(share)), received_(arena.size(), false) {
  const Tensor whole = arena.masters();
  const bool rounded = arena.copy().defined();
  masters_ = whole.new_empty({share_.size()}, whole.dtype());
  for (const Segment& owned : share_.owned()) {
    const Segment place = share_.place_of(owned);
    masters_.rows(place.begin, place.end).copy_from(whole.rows(owned.begin, owned.end));
  }
  gradients_ = masters_.new_zeros(masters_.shape(), masters_.dtype());

  std::vector<std::int64_t> sizes;  // of buffers
  const std::vector<Segment>& sections = arena.sections();
  for (std::size_t n = 0; n < sections.size(); ++n) {
    const auto buffer = static_cast<std::size_t>(buffer_of(static_cast<std::int64_t>(n)));
    if (sizes.size() <= buffer) sizes.resize(buffer + 1, 0);
    sizes[buffer] = std::max(sizes[buffer], sections[n].size());
  }
  for (std::int64_t size : sizes) {
    size = std::max<std::int64_t>(size, 1);  // a model of one block has one of the two
    values_.push_back(masters_.new_zeros({size}, masters_.dtype()));
    section_gradients_.push_back(masters_.new_zeros({size}, masters_.dtype()));
    if (rounded) copies_.push_back(masters_.new_zeros({size}, DType::BF16));
  }
  for (std::size_t n = 0; n < sections.size(); ++n) {
    const auto buffer = static_cast<std::size_t>(buffer_of(static_cast<std::int64_t>(n)));
    arena.point_at(sections[n], values_[buffer], rounded ? copies_[buffer] : values_[buffer],
                   section_gradients_[buffer]);
  }
  arena.drop_whole();
}

// Blocks by turns; what stands before and behind them is used in every part of a pass, or large and used once.
std::int64_t ParameterParts::buffer_of(std::int64_t section) const {
  const auto last = static_cast<std::int64_t>(arena_.sections().size()) - 1;
  if (section == 0) return 0;
  return section == last ? 1 : 2 + section % 2;
}

Tensor ParameterParts::in_buffer(const std::vector<Tensor>& buffers, std::int64_t section) const {
  return buffers[static_cast<std::size_t>(buffer_of(section))].rows(
      0, arena_.sections()[static_cast<std::size_t>(section)].size());
}

Tensor ParameterParts::chunk_of(const Tensor& own, std::int64_t section) const {
  const Segment place = share_.place_of(share_.owned()[static_cast<std::size_t>(section)]);
  return own.rows(place.begin, place.end);
}

void ParameterParts::refresh(std::int64_t section) {
  if (copies_.empty()) return;
  Tensor copy = in_buffer(copies_, section);
  copy.copy_from(values(section));
}

void ParameterParts::take_gradients(std::int64_t section) {
  const Segment all = arena_.sections()[static_cast<std::size_t>(section)];
  Tensor gradients = section_gradients(section);
  for (std::size_t n = 0; n < arena_.size(); ++n) {
    const Parameter& parameter = *arena_[n];
    const Segment segment = parameter.segment();
    if (segment.begin < all.begin || segment.begin >= all.end) continue;
    if (parameter.var().grad().defined())
      received_[n] = true;
    else
      gradients.slice(segment.begin - all.begin, parameter.info().shape).fill(0);
    parameter.var().gradient().clear();
  }
}

std::vector<Segment> ParameterParts::spans_with_gradient() const {
  std::vector<Segment> spans;
  for (std::size_t n = 0; n < received_.size(); ++n) {
    if (!received_[n]) continue;
    const std::int64_t begin = arena_[n]->segment().begin;
    const std::int64_t end = n + 1 < arena_.size() ? arena_[n + 1]->segment().begin : arena_.sections().back().end;
    if (!spans.empty() && spans.back().end == begin)
      spans.back().end = end;
    else
      spans.push_back({begin, end});
  }
  return spans;
}

}  // namespace sink
