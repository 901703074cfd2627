#!/usr/bin/env bash
# The project in this folder against an installation of the build that this test belongs to, moved to another folder: it is
# configured, built and run, and the values of its own attention operation are those of train_op_sigmoid_none. A library that is missing is named by a
# sentence. A project that adds the checkout has Sinklab's libraries and no program or test of it. With SINK_SHORT_TESTS
# the experiment alone is compiled: not its check, the program written by hand, the README's operation and the checkout.
#   consumer_test.sh BUILD COMPILER
set -euo pipefail
cd "$(dirname "$0")/../.."
source=$(pwd)
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "consumer_test: error: $1" >&2; exit 1; }
# try COMMAND: prints its output only if it fails
try() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "$*"; }; }
# configure NAME [arguments]: the project in $work/NAME
configure() {
  cmake -G Ninja -S "$work/project" -B "$work/$1" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_COMPILER=$compiler" "${@:2}"
}
compiler=$2
cp -r tests/consumer "$work/project"
if [ -z "${SINK_SHORT_TESTS:-}" ]; then
  {
    echo 'namespace sink::ablations {'
    sed -n '/^struct softplus_norm : baseline {$/,/^};$/p' README.md
    echo '}'
  } >>"$work/project/my_attention.h"
  grep -q '^struct softplus_norm' "$work/project/my_attention.h" || fail "README.md has no softplus_norm"
fi

try cmake --install "$build" --prefix "$work/installed" --component development
[ ! -e "$work/installed/bin" ] || fail "the component development has programs"
mv "$work/installed" "$work/moved"
! grep -rnF -e "$source/" -e "$build" -e "$work/installed" "$work/moved/lib/cmake" || fail "the package names folders of the build"

# headers ROOT: of the libraries
headers() { (cd "$1" && find engine autograd model eval train -name '*.h' -o -name '*.cuh' -o -name '*.def' | sort); }
diff <(headers .) <(headers "$work/moved/include/sinklab") || fail "headers are missing (<)"

try configure found "-DCMAKE_PREFIX_PATH=$work/moved"
try ninja -C "$work/found" ${SINK_SHORT_TESTS:+train_mine eval_mine}
# values PROGRAM: trains it and writes $work/PROGRAM.values, its losses, alpha_1 and the gradients' norms
values() {
  local name
  name=$(basename "$1")
  try "$1" --task bigram-backcopy --layers 1 --heads 2 --width 32 --feed-forward 48 --context 24 --batch 4 --steps 3 --warmup 0 \
    --eval-sequences 8 --run "$work/run_$name"
  {
    grep -oE '"(train_loss|grad_norm)": [^,]*' "$work/run_$name/metrics.jsonl"
    grep -oE '^ "(val_loss|alpha_1)": [^,]*' "$work/run_$name/evaluation.json"
  } >"$work/$name.values"
  [ "$(wc -l <"$work/$name.values")" -ge 5 ] || fail "$name wrote other keys"
}
if [ -z "${SINK_SHORT_TESTS:-}" ]; then
  try "$work/found/check_mine"
  try "$work/found/check_softplus_norm"
  [ "$(grep -v 'on the device' "$work/log" | grep -c '^softplus_norm: ')" = 5 ] || { cat "$work/log" >&2; fail "check_softplus_norm says something else"; }
  if grep -q '^SINK_CUDA:.*=EMULATED' "$build/CMakeCache.txt"; then
    [ "$(grep -cE '^softplus_norm: the kernels differ .* on the device in (f32|bf16)$' "$work/log")" = 2 ] ||
      { cat "$work/log" >&2; fail "check_softplus_norm does not check the kernels of the emulated device"; }
  fi
fi
values "$build/train_op_sigmoid_none"
values "$work/found/train_mine"
diff "$work/train_op_sigmoid_none.values" "$work/train_mine.values" || fail "train_mine has other values than train_op_sigmoid_none (<)"
if [ -z "${SINK_SHORT_TESTS:-}" ]; then
  values "$work/found/train_by_hand"
  diff "$work/train_op_sigmoid_none.values" "$work/train_by_hand.values" || fail "train_by_hand has other values (>)"
fi
grep -q ' attention=mine"' "$work/run_train_mine/config.toml" || fail "config.toml does not name the operation mine"
echo 1 2 3 >"$work/ids"
try "$work/found/eval_mine" explain --checkpoint "$work/run_train_mine" --tokens "$work/ids"
grep -q '^operation mine$' "$work/log" || { cat "$work/log" >&2; fail "explain does not name the operation"; }

! configure found -DCMAKE_DISABLE_FIND_PACKAGE_xtensor=ON >"$work/log" 2>&1 ||
  fail "configured without xtensor"
tr -s ' \n' ' ' <"$work/log" | grep -qF "Sinklab needs xtensor, which is not installed (package of Debian: libxtensor-dev)" ||
  { cat "$work/log" >&2; fail "no sentence names xtensor"; }
! configure found -DCMAKE_DISABLE_FIND_PACKAGE_xtensor=OFF -DSINKLAB_VERSION=0.2 >"$work/log" 2>&1 || fail "0.1 passed as 0.2"

try configure added "-DSINKLAB_SOURCE=$source" -DSINK_CUDA=OFF -DSINK_MPI=OFF
programs=$(ninja -C "$work/added" -t targets all | grep -E ': [A-Z]+_EXECUTABLE_LINKER' | grep -vE '^((train|eval|check)_(mine|softplus_norm)|train_by_hand):' || true)
[ -z "$programs" ] || fail "an added checkout has programs: $programs"
ninja -C "$work/added" -t commands all >"$work/log"
grep -q 'attention_Sigmoid.cpp' "$work/log" || fail "an added checkout does not build the libraries"
! grep -q 'ablations_with_\|sink_report' "$work/log" || fail "an added checkout builds what the project does not link"
[ -n "${SINK_SHORT_TESTS:-}" ] || try ninja -C "$work/added" CMakeFiles/ablation_mine.dir/generated/ablation_mine.cpp.o
echo "consumer_test: an installed and an added Sinklab build the project, which computes what train_op_sigmoid_none does"
