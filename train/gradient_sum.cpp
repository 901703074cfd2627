#include "train/gradient_sum.h"

#include "autograd/tape.h"
#include "engine/ops/add/add.h"

namespace sink {

GradientSum::GradientSum(ParameterArena& parameters, Communicator& ranks, std::int64_t rounds, bool ordered,
                         bool everywhere)
    : parameters_(parameters), ranks_(ranks), rounds_(rounds), ordered_(ordered), everywhere_(everywhere) {
  if (!sums_rounds()) return;
  const Tensor& gradients = parameters.gradients();
  for (const Segment& section : parameters.sections())
    sums_.push_back(gradients.new_zeros({section.size() / ranks.size()}, gradients.dtype()));
}

Tensor GradientSum::section(const Tensor& whole, std::int64_t n) const {
  const Segment& segment = parameters_.sections()[static_cast<std::size_t>(n)];
  return whole.rows(segment.begin, segment.end);
}

void GradientSum::begin_round(std::int64_t round) {
  round_ = round;
  handed_over_ = 0;
  if (sums_rounds() && round > 0) parameters_.clear_gradients();
}

void GradientSum::reduce_on_return(std::int64_t n) {
  if (!ranks_.alone()) Tape::on_return([this, n] { reduce(n); });
}

void GradientSum::reduce(std::int64_t n) {
  if (!ordered_ && !is_last()) return;
  ++handed_over_;
  Tensor whole = section(parameters_.gradients(), n);
  if (sums_rounds()) {
    ranks_.reduce_scatter(whole, sums_[static_cast<std::size_t>(n)], /*add=*/round_ > 0);
  } else {
    Tensor chunk = ranks_.chunk_of(whole);
    ranks_.reduce_scatter(whole, chunk, /*add=*/false);
    if (everywhere_) ranks_.all_gather(whole);
  }
}

void GradientSum::end_round() {
  if (ranks_.alone()) return end_of_one_rank();
  reduce(0);
  const auto sections = static_cast<std::int64_t>(parameters_.sections().size());
  if (ordered_ || is_last())
    SINK_CHECK(handed_over_ == sections, "ranks",
               "expected gradients of " + std::to_string(sections) + " sections, backward was through with " +
                   std::to_string(handed_over_));
  ranks_.wait();
  if (!sums_rounds() || !is_last()) return;
  for (std::int64_t n = 0; n < sections; ++n) {
    Tensor whole = section(parameters_.gradients(), n), chunk = ranks_.chunk_of(whole);
    chunk.copy_from(sums_[static_cast<std::size_t>(n)]);
    if (everywhere_) ranks_.all_gather(whole);
  }
  if (everywhere_) ranks_.wait();
}

// The last sum is taken where the optimiser looks for it: a + b is b + a.
void GradientSum::end_of_one_rank() {
  if (!sums_rounds()) return;
  for (std::size_t n = 0; n < sums_.size(); ++n) {
    Tensor gradients = section(parameters_.gradients(), static_cast<std::int64_t>(n));
    if (round_ == 0)
      sums_[n].copy_from(gradients);
    else if (is_last())
      add_into(gradients, sums_[n]);
    else
      add_into(sums_[n], gradients);
  }
}

}  // namespace sink
