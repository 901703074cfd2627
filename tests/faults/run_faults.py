#!/usr/bin/env python3
"""Programs that write, on a disk that fails and on one that loses power: no fault costs more than the work since it.

For each program: an undisturbed run is recorded by fault_shim.cpp. Then
  faults       each open, write, fsync, ftruncate, rename, unlink, mkdir, close and mmap of its files fails, one at a time.
               The program reports an error, or its output is whole. It does not crash. A write that is short is continued.
  crashes      before each call it is killed, or the power fails and all that was not flushed is lost, or all but the
               names is lost (disk_model.py).
After each of them every file is a whole version, older or newer; what was flushed before is still there; and the next
start ends with the bytes of the undisturbed run. At the end of the undisturbed run all of it is durable.

  run_faults.py --build build/release           all crashes, and of each kind of fault a sample: a minute
  run_faults.py --build build/release --all     every fault: six minutes; SINKLAB_ALL_FAULTS=1 is the same
  run_faults.py --build build/release --only train --seed 7
  run_faults.py --build build/release --only init --plant fsync     a fault of ours on purpose: exit code 0 if it is found
"""
import argparse
import collections
import csv
import io
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

from disk_model import Disk, read_trace

FAULTS = {"open": ["EIO"], "write": ["ENOSPC", "ENOSPC+", "short"], "fsync": ["EIO"], "truncate": ["EIO"],
          "rename": ["EIO"], "unlink": ["EIO"], "mkdir": ["ENOSPC"], "close": ["EIO"], "mmap": ["ENOMEM"]}
# FAULT_PLANT of fault_shim.cpp, and words of the problem that it makes.
PLANTS = {"fsync": "power loss after the end", "rename": "is no whole version"}
CODES = (3, 4, 6, 8)  # an input or a checkpoint cannot be read, out of memory, disk
MODEL = "--task bigram-backcopy --layers 1 --heads 1 --width 16 --feed-forward 32 --context 32 --batch 2"
TRAIN = (f"train_baseline {MODEL} --warmup 2 --steps 6 --eval-every 3 --eval-sequences 4 --checkpoint-every 2 --threads 1"
         " --birth-checkpoints 1 --run run")
STUDY = """name = "tiny"
question = "Is it whole?"
baseline = "baseline"
seeds = [0]
checkpoints = "parameters"
[settings]
task = "bigram-backcopy"
layers = 1
heads = 1
width = 16
feed-forward = 16
context = 32
batch = 2
warmup = 2
steps = 4
eval-every = 2
eval-sequences = 4
checkpoint-every = 2
[[runs]]
ablation = ["baseline"]
[[runs]]
ablation = "baseline"
weight-decay = 0.5
"""

# partial: files that a failed program makes of what there is.
Scenario = collections.namedtuple("Scenario", "setup command partial", defaults=["no file"])
SCENARIOS = {
    "train": Scenario([], TRAIN + " --resume auto"),
    "train_force": Scenario([TRAIN + " --seed 1"], TRAIN + " --force"),
    "init": Scenario([f"train_baseline init {MODEL} --seed 1 --out start.h5"], f"train_baseline init {MODEL} --out start.h5"),
    "prepare": Scenario(["prepare --vocab 300 --text text.txt --out data"], "prepare --vocab 280 --text text.txt --out data --force"),
    "prepare_new": Scenario([], "prepare --vocab 280 --text text.txt --out data/new --force"),
    "sink": Scenario([TRAIN, "eval_baseline sink run/checkpoint.h5 --sequences 2 --threads 1 --out sink.json"],
                     "eval_baseline sink run/checkpoint.h5 --sequences 4 --threads 1 --out sink.json"),
    "logits": Scenario([TRAIN], "eval_baseline logits --checkpoint run/checkpoint.h5 --tokens tokens.txt --threads 1 --out logits.h5"),
    "export": Scenario([TRAIN], "eval_baseline export run/checkpoint.h5 exported"),
    "import": Scenario([TRAIN, "eval_baseline export run/checkpoint.h5 exported"],
                       "eval_baseline import exported imported.h5"),
    "report": Scenario([TRAIN], "report run --out page.html --csv tables/"),
    "attention": Scenario([TRAIN], "sinklab attention run --tokens tokens.txt --threads 1 --out attention.json"),
    "view": Scenario([TRAIN], "sinklab view run --tokens tokens.txt --threads 1 --out view.html"),
    "lens": Scenario([TRAIN], "sinklab lens run --tokens tokens.txt --threads 1 --out lens.json --picture lens.svg"),
    "explain": Scenario([TRAIN], "sinklab explain run --tokens tokens.txt --html explain.html"),
    "interventions": Scenario([TRAIN], "sinklab interventions run --tokens tokens.txt --threads 1 --each-head zero --out changes.json"
                              " --picture changes.svg"),
    "quantise": Scenario([TRAIN], "sinklab quantise run --tokens tokens.txt --threads 1 --out bits.json --each-token bits.csv"),
    "score": Scenario(["prepare --vocab 280 --text text.txt --out data", TRAIN.replace("--task bigram-backcopy", "--data data")],
                      "eval_baseline score run/checkpoint.h5 items.jsonl --threads 1 --out scores.jsonl"),
    "sweep": Scenario([], "sweep tiny.toml --workers 1 --threads 1 --out out", "out/tiny.*"),
}


def is_temporary(path):
    """Of no meaning to the next start: a lock, a temporary, an empty folder for an older run."""
    return path.endswith("/.replaced/") or any(part == ".lock" or re.fullmatch(r"\..*\.tmp-.*", part) for part in path.split("/"))


def timeless(path, data):
    """The bytes without what the clock decides, and how many ranks computed the same values."""
    if path.endswith("metrics.jsonl"):
        return re.sub(rb'"(seconds|tokens_per_second)": [^,}]*', rb'"\1": 0', data)
    if path.endswith("-runs.csv"):
        rows = list(csv.DictReader(io.StringIO(data.decode())))
        data = "\n".join(str({**row, "seconds": 0}) for row in rows).encode()
    if path.endswith("evaluation.json"):
        data = re.sub(rb' "ranks": \d+,\n', b"", data)
    return re.sub(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", b"date", data)


def tree_of(root):
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        found[name + "/" if path.is_dir() else name] = b"" if path.is_dir() else path.read_bytes()
    return found


def whole(tree):
    return {path: timeless(path, data) for path, data in tree.items() if not is_temporary(path)}


def differing(tree, expected):
    paths = [path for path in sorted({*tree, *expected}) if tree.get(path) != expected.get(path)]
    return ", ".join(f"{path} {'is missing' if path not in tree else 'is extra' if path not in expected else 'differs'}"
                     for path in paths)


class Trial:
    """One scenario on a folder that stands for the disk."""

    def __init__(self, name, build, work, plant=None):
        self.name, self.build, self.disk, self.trace = name, build, work / "disk", work / "trace"
        self.scenario, self.problems, self.runs = SCENARIOS[name], [], 0
        self.plant = {"FAULT_PLANT": plant} if plant else {}
        self.env = {key: value for key, value in os.environ.items() if not key.startswith(("SINKLAB_", "FAULT_"))}

    def run(self, command, **shim):
        words = command.split()
        env = dict(self.env)
        if shim:
            env |= {"LD_PRELOAD": str(self.build / "tests/libfault_shim.so"), "FAULT_FOLDER": str(self.disk), **self.plant, **shim}
        self.runs += 1
        return subprocess.run([self.build / words[0], *words[1:]], cwd=self.disk, env=env, capture_output=True, text=True,
                              errors="replace", timeout=120)

    def restore(self, tree):
        shutil.rmtree(self.disk, ignore_errors=True)
        self.disk.mkdir()
        for path, data in tree.items():
            if path.endswith("/"):
                (self.disk / path).mkdir(parents=True, exist_ok=True)
            else:
                (self.disk / path).parent.mkdir(parents=True, exist_ok=True)
                (self.disk / path).write_bytes(data)

    def problem(self, where, what):
        self.problems.append(f"{self.name}: {where}: {what}")

    def begin(self):
        self.restore({"text.txt": "".join(f"Line {i * i} of a document.\n<|endoftext|>\n" for i in range(400)).encode(),
                      "tokens.txt": b"1 2 3 4 5", "tiny.toml": STUDY.encode(),
                      "items.jsonl": b'{"context": "Line 4", "continuation": " of a document."}\n' * 20})
        for command in self.scenario.setup:
            done = self.run(command)
            if done.returncode:
                sys.exit(f"run_faults.py: error: {command}: exit code {done.returncode}: {done.stderr}")
        self.before = tree_of(self.disk)
        self.model = Disk(self.disk)
        counts = self.disk.parent / "counts"
        counts.write_bytes(bytes(4096))
        done = self.run(self.scenario.command, FAULT_TRACE=str(self.trace), FAULT_COUNTS=str(counts))
        if done.returncode:
            sys.exit(f"run_faults.py: error: {self.scenario.command}: exit code {done.returncode}: {done.stderr}")
        self.counts = dict(zip(FAULTS, memoryview(counts.read_bytes()).cast("i")))
        self.calls, self.after = read_trace(self.trace), whole(tree_of(self.disk))

    def read_versions(self):
        """The whole versions of each path: that before the run, and each that was moved to its name."""
        self.versions = collections.defaultdict(list)
        self.crashes, flushed, moved = [], set(), collections.defaultdict(set)

        def note():
            for path, data in whole(self.model.tree(True, True)).items():
                if data not in self.versions[path]:
                    self.versions[path].append(data)

        note()
        for n, call in enumerate([*self.calls, None]):
            self.crashes.append((n, {path for path in flushed if path in self.model.tree(True, True)}, self.model.crash_states()))
            if call is None:
                break
            self.model.apply(call)
            if call[0] == "rename":
                new = str(pathlib.Path(call[1].split("\t")[1]).relative_to(self.disk))
                if not is_temporary(new):
                    note()
                    if pathlib.Path(call[1].split("\t")[0]).parent == (self.disk / new).parent:  # a new version
                        moved[str(pathlib.Path(new).parent)].add(new)
            if call[0] == "fsync":  # what was moved into this folder is promised from here on
                node = self.model.inodes[int(call[1])]
                for folder, names in moved.items():
                    if node is self.folder(folder):
                        flushed |= names
        if (end := whole(self.model.tree(True, True))) != self.after:
            sys.exit(f"run_faults.py: error: {self.name}: calls that the shim does not see: {differing(self.after, end)}")
        if lost := differing(whole(self.model.tree(False, False)), self.after):
            self.problem("power loss after the end", lost)

    def folder(self, path):
        node = self.model.top
        for part in pathlib.PurePath(path).parts:
            node = node.names.get(part) if node else None
        return node

    def check_files(self, where, tree, promised, partial="no file"):
        for path, data in whole(tree).items():
            if path.endswith("metrics.jsonl"):
                if not any(version.startswith(data.rpartition(b"\n")[0]) for version in [self.after.get(path, b""), *self.versions[path]]):
                    self.problem(where, f"{path} is no beginning of the log")
            elif not path.endswith("/") and not re.fullmatch(partial, path) and data not in self.versions[path]:
                self.problem(where, f"{path} ({len(data)} bytes) is no whole version")
        for path in promised:
            if path not in tree and path + "/" not in tree:
                self.problem(where, f"{path} was flushed before and is gone")
        for path in self.before:  # an older result is there, or aside, or replaced
            name = path.rsplit("/", 1)[-1]
            if name in ("checkpoint.h5", "tokens.h5", "sink.json") and not any(other.endswith("/" + name) or other == name for other in tree):
                self.problem(where, f"{path} is gone and nothing replaces it")

    def check_next_start(self, where):
        done = self.run(self.scenario.command)
        tree = tree_of(self.disk)
        if done.returncode == 2 and whole(tree) == self.after and "already" in done.stderr:
            return  # `export` does not write its folder again
        if done.returncode:
            self.problem(where, f"the next start ended with {done.returncode}: {done.stderr[-300:]}")
        elif wrong := differing(whole(tree), self.after):
            self.problem(where, f"after the next start {wrong}")

    def crash(self):
        seen = set()
        for n, promised, states in self.crashes:
            for kind, tree in states.items():
                where = f"{kind} before call {n} of {len(self.calls)}" + (
                    f" ({' '.join(self.calls[n][:2])})" if n < len(self.calls) else "")
                key = hash(tuple((re.sub(r"tmp-.*", "", path), b"" if is_temporary(path) else data) for path, data in sorted(tree.items())))
                if (key, len(promised)) in seen:
                    continue
                seen.add((key, len(promised)))
                self.check_files(where, tree, promised)
                self.restore(tree)
                self.check_next_start(where)

    def fault(self, limit, chosen):
        for kind, errors in FAULTS.items():
            for error in errors:
                for n in self.sample(kind, limit, chosen):
                    self.fault_once(f"{kind}:{n}:{error}")

    def sample(self, kind, limit, chosen):
        count = self.counts[kind]
        if count <= limit:
            return range(1, count + 1)
        return sorted({1, count, *(1 + int((i + chosen.random()) * count / limit) for i in range(limit - 2))})

    def fault_once(self, fault):
        self.restore(self.before)
        done = self.run(self.scenario.command, FAULT_CALL=fault)
        tree = tree_of(self.disk)
        if done.returncode and fault.endswith(":short"):
            self.problem(fault, f"a short write is no error, but the exit code is {done.returncode}: {done.stderr[-300:]}")
        elif done.returncode == 0:
            if wrong := differing(whole(tree), self.after):
                self.problem(fault, f"exit code 0, but {wrong}")
        elif done.returncode == 2 and "already exists and is not" in done.stderr:
            pass  # an older output that cannot be read is not recognised, and is kept
        elif done.returncode not in CODES or "error: " not in done.stderr:
            self.problem(fault, f"exit code {done.returncode}: {done.stderr[-300:]}")
        self.check_files(fault, tree, set(), self.scenario.partial)
        self.check_next_start(fault)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the folder of the programs")
    parser.add_argument("--only", choices=SCENARIOS, action="append", help="these programs only")
    parser.add_argument("--all", action="store_true", default=bool(os.environ.get("SINKLAB_ALL_FAULTS")), help="every fault")
    parser.add_argument("--limit", type=int, default=4, help="faults of each kind and error")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of faults")
    parser.add_argument("--plant", choices=[*PLANTS], help="a fault of ours on purpose, which must be found")
    options = parser.parse_args()
    print(f"seed {options.seed}; " + ("all faults" if options.all else f"at most {options.limit} faults of each kind and error"))
    problems = []
    some = list(SCENARIOS)[::3] if os.environ.get("SINK_SHORT_TESTS") else SCENARIOS
    for name in options.only or some:
        with tempfile.TemporaryDirectory(prefix="sinklab-faults-") as work:
            start, trial = time.time(), Trial(name, options.build.resolve(), pathlib.Path(work).resolve(), options.plant)
            trial.begin()
            trial.read_versions()
            trial.crash()
            after_crashes = trial.runs
            trial.fault(10**9 if options.all else options.limit, random.Random(f"{options.seed} {name}"))
            print(f"{name}: {len(trial.calls)} calls; {after_crashes} and {trial.runs - after_crashes} runs for crashes and faults; "
                  f"{len(trial.problems)} problems; {time.time() - start:.1f} s", flush=True)
            problems += trial.problems
            for problem in trial.problems[:40]:
                print("  " + problem, flush=True)
    if options.plant:
        found = any(PLANTS[options.plant] in problem for problem in problems)
        print(f"{options.plant}: " + ("found" if found else f"not found: expected a problem with the words `{PLANTS[options.plant]}`"))
        return 0 if found else 1
    print(f"{len(problems)} problems" if problems else "every file stayed whole, and every next start ended with the same bytes")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
