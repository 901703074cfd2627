// Declares the backends of an operation, which have the signature of the operation: ref::op (plain loops in double),
// cpu::op (F32 and BF16, all threads) and cuda::op (a GPU or the emulated device). sink::op checks its arguments and
// selects a backend with SINK_SELECT (engine/implementation.h).
//
// Backends call other operations by their full names, as in sink::matmul(...), which check their arguments.
#pragma once

// In namespace sink, after the declaration of op.
#define SINK_BACKENDS(op) SINK_DECLARE_BACKENDS(decltype(::sink::op) op)

// The same for a template, whose declaration is the argument.
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
