#include "eval/interventions/position_edit.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>

#include "engine/check.h"

namespace sink {

PositionEdit position_edit(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  PositionEdit edit{.swap = kind == "swap", .t = 0};
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + std::min(colon, text.size() - 1) + 1, end, edit.t);
  if ((kind != "replace" && kind != "swap") || colon == std::string::npos || read.ec != std::errc() ||
      read.ptr != end || edit.t < 2)
    throw Error(
        "--positions must be replace:T or swap:T with a position T from 2, such as replace:5; got `" + text + "`",
        Exit::usage);
  return edit;
}

void edit_positions(LanguageModel& model, const PositionEdit& edit) {
  for (const auto& parameter : model.parameters()) {
    if (parameter->name() != "embedding.position.weight") continue;
    const Shape& shape_TC = parameter->info().shape;
    if (edit.t > shape_TC[0])
      throw Error("--positions must be of one of the " + std::to_string(shape_TC[0]) + " positions of the model, got " +
                      std::to_string(edit.t),
                  Exit::usage);
    SINK_CHECK(!parameter->stored(), "positions", "positions that are read in place cannot be edited");
    Tensor table_TC = parameter->master().clone().to(Device::cpu);
    auto* first = static_cast<std::byte*>(table_TC.raw());
    const std::size_t row = table_TC.bytes() / static_cast<std::size_t>(shape_TC[0]);
    std::byte* other = first + row * static_cast<std::size_t>(edit.t - 1);
    if (edit.swap)
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
