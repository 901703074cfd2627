#!/usr/bin/env bash
# Builds everything and runs all tests in release, walks a debug build with gdb, then runs all tests again under
# AddressSanitizer and UBSan, runs threads under ThreadSanitizer and fuzzes every reader of files for half a minute.
#   bash tools/test.sh            all of it
#   bash tools/test.sh --quick    release only
set -euo pipefail
cd "$(dirname "$0")/.."

quick=0
case "${1:-}" in
  "") ;;
  --quick) quick=1 ;;
  *) echo "test: error: unknown argument '$1' (expected nothing or --quick)" >&2; exit 2 ;;
esac

# build_and_test PRESET [CMake targets] [-- ctest arguments]
build_and_test() {
  local preset=$1 targets=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do targets+=(--target "$1"); shift; done
  [ $# -eq 0 ] || shift
  echo "test: preset $preset"
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" "${targets[@]}"
  ctest --preset "$preset" "$@"
}

bash tools/setup.sh --tests
if [ "$quick" -eq 0 ]; then
  build_and_test debug train_pos_learnable -- -R gdb_stages
  build_and_test asan
  build_and_test tsan
  if echo 'int main() {}' | clang++ -x c++ -fsanitize=fuzzer-no-link,address - -o /dev/null 2>/dev/null; then
    build_and_test fuzz -- -j 2
  else
    echo "test: no clang with libFuzzer; the fuzz targets are left out"
  fi
fi
build_and_test release  # last, so that the closing line counts every test
