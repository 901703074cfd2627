// ForwardContext: what goes through a model with the tokens, from the call of loss or logits to every layer.
#pragma once

#include <cstdint>

#include "engine/data/batch.h"
#include "model/forward_hooks.h"
#include "model/key_value_cache.h"
#include "model/sizes.h"

namespace sink {

struct ForwardContext {
  ForwardHooks* hooks = &ForwardHooks::none();  // looks at tensors on their way, or replaces them
  // Keys and values of the tokens that came before these; the model adds those of these tokens. Null: none came before.
  KeyValueCache* cache = nullptr;
  // Of packed sequences. loss takes them from its batch.
  DocumentPlaces documents = {};
  // The tape keeps the input of each block only, and backward runs the block a second time (Chen et al. 2016). Hooks
  // would see both runs.
  bool gradient_checkpointing = false;
  std::int64_t layer = 0;  // the block that runs, set by the model

  ForwardContext in_layer(std::int64_t l) const {
    ForwardContext context = *this;
    context.layer = l;
    return context;
  }
  // The position of the first of these tokens.
  std::int64_t first_position() const { return cache ? cache->length() : 0; }
};

// The positions of T tokens more in each of B sequences: those after the cache's. Throws Error where the context has
// documents, or where a part of a prefix, whose tokens see each other, would be read alone.
void set_decode_positions(ForwardContext& ctx, std::int64_t B, std::int64_t T, const Sizes& sizes);

}  // namespace sink
