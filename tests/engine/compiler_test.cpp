// What the flags of the build keep the compiler from: constants that it stored wrongly.
#include <doctest/doctest.h>

// GCC 12.2 with AVX-512 and -O2 wrote eight ones at the beginning, where it may make vectors of straight code.
[[gnu::noinline]] static void store_constants(double* p) {
  const double constants[] = {1, 1, 1, 1, 1, 1, 0, 0, 1, -1, 1, -1, -1, -1, 0, 0};
  for (int i = 0; i < 16; ++i) p[i] = constants[i];
}

TEST_CASE("compiler: constants are stored as they are written") {
  double p[16];
  store_constants(p);
  for (int i = 0; i < 6; ++i) CHECK(p[i] == 1);
  CHECK(p[6] == 0);
  CHECK(p[7] == 0);
}
