#!/usr/bin/env bash
# tools/wheel.sh without building: its arguments, what it says where tools are missing or fail, and that it has the versions
# of pyproject.toml; and how a program of a wheel is started.
set -uo pipefail
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
problem() { echo "FAILED: $case: $1; it said:"; sed 's/^/  | /' <<<"$output"; failures=$((failures + 1)); }
# expect CODE TEXT...: of the last `try`.
try() { output=$("$@" 2>&1); code=$?; }
expect() {
  local wanted=$1 text
  shift
  [ "$code" -eq "$wanted" ] || problem "exit code $code, expected $wanted"
  for text in "$@"; do [[ $output == *"$text"* ]] || problem "does not say '$text'"; done
}
program() { mkdir -p "$(dirname "$1")"; { echo '#!/bin/bash'; cat; } >"$1"; chmod +x "$1"; }

mkdir -p "$work/house/tools" "$work/fake"
cp "$here/tools/wheel.sh" "$work/house/tools/"
cd "$work/house" || exit 1
system_python=$(command -v python3)
export PATH="$work/fake:$PATH"

case="arguments"
try bash tools/wheel.sh --help; expect 0 "Builds the wheel" "build on Debian 12"
try bash tools/wheel.sh --most; expect 2 "wheel: error: unknown argument '--most'"
try bash tools/wheel.sh a b; expect 2 "one folder at a time"

case="another system"
program "$work/fake/uname" <<<'echo Linux aarch64'
try bash tools/wheel.sh; expect 7 "wheels are built on Linux for x86-64, this is Linux aarch64"
program "$work/fake/uname" <<<'echo Linux x86_64'

case="there is no venv"
program "$work/fake/python3" <<<'echo "ensurepip is not available" >&2; exit 1'
try bash tools/wheel.sh; expect 1 "cannot make a virtual environment: install python3-venv"

# The environment has a Python that does what $FAILS says: pip's installation, headers, the build.
program "$work/fake/python3" <<'FAKE'
mkdir -p "$3/bin"
{ echo '#!/bin/bash'; cat <<'VENV'
case "$*" in
  *" install "*) [ "$FAILS" != install ] || { echo "ERROR: No matching distribution found for auditwheel" >&2; exit 1; } ;;
  -) [ "$FAILS" != headers ] ;;
  *" wheel "*)
    [ "$FAILS" != build ] || { echo "ninja: fatal: no space" >&2; exit 1; }
    mkdir -p build/wheel_build/compiled && touch build/wheel_build/compiled/sinklab.whl ;;
esac
VENV
} >"$3/bin/python"
{ echo '#!/bin/bash'; cat <<'VENV'
[ "$FAILS" != repair ] || { echo "ValueError: Cannot repair wheel" >&2; exit 1; }
mkdir -p build/wheel_build/repaired && truncate -s "${SIZE:-1234567}" build/wheel_build/repaired/sinklab-1.whl
VENV
} >"$3/bin/auditwheel"
chmod +x "$3"/bin/*
FAKE
case="pip fails"
FAILS=install try bash tools/wheel.sh; expect 1 "pip cannot install" "auditwheel==" "No matching distribution found"
case="there are no headers"
FAILS=headers try bash tools/wheel.sh; expect 1 "there is no Python.h: install python3-dev"
case="the build fails"
FAILS=build try bash tools/wheel.sh; expect 1 "the build failed: ninja: fatal: no space; all of its output:"
case="auditwheel fails"
FAILS=repair try bash tools/wheel.sh; expect 1 "auditwheel failed: ValueError: Cannot repair wheel"
case="a wheel that is too large"
FAILS="" SIZE=61000001 try bash tools/wheel.sh; expect 1 "has 61 MB, at most 60 are wanted"
case="all is well"
FAILS="" try bash tools/wheel.sh out; expect 0 "out/sinklab-1.whl has 1.2 MB"
[ -f out/sinklab-1.whl ] || problem "there is no wheel"

case="versions of pyproject.toml"
output=""
for package in $(sed -n 's/^requires = //p' "$here/pyproject.toml" | tr -d '[]",'); do
  grep -qF " $package" <<<" $(grep ^packages= "$here/tools/wheel.sh" | tr '()' '  ')" || problem "wheel.sh does not have $package"
done

case="a script of the wheel, in a folder with a space"
site="$work/a site"
mkdir -p "$site/sinklab" "$work/bin"
echo 'raise SystemExit("the package is not to be imported")' >"$site/sinklab/__init__.py"
cp "$here/tools/wheel/sinklab_program.py" "$site/"
program "$site/sinklab/programs/ablation_program" <<<'echo "all ablations: $*"'
program "$site/sinklab/programs/sweep" <<<'echo "sweep: $*"; exit 5'
start() {  # as pip's script does
  echo 'import sys; from sinklab_program import main; sys.exit(main())' >"$work/bin/$1"
  PYTHONPATH="$site" try "$system_python" "$work/bin/$1" "${@:2}"
}
start train_op_relu --steps 3; expect 0 "all ablations: --steps 3"
start eval_baseline sink; expect 0 "all ablations: sink"
start sweep "two words"; expect 5 "sweep: two words"

[ "$failures" -eq 0 ] && echo "wheel.sh: all cases passed"
exit $((failures > 0))
