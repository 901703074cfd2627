// Pass: what goes through a model beside the numbers, from the call of loss or logits to every block.
#pragma once

#include <cstdint>

#include "engine/data/batch.h"
#include "model/edit.h"
#include "model/key_value_cache.h"
#include "model/probe.h"

namespace sink {

struct Pass {
  Probe* probe = nullptr;  // who watches; training passes none
  Edit* edit = nullptr;    // who changes what goes through; training passes none
  // What the model has read of these sequences: the tokens follow those, and are added to it. Null: they are all.
  KeyValueCache* cache = nullptr;
  // Of packed sequences. loss takes them from its batch, whatever stands here.
  DocumentPlaces documents = {};
  std::int64_t layer = 0;  // the block that runs: the model counts it, callers leave it alone
  // Of a block the tape keeps the input alone, and backward runs the block once more; without a probe, which would see
  // both runs.
  bool recompute = false;
};

}  // namespace sink
