// Heat maps of interventions that have a result for each layer and head, or for each layer and token.
#pragma once

#include <string>
#include <vector>

#include "eval/interventions/interventions.h"

namespace sink {

// One map for each group of results with a place, as SVG: layers are rows, the first at the top. Red: the loss rises;
// blue: it falls. Maps of tokens show the loss of the last target. `tokens`: their texts, or empty.
std::string place_maps_svg(const Interventions& interventions, const std::vector<std::string>& tokens);

}  // namespace sink
