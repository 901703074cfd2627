// The only place where an ablation is named: each struct line makes the binaries train_<name> and eval_<name>.
#pragma once

#include "engine/ops/attention/attention_op.h"
#include "model/feed_forward/swiglu_feed_forward.h"
#include "model/norm/rms_norm_layer.h"
#include "model/placement/pre_norm.h"
#include "model/position/learned_position.h"
#include "model/position/rotary_position.h"
#include "model/spec.h"

namespace sink::ablations {

// The default model of Gu et al. 2025.
struct baseline {
  using Position = Rotary;
  using Placement = PreNorm;
  using Norm = RmsNorm;
  using FeedForward = SwiGlu;
  using Attention = Softmax;
};

// One ablation, one line.
// clang-format off

// Weights that need not sum to one: nothing forces a token to receive what no other wants (Gu et al., section 7.4).
struct sigmoid : baseline { using Attention = Sigmoid; };
struct relu : baseline { using Attention = Relu; };

// Learned positions strengthen the sink (Gu et al., section 7.1) and are what the synthetic task was studied with.
struct learned : baseline { using Position = Learned; };
struct learned_sigmoid : learned { using Attention = Sigmoid; };
struct learned_relu : learned { using Attention = Relu; };

// clang-format on

}  // namespace sink::ablations
