// The rotation of one pair of elements.
#pragma once

#include "engine/host_device.h"

namespace sink {

template <class R>
struct Pair {
  R first, second;
};

template <class R>
SINK_HD Pair<R> rotate(R first, R second, R cos, R sin) {
  return {first * cos - second * sin, first * sin + second * cos};
}

}  // namespace sink
