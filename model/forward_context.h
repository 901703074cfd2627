// ForwardContext: the arguments of a forward pass besides the tokens, passed down to every layer.
#pragma once

#include <cstdint>

#include "engine/data/batch.h"
#include "model/forward_hooks.h"
#include "model/key_value_cache.h"
#include "model/sizes.h"

namespace sink {

struct ForwardContext {
  ForwardHooks* hooks = &ForwardHooks::none();  // read or replace tensors during the pass
  // Keys and values of the tokens before these; the model appends those of these tokens. Null: no tokens before.
  KeyValueCache* cache = nullptr;
  // Documents of packed sequences; loss() takes them from its batch.
  DocumentPlaces documents = {};
  // The tape keeps only the input of each block, and backward runs the block again (Chen et al. 2016). Hooks see both
  // runs.
  bool gradient_checkpointing = false;
  std::int64_t layer = 0;  // the current block, set by the model

  ForwardContext in_layer(std::int64_t l) const {
    ForwardContext context = *this;
    context.layer = l;
    return context;
  }
  // The position of the first of these tokens.
  std::int64_t first_position() const { return cache ? cache->length() : 0; }
};

}  // namespace sink
