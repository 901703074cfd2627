// Declares the backends of an operation. Each has the signature of the operation: ref::op computes in double in plain
// loops, cpu::op is what trains (F32 and BF16, all threads), and cuda::op is that for a GPU or the emulated one.
// sink::op checks its arguments and calls SINK_SELECT (engine/implementation.h), which picks one.
//
// Code in these namespaces calls another operation by its full name, as in sink::matmul(...): the checked one.
#pragma once

// SINK_BACKENDS(rms_norm) within namespace sink, after the declaration of rms_norm.
#define SINK_BACKENDS(op) SINK_DECLARE_BACKENDS(decltype(::sink::op) op)

// The same for a template, which has to be written out.
#define SINK_DECLARE_BACKENDS(...) \
  namespace ref {                  \
  __VA_ARGS__;                     \
  }                                \
  namespace cpu {                  \
  __VA_ARGS__;                     \
  }                                \
  namespace cuda {                 \
  __VA_ARGS__;                     \
  }
