// Pass: what goes through a model beside the numbers, from the call of loss or logits to every block.
#pragma once

#include <cstdint>

#include "autograd/tape.h"
#include "engine/data/batch.h"
#include "model/edit.h"
#include "model/key_value_cache.h"
#include "model/probe.h"

namespace sink {

// Who is told which parameters a pass uses when. Section 0 is what no other has (the embedding), 1 ... L the blocks,
// L + 1 what comes behind them.
struct SectionWatch {
  virtual ~SectionWatch() = default;
  // Forward: the section's parameters are read from here on, and are not read again before backward.
  virtual void forward_begins(std::int64_t /*section*/) {}
  virtual void forward_ends(std::int64_t /*section*/) {}
  // Backward: the same, and behind it the section's gradients are whole.
  virtual void backward_begins(std::int64_t /*section*/) {}
  virtual void backward_ends(std::int64_t /*section*/) {}
};

struct Pass {
  Probe* probe = nullptr;  // who watches; training passes none
  Edit* edit = nullptr;    // who changes what goes through; training passes none
  SectionWatch* sections = nullptr;
  // What the model has read of these sequences: the tokens follow those, and are added to it. Null: they are all.
  KeyValueCache* cache = nullptr;
  // Of packed sequences. loss takes them from its batch, whatever stands here.
  DocumentPlaces documents = {};
  std::int64_t layer = 0;  // the block that runs: the model counts it, callers leave it alone
  // Of a block the tape keeps the input alone, and backward runs the block once more; without a probe, which would see
  // both runs.
  bool recompute = false;

  // What a model calls where a section's forward begins and ends.
  void enter(std::int64_t section) const {
    if (!sections) return;
    sections->forward_begins(section);
    Tape::on_return([watch = sections, section] { watch->backward_ends(section); });
  }
  void leave(std::int64_t section) const {
    if (!sections) return;
    sections->forward_ends(section);
    Tape::on_return([watch = sections, section] { watch->backward_begins(section); });
  }
};

}  // namespace sink
