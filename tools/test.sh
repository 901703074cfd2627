#!/usr/bin/env bash
# Walks a debug build with gdb, runs the tests under AddressSanitizer and UBSan (every operation and reader, a model of
# each policy), threads under ThreadSanitizer, fuzzes every reader of files for 20 seconds, and runs all tests in
# release, with the CUDA kernels on the emulated device, under those sanitizers, too; where nvcc is, it builds a program
# for a GPU.
#   bash tools/test.sh                 all of it
#   bash tools/test.sh --quick         release only, without CUDA
#   bash tools/test.sh --op rms_norm   one operation of engine/ops, release: builds and runs its tests and the gradients'
set -euo pipefail
cd "$(dirname "$0")/.."

quick=0
op=""
case "${1:-}" in
  "") ;;
  --quick) quick=1 ;;
  --op)
    op=${2:-}
    operations=$(echo attention; grep -lE '^SINK_(DECLARE_)?BACKENDS\(' engine/ops/*/*.h | xargs -n 1 basename -s .h)
    grep -qx -- "$op" <<<"$operations" ||
      { echo "test: error: --op '$op' is no operation (expected one of: ${operations//$'\n'/ })" >&2; exit 2; } ;;
  *) echo "test: error: unknown argument '$1' (expected nothing, --quick or --op NAME)" >&2; exit 2 ;;
esac

# build_and_test PRESET [CMake targets] [-- ctest arguments]
build_and_test() {
  local preset=$1 targets=() began=$SECONDS
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do targets+=(--target "$1"); shift; done
  [ $# -eq 0 ] || shift
  echo "test: preset $preset"
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" "${targets[@]}"
  echo "test: preset $preset: built in $((SECONDS - began)) s"
  ctest --preset "$preset" "$@"
}

if [ -n "$op" ]; then
  tests=(gradients_test)
  for source in tests/engine/ops/"$op"{,_*}_test.cpp; do
    test=$(basename "$source" _test.cpp)
    if [ -f "$source" ] && { [ "$test" = "$op" ] || ! grep -qx -- "$test" <<<"$operations"; }; then tests+=("${test}_test"); fi
  done
  build_and_test release "${tests[@]}" -- -R "^($(IFS='|'; echo "${tests[*]}"))\$"
  exit 0
fi

# Tests that use no threads run side by side; CMake tells ctest which ones take the whole machine.
side_by_side=(-- -j "$(nproc)")
bash tools/setup.sh --tests
if [ "$quick" -eq 0 ]; then
  cmake --preset debug -DSINK_CUDA=EMULATED >/dev/null  # gdb walks into kernels, too
  build_and_test debug tour train_{pos_learnable,op_sigmoid_none,bias_k,baseline,norm_layer} eval_baseline "${side_by_side[@]}" -R ^gdb_
  build_and_test asan "${side_by_side[@]}"
  build_and_test tsan -- -j 2
  if echo 'int main() {}' | clang++ -x c++ -fsanitize=fuzzer-no-link,address - -o /dev/null 2>/dev/null; then
    build_and_test fuzz -- -j 2
  else
    echo "test: no clang with libFuzzer; the fuzz targets are left out"
  fi
fi
if [ "$quick" -eq 1 ]; then
  build_and_test release "${side_by_side[@]}"
  exit 0
fi
if command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
  began=$SECONDS
  echo "test: preset cuda, a program for sm_80"
  # Of sixteen attention operations the one the program has and two with the most numbers; the rest differ in g and z.
  cmake --preset cuda -B build/cuda_sm80 -DCMAKE_CUDA_ARCHITECTURES=80-real -DSINK_TESTS=OFF \
    "-DSINK_CUDA_OPERATIONS=Softmax;ClippedSoftmax;PNormSigmoid" >/dev/null
  cmake --build build/cuda_sm80 --target train_baseline
  bash tests/tools/without_gpu_test.sh build/cuda_sm80/train_baseline || [ $? -eq 77 ]
  echo "test: preset cuda: built in $((SECONDS - began)) s"
fi
echo "test: preset quickstart, what a new user builds first"
cmake --preset quickstart >/dev/null
cmake --build --preset quickstart
build_and_test emulated "${side_by_side[@]}"  # last, so that the closing line counts every test
