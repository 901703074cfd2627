#!/usr/bin/env python3
"""Which lines of the CUDA kernels the device's tests run, counted by gcov on the emulated device.

Builds the tests in a folder of their own with g++'s counters in every kernel's file, runs each on one thread, and
merges what gcov says of all instantiations of a template: a line is run if one of them ran it. The files are those that
kernels are made of: every .cu and .cuh of engine/ops and engine/cuda, but for emulated/ and nvidia/. Prints a table,
every line that no test runs, and the templates with instantiations that none runs. Exits 1 if a test fails or
if fewer lines than --least percent are run. About two minutes on two cores.

  kernel_coverage.py             configure, build, run, report
  kernel_coverage.py --report    the counts that the last run left behind
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Lines as they stand (-O0). A count that two threads add to at once can lose a step, but never becomes zero again.
CONFIGURE = ["--preset", "emulated", "-DSINK_ABLATION_SET=baseline", "-DSINK_PROGRAMS=none",
             "-DSINK_KERNEL_FLAGS=-O0;--coverage", "-DCMAKE_EXE_LINKER_FLAGS=--coverage"]
KERNELS = re.compile(r"engine/(ops|cuda)/(?!emulated/|nvidia/).*\.cuh?$")


def fail(message):
    sys.exit(f"kernel_coverage.py: {message}")


def tests_of_the_device(folder):
    listed = (folder / "tests/device_tests.txt").read_text().split()
    sources = [pathlib.Path(path) for path in listed if path.startswith("engine/")]
    sources += ROOT.glob("tests/engine/**/emulated_*_test.cpp")
    return sorted(source.stem for source in sources if source.stem != "emulated_races_test")  # -fsanitize=thread's


def run_cmake(*arguments):
    done = subprocess.run(["cmake", *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        fail(f"the tests do not build (cmake {' '.join(map(str, arguments[:2]))}):\n{done.stdout[-3000:]}")


def build(folder):
    run_cmake(*CONFIGURE, "-B", folder)
    tests = tests_of_the_device(folder)
    run_cmake("--build", folder, "--target", "selftest", *tests)
    return [folder / "selftest", *(folder / "tests" / test for test in tests)]


def run(programs, folder):
    for counts in folder.rglob("*.gcda"):
        counts.unlink()
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        done = pool.map(lambda program: subprocess.run([program], cwd=ROOT, env=one_thread, stdout=subprocess.PIPE,
                                                       stderr=subprocess.STDOUT, text=True, errors="replace"), programs)
        for program, test in zip(programs, done):
            if test.returncode:
                fail(f"{program.name} ended with {test.returncode}:\n{test.stdout[-3000:]}")


def merge(folder, gcov):
    """{file: {line: most often that an instantiation ran it}}, {(file, symbol): [line, name, runs]}"""
    lines, functions = collections.defaultdict(dict), {}
    objects = sorted(folder.rglob("*.gcda"))
    if not objects:
        fail(f"{folder} holds no counts; run it without --report")
    for counts in objects:
        said = subprocess.run([gcov, "--json-format", "--stdout", counts], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        if said.returncode or not said.stdout.startswith("{") or "version" in said.stderr:
            fail(f"{gcov} cannot read {counts}; it must be of the compiler's version (--gcov gcov-14):\n{said.stderr}")
        for file in json.loads(said.stdout)["files"]:
            path = os.path.relpath(folder / file["file"], ROOT)
            if not KERNELS.fullmatch(path):
                continue
            for line in file["lines"]:
                number = line["line_number"]
                lines[path][number] = max(lines[path].get(number, 0), line["count"])
            for function in file["functions"]:  # one that several objects have is linked, and counted, in one of them
                of = functions.setdefault((path, function["name"]),
                                          [function["start_line"], function["demangled_name"], 0])
                of[2] = max(of[2], function["execution_count"])
    return lines, functions


def short(name):
    """`void sink::cuda::(anonymous namespace)::row_kernel<float, 8>(long)` -> `row_kernel<float, 8>`"""
    name = re.sub(r"\(anonymous namespace\)::|sink::(cuda::)?| const(?=$|::)", "", name)
    open_brackets, kept = "", ""
    for letter in name:
        if letter in "<({":
            open_brackets += letter
        if not open_brackets.startswith("("):  # which parameters stand in
            kept = "" if letter == " " and not open_brackets else kept + letter  # what it returns stands before
        if letter in ">)}":
            open_brackets = open_brackets[:-1]
    return kept


def report(lines, functions, least):
    print(f"{'lines':>6} {'run':>6} {'%':>6}  file")
    everything = all_run = 0
    for path in sorted(lines):
        count, ran = len(lines[path]), sum(runs > 0 for runs in lines[path].values())
        everything, all_run = everything + count, all_run + ran
        print(f"{count:6} {ran:6} {100 * ran / count:6.1f}  {path}")
    percent = 100 * all_run / everything
    print(f"{everything:6} {all_run:6} {percent:6.1f}  all")
    if all_run < everything:
        print("\nlines that no test runs:")
    for path in sorted(lines):
        text = (ROOT / path).read_text().splitlines()
        for number in sorted(number for number, runs in lines[path].items() if runs == 0):
            print(f"  {path}:{number}: {text[number - 1].strip()}")
    places = collections.defaultdict(list)
    for (path, _), (place, name, runs) in functions.items():
        places[path, place].append((short(name), runs))
    idle = {place: sorted({name for name, runs in there if runs == 0}) for place, there in places.items()}
    never = sum(runs == 0 for *_, runs in functions.values())
    print(f"\n{len(functions) - never} of {len(functions)} functions, each instantiation counted, are run; not those:")
    for (path, line), names in sorted(idle.items()):
        if names:
            shown = "; ".join(names[:6]) + ("; ..." if len(names) > 6 else "")
            print(f"  {path}:{line}: {len(names)} of {len({name for name, _ in places[path, line]})}: {shown}")
    print(f"\n{percent:.1f}% of {everything} lines of {len(lines)} files are run, wanted at least {least}%")
    return percent >= least


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", action="store_true", help="build and run nothing")
    parser.add_argument("--least", type=float, default=95, metavar="PERCENT", help="default: 95")
    parser.add_argument("--gcov", default="gcov", help="of the compiler's version; default: gcov")
    parser.add_argument("--build", default=ROOT / "build/coverage", type=pathlib.Path, metavar="FOLDER",
                        help="default: build/coverage")
    given = parser.parse_args()
    if not shutil.which(given.gcov):
        fail(f"there is no program '{given.gcov}'; g++'s own comes with it (Debian: apt install gcc), --gcov names it")
    folder = given.build.resolve()
    if not given.report:
        run(build(folder), folder)
    sys.exit(0 if report(*merge(folder, given.gcov), given.least) else 1)


if __name__ == "__main__":
    main()
