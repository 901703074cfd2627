// Compiled for any x86-64 (CMakeLists.txt), and without the standard library, whose templates other sources compile
// for the processor of the build.
#include "engine/io/processor.h"

#include <string.h>
#include <unistd.h>

namespace sink {
namespace {

void say(const char* text) {
  if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

#ifdef __x86_64__
[[gnu::constructor(101)]] void check_processor() {
  __builtin_cpu_init();
  const char* missing = nullptr;
#define SINK_LOOK(name, macro) \
  if (!missing && kBuiltFor.name && !__builtin_cpu_supports(#name)) missing = #name;
  SINK_PROCESSOR_EXTENSIONS(SINK_LOOK)
#undef SINK_LOOK
  if (!missing) return;
  say("error: this program was built for a processor with ");
  say(missing);
  say(", which this one does not have; build it here, or with -DSINK_ARCH=x86-64-v3 for all since 2013\n");
  _exit(7);
}
#endif

}  // namespace

void link_processor_check() {}

}  // namespace sink
