"""Runs the commands that the chapters of the tour show and compares what they print with what the page says.

  python3 tests/tools/tour_output.py BUILD release|debug [--write]

A block begins with ```console and a line `$ command`; the lines after it are its output. BUILD stands for the folder
build/release or build/debug of the commands, and blocks of the other build are left out. Text must be the same but for
blanks, numbers too but for the last digit that is printed or the sixth (another CPU rounds differently). --write puts what the
commands print today into the pages. Exits 77 where gdb is missing and a command needs it.
"""
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


def workplace(folder, build, kind):
    """A folder like the repository's root, with this build in the place of build/<kind>."""
    for entry in ROOT.iterdir():
        if entry.name not in ("build", "runs", ".git"):
            (folder / entry.name).symlink_to(entry)
    (folder / "build").mkdir()
    (folder / "build" / kind).symlink_to(build)
    return folder


def output_of(command, folder):
    run = subprocess.run(["bash", "-c", "set -o pipefail; " + command], cwd=folder, text=True, capture_output=True,
                         timeout=120)
    if run.returncode != 0:
        raise SystemExit(f"tour_output: error: `{command}` ended with {run.returncode}\n{run.stdout}{run.stderr}")
    return "".join(line.rstrip() + "\n" for line in run.stdout.splitlines())


def main():
    build, kind, *more = sys.argv[1:]
    build = pathlib.Path(build).resolve()
    checked, missing, wrong = 0, 0, []
    with tempfile.TemporaryDirectory() as name:
        folder = workplace(pathlib.Path(name), build, kind)
        for page in sorted((ROOT / "tools/tour").glob("*.md")):
            def renewed(block):
                nonlocal checked, missing
                command, expected = block.groups()
                if f"build/{kind}/" not in command:
                    return block.group(0)
                if command.startswith("gdb ") and not shutil.which("gdb"):
                    missing += 1
                    return block.group(0)
                actual = output_of(command, folder)
                checked += 1
                differs = difference(expected, actual)
                if differs:
                    wrong.append(f"{page.name}: $ {command}\n{differs}")
                return f"$ {command}\n{actual}" if differs else block.group(0)

            text = page.read_text()
            new = BLOCK.sub(renewed, text)
            if "--write" in more and new != text:
                page.write_text(new)
    print("\n".join(wrong))
    print(f"{checked} commands of the tour ran, {len(wrong)} print something else than their page"
          + (", which was renewed" if wrong and "--write" in more else ""))
    if missing:
        print(f"{missing} commands were left out: gdb is not installed (tools/setup.sh --tests)")
    if wrong and "--write" not in more:
        return 1
    return 77 if missing else 0 if checked > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
