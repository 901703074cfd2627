// Exercise 9 of the tour: an ablation of your own.
#pragma once

#include "model/ablations.h"

namespace sink::ablations {

// Choose its position and its attention operation: order enters by ALiBi, and a query whose scores are all low gives
// next to nothing to any key. Everything else is the baseline's. One or two `using` lines, as in model/ablations.h.
struct my_ablation : baseline {};  // yours

}  // namespace sink::ablations
