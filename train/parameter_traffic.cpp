#include "train/parameter_traffic.h"

namespace sink {

void ParameterTraffic::forget() { in_buffer_.assign(in_buffer_.size(), {}); }

void ParameterTraffic::send_for(std::int64_t section) {
  InBuffer& buffer = in_buffer_[static_cast<std::size_t>(parts_.buffer_of(section))];
  if (buffer.section == section) return;
  Tensor values = parts_.values(section), own = ranks_.chunk_of(values);
  own.copy_from(parts_.chunk_of(parts_.masters(), section));
  ranks_.all_gather(values);
  buffer = {section, ranks_.called(), false};
}

// `next` is a block that this one does not share its buffer with.
void ParameterTraffic::bring(std::int64_t section, std::int64_t next) {
  if (section >= sections_) return;
  send_for(section);
  InBuffer& buffer = in_buffer_[static_cast<std::size_t>(parts_.buffer_of(section))];
  if (!buffer.has_come) {
    ranks_.wait_for_first(buffer.number);
    parts_.refresh(section);
    buffer.has_come = true;
  }
  if (next > 0 && next < sections_) send_for(next);
}

void ParameterTraffic::backward_ends(std::int64_t section) {
  if (section >= sections_) return;
  parts_.take_gradients(section);
  Tensor gradients = parts_.section_gradients(section), own = parts_.chunk_of(parts_.gradients(), section);
  ranks_.reduce_scatter(gradients, own, adds_);
}

}  // namespace sink
