// A check of arguments that many operations share.
#pragma once

#include <string>

#include "engine/tensor.h"

namespace sink {

// x must have the shape and element type of `like`.
inline void check_like(const char* tag, const char* name, const Tensor& x, const Tensor& like) {
  SINK_CHECK(x.shape() == like.shape() && x.dtype() == like.dtype(), tag,
             std::string("expected ") + name + " to be " + like.str() + ", got " + x.str());
}

}  // namespace sink
