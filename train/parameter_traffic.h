// ParameterTraffic: brings the parameters of which every rank keeps a part (autograd/parameter_parts.h, --zero 3) to
// where a pass uses them, a section ahead of it, and takes its gradients away: each rank gets the sum over ranks, in
// their order, of its own part.
#pragma once

#include "autograd/parameter_parts.h"
#include "engine/comm/communicator.h"
#include "model/section_watch.h"

namespace sink {

class ParameterTraffic : public SectionWatch {
 public:
  ParameterTraffic(ParameterArena& arena, const ArenaShare& share, Communicator& ranks)
      : parts_(arena, share),
        ranks_(ranks),
        sections_(static_cast<std::int64_t>(arena.sections().size())),
        in_buffer_(static_cast<std::size_t>(parts_.buffers())) {}

  ParameterParts& parts() { return parts_; }

  // Around a micro-batch of a step: the gradients of the first one replace what there was, others are added.
  void begin_round(std::int64_t round) { adds_ = round > 0; }
  void end_round() { ranks_.wait(); }
  // When the parts were updated: what stands in buffers is of before.
  void forget();

  void forward_begins(std::int64_t section) override { bring(section, section + 1); }
  void backward_begins(std::int64_t section) override { bring(section, section - 1); }
  void backward_ends(std::int64_t section) override;

 private:
  struct InBuffer {
    std::int64_t section = -1;  // that is there or on its way
    std::uint64_t number = 0;   // of the collective that brings it
    bool has_come = false;
  };
  void bring(std::int64_t section, std::int64_t next);
  void send_for(std::int64_t section);

  ParameterParts parts_;
  Communicator& ranks_;
  std::int64_t sections_;
  bool adds_ = false;
  std::vector<InBuffer> in_buffer_;
};

}  // namespace sink
