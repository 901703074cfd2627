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

[[gnu::constructor(101)]] void check_processor() {
  const char* missing = missing_extension();
  if (!missing) return;
  say("error: this program was built for a processor with ");
  say(missing);
  say(", which this one does not have; build it here");
  say(kBuiltFor.avx512f ? ", or with -DSINK_ARCH=x86-64-v3 for all since 2013\n" : "\n");
  _exit(7);
}

}  // namespace

void link_processor_check() {}

}  // namespace sink
