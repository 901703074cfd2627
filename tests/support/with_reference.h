// While one lives, every operation runs its reference.
#pragma once

#include "engine/implementation.h"

namespace sink {

struct WithReference {
  WithReference() { use_reference() = true; }
  ~WithReference() { use_reference() = false; }
  WithReference(const WithReference&) = delete;
  WithReference& operator=(const WithReference&) = delete;
};

}  // namespace sink
