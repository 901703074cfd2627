// The environment variable that chooses the kernels of a compute capability.
#include "engine/cuda/chosen_capability.h"

#include <doctest/doctest.h>

#include "tests/support/check_refused.h"

namespace sink {

TEST_CASE("SINK_COMPUTE_CAPABILITY is a compute capability up to the newest, or refused") {
  ::unsetenv("SINK_COMPUTE_CAPABILITY");
  CHECK(cuda::chosen_capability(86, 86) == 86);
  ::setenv("SINK_COMPUTE_CAPABILITY", "80", 1);
  CHECK(cuda::chosen_capability(90, 90) == 80);
  for (const char* wrong : {"", "9.0", "h100", "90a", "-80", "79", "91"}) {
    ::setenv("SINK_COMPUTE_CAPABILITY", wrong, 1);
    check_refused([] { cuda::chosen_capability(90, 90); },
                  {"SINK_COMPUTE_CAPABILITY", "80 (for 8.0) to 90", "\"" + std::string(wrong) + "\""}, Exit::usage);
  }
  ::unsetenv("SINK_COMPUTE_CAPABILITY");
}

}  // namespace sink
