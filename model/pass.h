// Pass: what goes through a model beside the numbers, from the call of loss or logits to every block.
#pragma once

#include <cstdint>

#include "model/probe.h"

namespace sink {

struct Pass {
  Probe* probe = nullptr;  // who watches; training passes none
  std::int64_t layer = 0;  // the block that runs: the model counts it, callers leave it alone
};

}  // namespace sink
