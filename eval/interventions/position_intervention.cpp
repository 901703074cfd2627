#include "eval/interventions/position_intervention.h"

#include <algorithm>
#include <cstddef>

#include "engine/check.h"
#include "engine/io/parse_number.h"

namespace sink {

PositionIntervention position_intervention(const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string kind = text.substr(0, colon);
  const std::optional<std::int64_t> t = parse_number<std::int64_t>(text.substr(std::min(colon + 1, text.size())));
  if ((kind != "replace" && kind != "swap") || !t || *t < 2)
    throw Error(
        "--positions must be replace:T or swap:T with a position T from 2, such as replace:5; got `" + text + "`",
        Exit::usage);
  return {.swap = kind == "swap", .t = *t};
}

void apply_to_positions(LanguageModel& model, const PositionIntervention& intervention) {
  for (const auto& parameter : model.parameters()) {
    if (parameter->name() != "embedding.position.weight") continue;
    const Shape& shape_TC = parameter->info().shape;
    if (intervention.t > shape_TC[0])
      throw Error("--positions must be of one of the " + std::to_string(shape_TC[0]) + " positions of the model, got " +
                      std::to_string(intervention.t),
                  Exit::usage);
    SINK_CHECK(!parameter->stored(), "positions", "positions that are read in place cannot be edited");
    Tensor table_TC = parameter->master().clone().to(Device::cpu);
    auto* first = static_cast<std::byte*>(table_TC.raw());
    const std::size_t row = table_TC.bytes() / static_cast<std::size_t>(shape_TC[0]);
    std::byte* other = first + row * static_cast<std::size_t>(intervention.t - 1);
    if (intervention.swap)
      std::swap_ranges(first, first + row, other);
    else
      std::copy_n(other, row, first);
    parameter->mutable_master().copy_from(table_TC);
    model.parameters().refresh();
    return;
  }
  throw Error("--positions edits learned vectors of positions, and this model has none (gpt2, opt, pos_learnable have)",
              Exit::usage);
}

}  // namespace sink
