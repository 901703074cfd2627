#!/usr/bin/env bash
# Builds Sinklab and runs its tests.
#   bash tools/test.sh                 the release build and its tests, without CUDA; of the longest tests a part
#   bash tools/test.sh --all           these tests with the CUDA kernels on the emulated device, gdb on a debug build,
#                                      AddressSanitizer and UBSan, ThreadSanitizer, the fuzz targets (5 s each), the
#                                      Python module (by $SINKLAB_PYTHON, or by a virtual environment in build/ with what
#                                      tests/python/requirements.txt lists) and, if nvcc is there, a program for a GPU
#   bash tools/test.sh --op norm       one operation of engine/ops, release: builds and runs its tests and the gradients'
set -euo pipefail
cd "$(dirname "$0")/.."

all=0
op=""
case "${1:-}" in
  "") ;;
  --all) all=1 ;;
  --op)
    op=${2:-}
    operations=$(echo attention; grep -lE '^SINK_(DECLARE_)?BACKENDS\(' engine/ops/*/*.h | xargs -n 1 basename -s .h)
    grep -qx -- "$op" <<<"$operations" ||
      { echo "test: error: --op '$op' is no operation (expected one of: ${operations//$'\n'/ })" >&2; exit 2; } ;;
  -h|--help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
  *) echo "test: error: unknown argument '$1' (expected nothing, --all or --op NAME)" >&2; exit 2 ;;
esac

report=()  # a line per part: what it was and how long it took
# finish_part NAME START
finish_part() { report+=("$(printf '%-10s %4d s' "$1" $((SECONDS - $2)))"); }

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
  run_ctest "$preset" "$@"
  finish_part "$preset" $began
}

skipped=""  # names of tests that lack a package or a device here
# run_ctest PRESET [ctest arguments]
run_ctest() {
  local output
  output=$(mktemp)
  ctest --preset "$@" | tee "$output"
  skipped+=$(sed -n 's/^\t *[0-9]* - \(.*\) (Skipped)$/ \1/p' "$output" | tr -d '\n')
  rm -f "$output"
}

if [ -n "$op" ]; then
  tests=()
  [ "$op" != attention ] || tests+=(gradients_test)
  for source in tests/engine/ops/"$op"{,_*}_test.cpp; do
    test=$(basename "$source" _test.cpp)
    if [ -f "$source" ] && { [ "$test" = "$op" ] || ! grep -qx -- "$test" <<<"$operations"; }; then tests+=("${test}_test"); fi
  done
  build_and_test release "${tests[@]}" -- -R "^($(IFS='|'; echo "${tests[*]}"))\$"
  exit 0
fi

# check_disk GB: that build/ can grow to so much.
check_disk() {
  local free used=0
  free=$(df --output=avail -B 1M . | tail -n 1)
  [ ! -d build ] || used=$(du -sm build | cut -f1)
  [ $((free + used)) -ge $(($1 * 1000)) ] ||
    { echo "test: error: the builds take $1 GB of disk, of which $used MB are there and $free MB are free; free some" >&2; exit 8; }
}
check_disk $((all ? 13 : 3))

# Prints the Python that builds and tests the module.
python_for_tests() {
  local python=${SINKLAB_PYTHON:-$PWD/build/test_python/bin/python}
  if [ -z "${SINKLAB_PYTHON:-}" ]; then
    python3 -m venv build/test_python >&2 && "$python" -m pip install -q -r tests/python/requirements.txt >&2 || return 1
  fi
  command -v "$python"
}

# CMake tells ctest which tests take the whole machine. Of the others, two more than there are cores run side by side,
# because they wait for programs, files and time limits.
side_by_side=(-- -j $(($(nproc) + 2)))
bash tools/setup.sh --tests
# The interpreter itself: the script that pyenv puts in its place takes a tenth of a second, in each of hundreds of starts.
PATH=$(dirname "$(python3 -c 'import sys; print(sys.executable)')"):$PATH
if [ "$all" -eq 1 ]; then
  cmake --preset debug -DSINK_CUDA=EMULATED "-DSINK_ATTENTION_SET=Softmax;Sigmoid" \
    "-DSINK_ABLATION_SET=pos_learnable;op_sigmoid_none;bias_k;baseline;norm_layer" >/dev/null  # gdb steps into kernels, too
  build_and_test debug tour train_{pos_learnable,op_sigmoid_none,bias_k,baseline,norm_layer} eval_baseline "${side_by_side[@]}" -R ^gdb_
  build_and_test asan "${side_by_side[@]}"
  build_and_test tsan -- -j 2
  if echo 'int main() {}' | clang++ -x c++ -fsanitize=fuzzer-no-link,address - -o /dev/null 2>/dev/null; then
    build_and_test fuzz -- -j 2
  else
    report+=("fuzz       left out: there is no clang with libFuzzer")
  fi
  if command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
    began=$SECONDS
    echo "test: preset cuda, a program for sm_80"
    # Of the attention operations the one the program has and one with parameters and r; the rest differ in g, z and post.
    # The objects of the CPU are those of the preset emulated below, which the compiler cache then has.
    cmake --preset cuda -B build/cuda_sm80 -DCMAKE_CUDA_FLAGS_RELEASE=-DNDEBUG -DSINK_JOIN_SOURCES=ON -DSINK_TESTS=OFF \
      -DCMAKE_CUDA_ARCHITECTURES=80-real "-DSINK_ATTENTION_SET=Softmax;PNormSigmoid" -DSINK_ABLATION_SET=baseline >/dev/null
    cmake --build build/cuda_sm80 --target train_baseline
    bash tests/tools/without_gpu_test.sh build/cuda_sm80/train_baseline || [ $? -eq 77 ]
    finish_part cuda $began
  else
    report+=("cuda       left out: there is no nvcc")
  fi
  began=$SECONDS
  echo "test: preset quickstart, what a new user builds first"
  cmake --preset quickstart >/dev/null
  cmake --build --preset quickstart
  finish_part quickstart $began
  # A release build that has the CUDA kernels and the Python module: it runs every test of release. Joined sources compile
  # sooner. The Python with packages also runs the tests that compare with them.
  # Programs are made of the families and of the ablations whose programs tests run; the mathematics of the others is
  # compiled several at a time, for sinklab, sweep and the tests. A test whose program is missing fails.
  programs=$(sed -n '/^\/\/ Families of open models/,$s/^struct \([a-z0-9_]*\).*/\1;/p' model/ablations.h | tr -d '\n')
  programs+="baseline;pos_alibi;pos_t5;pos_learnable;pos_learnable_sigmoid;pos_learnable_relu;bias_sinktoken;bias_kv;bias_k;"
  programs+="op_sigmoid_none;op_relu;op_softpick;op_clipped;op_sink_logit;kern_elu_norm;kern_id_norm"
  options=(-DSINK_JOIN_SOURCES=ON "-DSINK_PROGRAMS=$programs")
  if python=$(python_for_tests); then
    options+=(-DSINK_PYTHON=ON "-DPython_EXECUTABLE=$python" "-DPYTHON3=$python")
    bash tools/corpus/get_smollm2.sh >/dev/null || echo "test: without SmolLM2 the examples of tools/python/README.md are skipped"
  else
    report+=("python     left out: pip could not install tests/python/requirements.txt (SINKLAB_PYTHON names a Python that has it)")
  fi
  cmake --preset emulated "${options[@]}" >/dev/null
  build_and_test emulated all benchmarks "${side_by_side[@]}"
else
  export SINK_SHORT_TESTS=1
  build_and_test release "${side_by_side[@]}"
fi
printf 'test: passed, in %d min %02d s:\n' $((SECONDS / 60)) $((SECONDS % 60))
printf 'test:   %s\n' "${report[@]}"
[ -z "$skipped" ] || echo "test: skipped, for a package or a device that is not here:$skipped"
