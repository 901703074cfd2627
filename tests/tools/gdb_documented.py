#!/usr/bin/env python3
"""Every breakpoint, landmark and command for gdb that the documentation names is there in the build it names: the
program stops at each. A text names the program in the same sentence, as in "`rotary_row` (in `train_baseline`)"; without
that it is train_pos_learnable.

    python3 tests/tools/gdb_documented.py build/debug
"""
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TEXTS = ["README.md", "GUIDE.md", "CODE_MAP.md", "CONTRIBUTING.md", "engine/**/*.md", "tools/**/*.md", "tools/gdb/sinklab/*.py",
         "tools/gdb/sinklab.py", "engine/ops/attention/**/*.h", "engine/cuda/emulated/*.h", "train/run_config.cpp"]
DEFAULT = "train_pos_learnable"
IN_PROGRAM = r"(?:[^.`\n]{0,40}\bin `((?:train|eval)_\w+)`)?"
BREAK = re.compile(r"\bt?break ((?:[a-z]\w*::)*[a-z]+_\w+(?: if [^`\"\n,;)]+)?)`?" + IN_PROGRAM)
LANDMARK = re.compile(r"`(?!skipped_in_a_row)(\w+_(?:row|row_backward|element))` ?" + IN_PROGRAM)  # that is an attribute
HELP_LANDMARK = re.compile(r"\b(\w+_(?:row|row_backward|element)) (?:and|\()")
COMMAND = re.compile(r"\bsink-[a-z]+\b")
NOT_COMMANDS = {"sink-logit", "sink-token"}  # words of prose

Break = collections.namedtuple("Break", "source place")


def texts():
    for pattern in TEXTS:
        for path in sorted(ROOT.glob(pattern)):
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def named():
    """(program, its arguments) -> breakpoints; and the commands, each with a file that names it."""
    breaks, commands = collections.defaultdict(set), {}
    reference = ("--tiny",)
    for source, text in texts():
        flat = re.sub(r"\n// (?! )" if source.endswith(".h") else r"\n *", " ", text)  # as sentences go on
        for place, program in BREAK.findall(flat):
            on_device = ("--tiny", "--device", "cuda") if "emulated::here" in place else reference
            breaks[program or DEFAULT, on_device].add(Break(source, place.strip()))
        if source.endswith((".md", "help.py")):
            for place, program in LANDMARK.findall(flat):
                breaks[program or DEFAULT, reference].add(Break(source, place))
        if source.endswith("help.py"):
            for place in HELP_LANDMARK.findall(flat):
                breaks["train_baseline", reference].add(Break(source, place))
        for command in COMMAND.findall(text):
            commands.setdefault(command, source)
    for launch in json.loads((ROOT / ".vscode/launch.json").read_text())["configurations"]:
        program = pathlib.PurePosixPath(launch["program"]).name
        for setup in launch["setupCommands"]:
            for place, _ in BREAK.findall(setup["text"]):
                breaks[program, tuple(launch["args"])].add(Break(".vscode/launch.json", place))
    return breaks, {name: source for name, source in commands.items() if name not in NOT_COMMANDS}


def gdb(arguments, commands, folder):
    script = folder / "commands.gdb"
    script.write_text("\n".join(["set pagination off", "set confirm off", "set width 0", "set breakpoint pending off",
                                 "handle SIGSEGV nostop noprint pass", *commands]) + "\n")
    done = subprocess.run(["gdb", "-q", "-nx", "-batch", "-x", ROOT / "tools/gdb/sinklab.py", "-x", script, *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", cwd=ROOT)
    return done.stdout


# Sets each breakpoint, runs on until all were hit or the program ends, and says which were.
DRIVER = """
import gdb
places = {places!r}
def attempt(place):
    try:
        gdb.execute("tbreak " + place, to_string=True)
        return [stop for stop in gdb.breakpoints() if stop.is_valid()][-1]
    except gdb.error as problem:
        print("NOT THERE", place, "|", problem)
stops = {{place: attempt(place) for place in places}}
stops = {{place: stop for place, stop in stops.items() if stop}}
def go(command):
    said = gdb.execute(command, to_string=True)
    if "Error in testing" in said:  # a condition; gdb stops there then
        for place in stops:
            print("NOT THERE", place, "|", said.splitlines()[1])
        gdb.execute("kill")
go("run")
while gdb.selected_inferior().pid:
    for place in [place for place, stop in stops.items() if not stop.is_valid()]:
        print("STOPPED AT", place)
        del stops[place]
    if not stops:
        gdb.execute("kill")
        break
    go("continue")
"""


def missing(program, arguments, places, folder):
    """Those of the places at which the program does not stop, with what gdb said."""
    driver = folder / "driver.py"
    driver.write_text(DRIVER.format(places=sorted(places)))
    if program.name.startswith("eval_"):
        arguments = ("--text", "hello, world") if arguments == ("--tiny",) else arguments
    else:
        arguments = (*arguments, "--run", folder / "run")
    said = gdb(["--args", program, *arguments], [f"source {driver}"], folder)
    shutil.rmtree(folder / "run", ignore_errors=True)
    there = set(re.findall(r"^STOPPED AT (.*)$", said, re.M))
    why = dict(re.findall(r"^NOT THERE (.*?) \| (.*)$", said, re.M))
    return {place: why.get(place, "the program does not come to it") for place in places if place not in there}


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    if not shutil.which("gdb"):
        return 77
    breaks, commands = named()
    wrong, tried = [], 0
    ablations = set(re.findall(r"^struct (\w+)", (ROOT / "model/ablations.h").read_text(), re.M))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for (program, arguments), found in sorted(breaks.items()):
            if program.partition("_")[2] not in ablations:
                wrong += [f"{source}: {place}: there is no program {program}" for source, place in found]
            elif not (build / program).exists():
                wrong.append(f"{program} is not built: cmake --build {build} --target {program}")
            else:
                tried += len(found)
                bad = missing(build / program, arguments, {place for _, place in found}, folder)
                wrong += [f"{source}: break {place} in {program} {' '.join(arguments)}: {bad[place]}"
                          for source, place in sorted(found) if place in bad]
        lines = [f"help {command}" for command in sorted(commands)]
        said = gdb([], ["python", "for line in " + repr(lines) + ":", "  try: gdb.execute(line, to_string=True)",
                        "  except gdb.error as problem: print('NO COMMAND', line)", "end"], folder)
        wrong += [f"{commands[command]}: {command}: gdb has no such command"
                  for command in re.findall(r"^NO COMMAND help (.*)$", said, re.M)]
    print("\n".join(wrong))
    print(f"{tried} breakpoints tried, {len(commands)} commands")
    return 1 if wrong or tried < 12 or len(commands) < 4 else 0


if __name__ == "__main__":
    sys.exit(main())
