// Who is told which parameters a pass uses when: what ranks have of a model in parts is brought, and its gradients are
// taken away, while the rest is computed.
#pragma once

#include <cstdint>

namespace sink {

// Section 0 is what no other has (the embedding), 1 ... L are the blocks, L + 1 is what comes behind them.
struct SectionWatch {
  virtual ~SectionWatch() = default;
  // Forward: the section's parameters are read from here on.
  virtual void forward_begins(std::int64_t /*section*/) {}
  // Backward: the same, and behind it the section's gradients are whole.
  virtual void backward_begins(std::int64_t /*section*/) {}
  virtual void backward_ends(std::int64_t /*section*/) {}
};

}  // namespace sink
