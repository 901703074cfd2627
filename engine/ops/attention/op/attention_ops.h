// All operations of this folder, for what enumerates them: the ablations, the tests that compare implementations, the
// benchmark.
#pragma once

#include "engine/ops/attention/op/clipped_softmax.h"
#include "engine/ops/attention/op/con_smax.h"
#include "engine/ops/attention/op/elu.h"
#include "engine/ops/attention/op/elu_norm.h"
#include "engine/ops/attention/op/entmax15.h"
#include "engine/ops/attention/op/linear.h"
#include "engine/ops/attention/op/linear_max_abs.h"
#include "engine/ops/attention/op/linear_norm.h"
#include "engine/ops/attention/op/p_norm_exp.h"
#include "engine/ops/attention/op/p_norm_sigmoid.h"
#include "engine/ops/attention/op/relu.h"
#include "engine/ops/attention/op/relu_n.h"
#include "engine/ops/attention/op/scaled_softmax.h"
#include "engine/ops/attention/op/sigmoid.h"
#include "engine/ops/attention/op/sigmoid_log_n.h"
#include "engine/ops/attention/op/sigmoid_norm.h"
#include "engine/ops/attention/op/soft_capped_softmax.h"
#include "engine/ops/attention/op/softmax.h"
#include "engine/ops/attention/op/softpick.h"
#include "engine/ops/attention/op/sparsemax.h"

// F(Softmax) F(ScaledSoftmax) ..., or those that a build compiles (SINK_ATTENTION_SET).
#ifndef SINK_ATTENTION_OPS
#define SINK_ATTENTION_OPS(F) \
  F(Softmax)                  \
  F(ScaledSoftmax)            \
  F(PNormExp)                 \
  F(PNormSigmoid)             \
  F(Sigmoid)                  \
  F(SigmoidNorm)              \
  F(SigmoidLogN)              \
  F(Elu)                      \
  F(EluNorm)                  \
  F(Relu)                     \
  F(ReluN)                    \
  F(Linear)                   \
  F(LinearNorm)               \
  F(LinearMaxAbs)             \
  F(Softpick)                 \
  F(ClippedSoftmax)           \
  F(Sparsemax)                \
  F(Entmax15)                 \
  F(SoftCappedSoftmax)        \
  F(ConSmax)
#endif
