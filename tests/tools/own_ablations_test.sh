#!/usr/bin/env bash
# A file of ablations outside the repository (SINK_ABLATIONS): the example of model/ADD_AN_ABLATION.md is configured, compiled and run,
# with the libraries of the build that this test belongs to; files that cannot be meant are refused with a sentence.
#   own_ablations_test.sh BUILD
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "own_ablations_test: error: $1" >&2; exit 1; }

# configure FILE: a build of its own in $work/build
configure() {
  cmake -G Ninja -S . -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DSINK_TESTS=OFF -DSINK_PROGRAMS=none \
    -DSINK_ABLATIONS="$1" >"$work/log" 2>&1
}
# refused FILE SENTENCE
refused() {
  ! configure "$1" || fail "$1 was accepted"
  tr -s ' \n' ' ' <"$work/log" | grep -qF "$2" || { cat "$work/log" >&2; fail "expected: $2"; }
}
refused "$work/absent.h" "SINK_ABLATIONS: there is no file $work/absent.h"
printf 'namespace sink::ablations {\n  struct Mine : baseline {};\n}\n' >"$work/none.h"
refused "$work/none.h" "SINK_ABLATIONS: no ablation in $work/none.h"
printf 'struct bias_k : baseline {};\n' >"$work/known.h"
refused "$work/known.h" "has an ablation \`bias_k\`, and there is one already of this name"
printf 'struct twice : baseline {};\nstruct twice : baseline {};\n' >"$work/twice.h"
refused "$work/twice.h" "has two ablations \`twice\`; give one another name"

sed -n '/^\/\/ my_ablations.h$/,/^```$/p' model/ADD_AN_ABLATION.md | sed '$d' >"$work/my_ablations.h"
grep -q '^struct alibi_relu ' "$work/my_ablations.h" || fail "model/ADD_AN_ABLATION.md has no my_ablations.h with alibi_relu"
configure "$work/my_ablations.h" || { cat "$work/log" >&2; fail "the page's file was refused"; }
[ "$(tail -n 1 "$work/build/generated/ablations/names.txt")" = alibi_relu ] || fail "names.txt does not end with it"
grep -q 'ablation_alibi_relu(),' "$work/build/generated/ablations/list_of_ablations.cpp" || fail "all_ablations() lacks it"
grep -q 'size() - 1)' "$work/build/generated/ablations/list_of_ablations.cpp" || fail "repository_ablations() has it"
! ninja -C "$work/build" -t targets all | grep -q '^train_baseline:' || fail "SINK_PROGRAMS=none made train_baseline"

# Its objects, linked as train_baseline is: all else is the same.
# objects_of BUILD PROGRAM
objects_of() { ninja -C "$1" -t commands "$2" | tail -n 1 | grep -oE '[^ ]+\.o( |$)' | tr -d ' '; }
objects=$(objects_of "$work/build" train_alibi_relu | grep -v attention_of)
ninja -C "$work/build" $objects >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "it does not compile"; }
link=$(ninja -C "$build" -t commands train_baseline | tail -n 1)
for object in $(objects_of "$build" train_baseline); do link=${link/ $object/}; done
link=${link/-o train_baseline/$(sed "s|^|$work/build/|" <<<"$objects" | tr '\n' ' ') -o $work/train_alibi_relu}
(cd "$build" && bash -c "$link") || fail "it does not link"
"$work/train_alibi_relu" --version | grep -q '^policies: position=Alibi .*attention=Relu$' ||
  { "$work/train_alibi_relu" --version >&2; fail "it has other policies"; }
"$work/train_alibi_relu" --task bigram-backcopy --layers 1 --heads 1 --width 16 --feed-forward 16 --batch 2 --steps 3 \
  --eval-sequences 2 --threads 1 --run "$work/run" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "it does not train"; }
grep -q '^ablation = "alibi_relu"$' "$work/run/config.toml" || fail "config.toml does not name it"
# tools/try.sh refuses what it cannot build, before it builds anything.
for arguments in "3:there is no file:$work/absent.h" "2:expects a number:--steps many" "2:give a file:" "2:unknown argument:--fast" \
  "2:--device expects cpu, cuda or emulated, got 'gpu':--device gpu"; do
  IFS=: read -r code sentence given <<<"$arguments"
  status=0
  bash tools/try.sh $given >"$work/log" 2>&1 || status=$?
  [ "$status" = "$code" ] && grep -q "try: error: .*$sentence" "$work/log" || { cat "$work/log" >&2; fail "try.sh $given: exit $status"; }
done
echo "own_ablations_test: the page's file of ablations configures, compiles and trains"
