// A program that was built for another processor ends with a sentence and exit code 7, not with SIGILL.
#pragma once

namespace sink {

// Extensions of x86-64 that a build may use: GCC's name, and its macro where -march includes it.
#define SINK_PROCESSOR_EXTENSIONS(X) \
  X(avx2, __AVX2__)                  \
  X(fma, __FMA__)                    \
  X(avx512f, __AVX512F__)            \
  X(avx512bw, __AVX512BW__)          \
  X(avx512dq, __AVX512DQ__)          \
  X(avx512vl, __AVX512VL__)          \
  X(avx512vbmi, __AVX512VBMI__)      \
  X(avx512vnni, __AVX512VNNI__)      \
  X(avx512bf16, __AVX512BF16__)

struct ProcessorExtensions {
#define SINK_EXTENSION(name, macro) bool name;
  SINK_PROCESSOR_EXTENSIONS(SINK_EXTENSION)
#undef SINK_EXTENSION
};
extern const ProcessorExtensions kBuiltFor;

// An extension that the build uses and this processor lacks; nullptr if there is none. For sources that are compiled
// for any x86-64.
inline const char* missing_extension() {
#ifdef __x86_64__
  __builtin_cpu_init();
#define SINK_LOOK(name, macro) \
  if (kBuiltFor.name && !__builtin_cpu_supports(#name)) return #name;
  SINK_PROCESSOR_EXTENSIONS(SINK_LOOK)
#undef SINK_LOOK
#endif
  return nullptr;
}

// Links the check, which runs before main() and before other static objects are made.
void link_processor_check();

}  // namespace sink
