"""Runs the commands that the chapters of the tour show and compares what they print with what the page says.

A block begins with ```console and a line `$ command`; the lines after it are its output. BUILD stands for the folder
build/release or build/debug of the commands, and blocks of the other build are left out. Text must be the same but for
blanks, numbers too but for the last digit that is printed or the sixth (another CPU rounds differently). Exits 77 where gdb
is missing and a command needs it.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?<=```console\n)\$ (.*)\n((?:(?!```).*\n)*)(?=```)")
NUMBER = re.compile(r"(?<![A-Za-z0-9_.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![A-Za-z0-9_])")


def unit_of(number):
    """What its last digit counts."""
    mantissa, _, exponent = number.lower().partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def close(expected, actual):
    if "." not in expected and "." not in actual:
        return expected == actual
    a, b = float(expected), float(actual)
    return abs(a - b) <= max(1.001 * unit_of(expected), 1e-6 * abs(a))


def difference(expected, actual):
    """The first line in which two texts differ, or none."""
    wanted, got = expected.splitlines(), actual.splitlines()
    for n in range(max(len(wanted), len(got))):
        a, b = (lines[n] if n < len(lines) else "(no line)" for lines in (wanted, got))
        same = " ".join(NUMBER.sub("0", a).split()) == " ".join(NUMBER.sub("0", b).split())
        numbers = list(zip(NUMBER.findall(a), NUMBER.findall(b)))
        if not same or any(not close(x, y) for x, y in numbers):
            return f"  the page:    {a}\n  the program: {b}"
    return None


def make_workplace(folder, build, kind):
    """Makes of an empty folder one like the repository's root, with this build in the place of build/<kind>."""
    for entry in ROOT.iterdir():
        if entry.name not in ("build", "runs", ".git"):
            (folder / entry.name).symlink_to(entry)
    (folder / "build").mkdir()
    (folder / "build" / kind).symlink_to(build)


def output_of(command, build, kind):
    """What it prints, in a folder of its own, where it may write."""
    with tempfile.TemporaryDirectory() as name:
        make_workplace(pathlib.Path(name), build, kind)
        run = subprocess.run(["bash", "-c", "set -o pipefail; " + command], cwd=name, text=True, capture_output=True,
                             timeout=120)
    if run.returncode != 0:
        raise SystemExit(f"tour_output: error: `{command}` ended with {run.returncode}\n{run.stdout}{run.stderr}")
    return "".join(line.rstrip() + "\n" for line in run.stdout.splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", metavar="BUILD", type=pathlib.Path, help="the folder of the programs, such as build/release")
    parser.add_argument("kind", choices=["release", "debug"], help="the blocks to run")
    parser.add_argument("--write", action="store_true", help="put what the commands print today into the pages")
    options = parser.parse_args()
    build, kind, write = options.build.resolve(), options.kind, options.write
    pages = {page: page.read_text() for page in sorted((ROOT / "tools/tour").glob("*.md"))}
    commands = [command for text in pages.values() for command, _ in BLOCK.findall(text) if f"build/{kind}/" in command]
    without_gdb = [command for command in commands if command.startswith(("gdb ", "bash tools/gdb/"))] if not shutil.which("gdb") else []
    commands = [command for command in commands if command not in without_gdb]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        outputs = dict(zip(commands, pool.map(lambda command: output_of(command, build, kind), commands)))

    wrong = 0
    for page, text in pages.items():
        def renewed(block):
            nonlocal wrong
            command, expected = block.groups()
            differs = command in outputs and difference(expected, outputs[command])
            if not differs:
                return block.group(0)
            wrong += 1
            print(f"{page.name}: $ {command}\n{differs}")
            return f"$ {command}\n{outputs[command]}"

        new = BLOCK.sub(renewed, text)
        if write and new != text:
            page.write_text(new)
    print(f"{len(commands)} commands of the tour ran, {wrong} print something else than their page"
          + (", which was renewed" if wrong and write else ""))
    if wrong and not write:
        return 1
    if without_gdb:
        print(f"{len(without_gdb)} were left out: gdb is not installed (tools/setup.sh --tests)")
        return 77
    return 0 if commands else 1


if __name__ == "__main__":
    sys.exit(main())
