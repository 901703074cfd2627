// Running the reference for a while.
#pragma once

#include "engine/implementation.h"

namespace sink {

// While one lives, every operation runs its reference.
struct WithReference {
  WithReference() { use_reference() = true; }
  ~WithReference() { use_reference() = false; }
  WithReference(const WithReference&) = delete;
  WithReference& operator=(const WithReference&) = delete;
};

// What f() returns while every operation runs its reference.
template <class F>
auto in_reference(F&& f) {
  WithReference on;
  return f();
}

}  // namespace sink
