// A number that an environment variable sets.
#include "engine/environment_number.h"

#include <doctest/doctest.h>

#include "engine/cuda/chosen_capability.h"
#include "tests/support/check_refused.h"

namespace sink {

TEST_CASE("a number of the environment is in its range, or refused") {
  auto read = [] { return environment_number_or("SINK_TEST_NUMBER", 3, "a number", 1, 16); };
  ::unsetenv("SINK_TEST_NUMBER");
  CHECK(read() == 3);
  ::setenv("SINK_TEST_NUMBER", "16", 1);
  CHECK(read() == 16);
  for (const char* wrong : {"", "0", "17", "-1", "4x", "four", " 4", "4.0", "99999999999"}) {
    ::setenv("SINK_TEST_NUMBER", wrong, 1);
    check_refused(read, {"SINK_TEST_NUMBER is expected to be a number from 1 to 16", "\"" + std::string(wrong) + "\""},
                  Exit::usage);
  }
  ::unsetenv("SINK_TEST_NUMBER");
}

TEST_CASE("SINK_COMPUTE_CAPABILITY is a compute capability up to the newest, or refused") {
  ::unsetenv("SINK_COMPUTE_CAPABILITY");
  CHECK(cuda::chosen_capability(86, 86) == 86);
  ::setenv("SINK_COMPUTE_CAPABILITY", "80", 1);
  CHECK(cuda::chosen_capability(90, 90) == 80);
  for (const char* wrong : {"9.0", "h100", "90a", "79", "91"}) {
    ::setenv("SINK_COMPUTE_CAPABILITY", wrong, 1);
    check_refused([] { cuda::chosen_capability(90, 90); },
                  {"SINK_COMPUTE_CAPABILITY", "(80 for 8.0) from 80 to 90", "\"" + std::string(wrong) + "\""},
                  Exit::usage);
  }
  ::unsetenv("SINK_COMPUTE_CAPABILITY");
}

TEST_CASE("SINK_COMPUTE_CAPABILITY=90, whose kernels run on 9.0 only, is refused on a newer GPU") {
  ::unsetenv("SINK_COMPUTE_CAPABILITY");
  CHECK(cuda::chosen_capability_of_gpu(120) == 120);
  ::setenv("SINK_COMPUTE_CAPABILITY", "90", 1);
  CHECK(cuda::chosen_capability_of_gpu(90) == 90);
  check_refused([] { cuda::chosen_capability_of_gpu(100); }, {"SINK_COMPUTE_CAPABILITY=90", "has 10.0", "80"},
                Exit::usage);
  check_refused([] { cuda::chosen_capability_of_gpu(121); }, {"SINK_COMPUTE_CAPABILITY=90", "has 12.1", "80"},
                Exit::usage);
  ::setenv("SINK_COMPUTE_CAPABILITY", "80", 1);
  CHECK(cuda::chosen_capability_of_gpu(120) == 80);
  ::unsetenv("SINK_COMPUTE_CAPABILITY");
}

}  // namespace sink
