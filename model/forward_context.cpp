#include "model/forward_context.h"

#include "engine/check.h"

namespace sink {

void set_decode_positions(ForwardContext& ctx, std::int64_t B, std::int64_t T, const Sizes& sizes) {
  SINK_CHECK(!ctx.documents.defined() && !ctx.documents.positions_BT.defined(), "transformer",
             "sequences that are read part by part are one document each");
  SINK_CHECK(ctx.cache->length() + T >= sizes.prefix, "transformer",
             "the first " + std::to_string(sizes.prefix) +
                 " tokens (prefix) see each other, and must be read at once; got " + std::to_string(T),
             Exit::usage);
  ctx.documents.positions_BT = ctx.cache->positions_of_next(B, T);
}

}  // namespace sink
