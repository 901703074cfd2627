// An answer to exercise 9 of the tour.
#pragma once

#include "model/ablations.h"

namespace sink::ablations {

struct my_ablation : pos_alibi {
  using Attention = Sigmoid;  // Relu does it, too
};

}  // namespace sink::ablations
