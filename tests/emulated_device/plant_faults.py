#!/usr/bin/env python3
"""Plants the faults of attention_faults.toml in the kernels, one at a time, and counts how many are detected.

Each fault is compiled into a copy of its file, linked with fault_trial, and run under SCHEDULES schedules with the race
detector and as many without. A trial is one schedule in which the changed line has run. It is detected if the emulated
device reports an error, a result is wrong, or the kernel does not end. Intervals are Wilson's, 95 %.

  cmake --build --preset emulated --target fault_trial
  plant_faults.py                      all faults; an hour on two cores; writes attention_faults_found.md
  plant_faults.py --only H             those whose id begins with H; the table keeps the rows of the others
  plant_faults.py --only H --list      ids, kinds and places
  plant_faults.py --only T0,F09 --check  with the race detector alone; writes nothing; exit code 1 if one of them was
                                       not detected in every trial of attention_faults_found.md, or is not now

Exit codes: 0 done; 1 see --check; 2 something is missing, or a text of the list is no longer in its file.
"""
import argparse
import collections
import concurrent.futures
import math
import os
import pathlib
import re
import select
import shlex
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIST = HERE / "attention_faults.toml"
TABLE = HERE / "attention_faults_found.md"
LIMIT = 40  # seconds for a schedule; an intact kernel takes two


def leave(message):
    print(f"plant_faults: error: {message}", file=sys.stderr)
    raise SystemExit(2)


def read_faults():
    read = tomllib.loads(LIST.read_text())
    faults = read["fault"]
    for fault in faults:
        fault["path"] = read["files"][fault["file"]]
        text = (ROOT / fault["path"]).read_text()
        after = text.find(fault["after"]) + len(fault["after"]) if "after" in fault else 0
        fault["at"] = text.find(fault["find"], after)
        if fault["at"] < 0 or ("after" in fault and fault["after"] not in text):
            leave(f"{fault['id']}: {fault['path']} has no '{fault['find']}'")
        fault["line"] = text.count("\n", 0, fault["at"]) + 1
        fault["text"] = text[:fault["at"]] + fault["put"] + text[fault["at"] + len(fault["find"]):]
    return faults


class Commands:
    """How CMake's build compiles and links fault_trial."""

    def __init__(self, build):
        self.build = build
        if not (build / "tests/fault_trial").exists():
            leave(f"{build} has no tests/fault_trial; build the target fault_trial")
        lines = subprocess.run(["ninja", "-C", build, "-t", "commands", "tests/fault_trial"], text=True,
                               stdout=subprocess.PIPE, check=True).stdout.splitlines()
        self.link_line = next(line for line in lines if "-o tests/fault_trial" in line)
        self.compile_lines = {}
        for line in lines:
            found = re.search(r"-c \S*/trial_kernels_(\w+)\.cpp", line)
            if found:
                self.compile_lines[found[1]] = line

    def compile(self, kernel, overlay, output):
        words = shlex.split(self.compile_lines[kernel])
        words = words[next(n for n, word in enumerate(words) if word.endswith(("c++", "g++"))):]
        for flag in ("-MT", "-MF"):
            del words[words.index(flag):words.index(flag) + 2]
        words.remove("-MD")
        words[words.index("-o") + 1] = str(output)
        return [words[0], "-w", f"-I{overlay}"] + words[1:]

    def link(self, kernel, object_file, output):
        line = self.link_line.removeprefix(": && ").removesuffix(" && :")
        words = [word for word in shlex.split(line) if "/trial_kernels_" not in word or "tile_info" in word]
        if kernel == "tile_info":
            words = [word for word in words if "tile_info" not in word]
        words[words.index("-o") + 1] = str(output)
        first = next(n for n, word in enumerate(words) if word.endswith(".o"))
        return words[:first] + [str(object_file)] + words[first:]  # first, so that its inline functions are linked


def run_from(first, program, kernel, schedules, how):
    """The outcomes (reached, outcome) of the schedules from `first` on, and whether the last one did not end."""
    environment = dict(os.environ, SINK_COMPUTE_CAPABILITY="90" if kernel.startswith("hopper") else "80")
    environment.pop("SINK_SCHEDULE", None)
    process = subprocess.Popen([program, kernel, str(first), str(schedules), how], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, env=environment, bufsize=0)
    outcomes, hangs = [], False
    while True:
        if not select.select([process.stdout], [], [], LIMIT)[0]:
            process.kill()
            hangs = True
            break
        line = process.stdout.readline()
        if not line:
            break
        _, reached, outcome = line.decode(errors="replace").rstrip("\n").split(" ", 2)
        outcomes.append((reached == "1", outcome))
    code = process.wait()
    if first + len(outcomes) < schedules:
        outcomes.append((True, "does not end" if hangs else f"ends with code {code}"))
    return outcomes, hangs


def run_trials(program, kernel, schedules, how):
    """The same for all schedules. After one that does not end the others are left out, to save time."""
    outcomes, hangs = [], False
    while len(outcomes) < schedules and not hangs:
        more, hangs = run_from(len(outcomes), program, kernel, schedules, how)
        outcomes += more
    return outcomes


# What a message or an outcome says, for the table.
SHORT = [("race in shared", "race in shared memory"), ("race in device", "race in device memory"),
         ("deadlock", "deadlock"), ("in flight", "in flight"),
         ("a phase of an mbarrier", "phase before its copies"), ("arriv", "arrivals"),
         ("named barrier", "named barrier"), ("setmaxnreg", "setmaxnreg"), ("not initialized", "no mbarrier_init"),
         ("outside of", "outside of shared memory"), ("no multiple of", "misaligned"), ("fence", "missing fence"), ("returned", "a thread returned"),
         ("ends with code 7", "outside of an allocation"), ("does not end", "does not end"), ("wrong", "wrong result"),
         ("ends with code", "crash")]


def summary_of(outcomes):
    """Of trials by mode: {mode: (detected, reached)}, and how they were found."""
    summary, kinds = {}, collections.Counter()
    for how, trials in outcomes.items():
        reached = [outcome for was_reached, outcome in trials if was_reached]
        found = [outcome for outcome in reached if outcome != "right"]
        summary[how] = (len(found), len(reached))
        for outcome in found:
            kinds[next((short for text, short in SHORT if text in outcome), outcome[7:60])] += 1
    reached = sum(trials for _, trials in summary.values())
    summary["found"] = ", ".join(kind for kind, _ in kinds.most_common(3)) or ("-" if reached else "not reached")
    return summary


def try_fault(commands, fault, schedules):
    with tempfile.TemporaryDirectory(prefix="sinklab-fault-") as folder:
        folder = pathlib.Path(folder)
        path = folder / "overlay" / fault["path"]
        path.parent.mkdir(parents=True)
        path.write_text(fault["text"])
        for command in (commands.compile(fault["kernel"], folder / "overlay", folder / "kernels.o"),
                        commands.link(fault["kernel"], folder / "kernels.o", folder / "trial")):
            done = subprocess.run(command, cwd=commands.build, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True)
            if done.returncode:
                print(done.stdout[:1000], file=sys.stderr)
                return {"races": (0, 0), "plain": (0, 0), "found": "does not compile"}
        return summary_of({how: run_trials(folder / "trial", fault["kernel"], count, how)
                           for how, count in schedules.items()})


def wilson(detected, trials):
    """The 95 % interval of a rate, in percent."""
    if trials == 0:
        return (0.0, 100.0)
    z, p = 1.959964, detected / trials
    center, half = p + z * z / (2 * trials), z * math.sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials))
    return tuple(100 * bound / (1 + z * z / trials) for bound in (center - half, center + half))


def rate(detected, trials):
    low, high = wilson(detected, trials)
    return f"{detected}/{trials} ({low:.1f}-{high:.1f} %)" if trials else "-"


def one_line(text):
    text = " ".join(text.split()).replace("|", "\\|").replace("](", "] (")
    return text if len(text) <= 70 else text[:67] + "..."


def group_table(title, groups, results):
    lines = [f"| {title} | faults reached | faults detected | in every trial | trials with the race detector | "
             "trials without |", "|---|---|---|---|---|---|"]
    for name, members in groups:
        of = [results[fault["id"]] for fault in members if fault["id"] in results]
        reached = [result for result in of if result["races"][1] + result["plain"][1] > 0]
        found = [result for result in reached if result["races"][0] + result["plain"][0] > 0]
        always = [result for result in reached if result["races"][0] == result["races"][1]]
        trials = {how: [sum(result[how][n] for result in reached) for n in (0, 1)] for how in ("races", "plain")}
        lines.append(f"| {name} | {len(reached)} of {len(members)} | {rate(len(found), len(reached))} | {len(always)} | "
                     f"{rate(*trials['races'])} | {rate(*trials['plain'])} |")
    return lines


def table(faults, results):
    kernels = [(k, [f for f in faults if f["kernel"] == k]) for k in ("forward", "backward", "hopper", "hopper_backward", "tile_info")]
    kinds = [(k, [f for f in faults if f["kind"] == k]) for k in sorted({f["kind"] for f in faults})]
    lines = ["# What the emulated device found of attention_faults.toml", "", "For readers of README.md who want every fault.",
             f"`plant_faults.py` writes this page. It has {len(results)} of the {len(faults)} faults. Intervals are Wilson's, "
             "95 %. The trials of a", "fault are not independent, so rates of faults say more than rates of trials.", ""]
    lines += group_table("kernel", kernels + [("all", faults)], results) + [""]
    lines += group_table("kind", kinds, results) + [""]
    lines += ["## Faults", "", "Races and plain: detected trials of those reached, with the race detector and without. "
              "A schedule that does not end is the last trial.", "",
              "| fault | kind | line | text | becomes | races | plain | found by |", "|---|---|---|---|---|---|---|---|"]
    for f in faults:
        if f["id"] not in results:
            continue
        result = results[f["id"]]
        lines.append(f"| {f['id']} | {f['kind']} | {pathlib.Path(f['path']).name}:{f['line']} | "
                     f"`{one_line(f['find'])}` | `{one_line(f['put'])}` | {result['races'][0]}/{result['races'][1]} | "
                     f"{result['plain'][0]}/{result['plain'][1]} | {result['found']} |")
    return "\n".join(lines) + "\n"


def recorded():
    """The results in the table of the repository."""
    text = TABLE.read_text() if TABLE.exists() else ""
    rows = re.findall(r"^\| ([A-Z]\d+) \|.*\| (\d+)/(\d+) \| (\d+)/(\d+) \| ([^|]*) \|$", text, re.M)
    return {name: {"races": (int(a), int(b)), "plain": (int(c), int(d)), "found": found}
            for name, a, b, c, d, found in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="faults whose id begins with one of these, with commas between them")
    parser.add_argument("--schedules", type=int, default=30)
    parser.add_argument("--plain", type=int, metavar="SCHEDULES", help="without the race detector; as --schedules")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/emulated")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    faults = [fault for fault in read_faults() if fault["id"].startswith(tuple(given.only.split(",")))]
    if not faults:
        leave(f"no fault begins with {given.only}")
    if given.list:
        for fault in faults:
            print(f"{fault['id']} {fault['kind']:8} {fault['path']}:{fault['line']}: {one_line(fault['find'])}")
        return
    commands = Commands(given.build.resolve())
    for kernel in sorted({fault["kernel"] for fault in faults}):
        for how in ("races", "plain"):
            if any(o != "right" for _, o in run_trials(given.build / "tests/fault_trial", kernel, 3, how)):
                leave(f"the intact {kernel} kernel fails ({how})")
    results = {}
    plain = given.schedules if given.plain is None else given.plain
    schedules = {"races": given.schedules, "plain": 0 if given.check else plain}
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        running = {pool.submit(try_fault, commands, fault, schedules): fault for fault in faults}
        for done in concurrent.futures.as_completed(running):
            fault, result = running[done], done.result()
            results[fault["id"]] = result
            trials = ", ".join("{}/{} {}".format(*result[how], how) for how in schedules)
            print(f"{fault['id']} {fault['kind']}: {trials}: {result['found']}", flush=True)
    if given.check:
        always = lambda result: result["races"][0] == result["races"][1] > 0
        before = recorded()
        if others := [name for name in results if not (name in before and always(before[name]))]:
            sys.exit(f"{TABLE.name} does not have these as detected in every trial: {', '.join(others)}")
        if worse := [name for name in results if not always(results[name])]:
            sys.exit(f"detected in every trial before, and now not: {', '.join(worse)}")
    else:
        TABLE.write_text(table(read_faults(), {**recorded(), **results}))
        print(f"{TABLE.relative_to(ROOT)} is written")


if __name__ == "__main__":
    main()
