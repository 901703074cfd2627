// ParameterParts: the parameters of an arena of which each rank keeps its chunk of every section alone (ZeRO-3,
// Rajbhandari et al. 2020). A section is whole only while a pass uses it, in a buffer that other sections have at other
// times: the blocks, one after another, have two in turns, so that one can come while another is computed with. Its
// gradients gather in buffers likewise. Who brings and fetches them is train/parameter_traffic.h.
#pragma once

#include <vector>

#include "autograd/arena_share.h"
#include "autograd/parameter_arena.h"

namespace sink {

class ParameterParts {
 public:
  // Takes this rank's chunks out of an arena that has all numbers, and points its parameters at buffers.
  ParameterParts(ParameterArena& arena, ArenaShare share);

  // The numbers of this rank, as ArenaShare orders them, and their gradients.
  const Tensor& masters() const { return masters_; }
  const Tensor& gradients() const { return gradients_; }
  // Of one section.
  Tensor chunk_of(const Tensor& own, std::int64_t section) const;

  // Which buffer a section has, and the section in it. What products read follows from it by refresh().
  std::int64_t buffer_of(std::int64_t section) const;
  std::int64_t buffers() const { return static_cast<std::int64_t>(values_.size()); }
  Tensor values(std::int64_t section) const { return in_buffer(values_, section); }
  Tensor section_gradients(std::int64_t section) const { return in_buffer(section_gradients_, section); }
  void refresh(std::int64_t section);

  // A section's gradients are complete, and its buffer will be another's: remembers which parameters have one, and
  // makes it zero for the others.
  void take_gradients(std::int64_t section);
  // Of all parameters that had one when they were taken, joined over padding; then clear() begins a step anew.
  std::vector<Segment> spans_with_gradient() const;
  void clear() { received_.assign(received_.size(), false); }

 private:
  Tensor in_buffer(const std::vector<Tensor>& buffers, std::int64_t section) const;

  ParameterArena& arena_;
  ArenaShare share_;
  Tensor masters_, gradients_;
  std::vector<Tensor> values_, copies_, section_gradients_;  // by buffer; no copies where products read masters
  std::vector<bool> received_;                               // by parameter
};

}  // namespace sink
