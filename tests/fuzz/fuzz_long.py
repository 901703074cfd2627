#!/usr/bin/env python3
"""Fuzzes every reader for hours, and keeps what covers new code (README.md).

  fuzz_long.py --build build/fuzz --hours 1 --jobs 2     an hour of each target, or what is left of it; a table on stdout
  fuzz_long.py --build build/fuzz --hours 1 --only gguf  of one target
  fuzz_long.py --build build/fuzz --table                what was done so far
  fuzz_long.py --build build/fuzz --keep                 adds small inputs that reach new code to tests/fuzz/inputs.txt, and what
                                                         was done to tests/fuzz/done.csv

Needs the preset fuzz, built with clang. Targets take turns of five minutes. Hours are processor time, so other programs may run at the
same time. A stopped run continues from BUILD/fuzz_long.csv, which records each turn, and from done.csv.
"""
import argparse
import base64
import collections
import concurrent.futures
import csv
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

INPUTS = pathlib.Path(__file__).parent / "inputs.txt"
DONE = pathlib.Path(__file__).parent / "done.csv"
TURN = 300  # seconds
LARGEST_INPUT = 512  # bytes of an input in the repository
INTERRUPTED = (72, -signal.SIGINT, -signal.SIGTERM)  # exit codes of a target that was stopped; 72 is libFuzzer's
FIELDS = ["target", "seconds", "executions", "edges", "features", "inputs", "finding"]  # of a turn
DONE_FIELDS = ["target", "seconds", "executions", "edges", "inputs", "findings"]


class Target:
    """A CTest test of the preset fuzz: its program, flags and folders."""

    def __init__(self, name, command):
        self.name, self.program = name, command[0]
        self.flags = [word for word in command[1:] if word.startswith("-") and not word.startswith("-max_total_time")]
        self.folders = [pathlib.Path(word) for word in command[1:] if not word.startswith("-")]  # found on the way, then what it began with

    def turn(self, seconds):
        """Fuzzes for some seconds; a row of fuzz_long.csv, or None if it was stopped."""
        command = [self.program, f"-max_total_time={seconds:.0f}", *self.flags, *map(str, self.folders)]
        with tempfile.TemporaryFile("w+", errors="replace") as messages:
            running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=messages)
            _, status, usage = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
            messages.seek(0)
            log = messages.read()
        if running.returncode in INTERRUPTED:
            return None
        last = lambda pattern: (re.findall(pattern, log) or ["0"])[-1]
        finding = ""
        if running.returncode != 0:
            artifact = re.search(r"Test unit written to (\S+)", log)
            finding = artifact[1] if artifact else f"exit code {running.returncode}"
            pathlib.Path(f"{self.folders[0]}.log").write_text(log)
        return dict(zip(FIELDS, [self.name, round(usage.ru_utime + usage.ru_stime), last(r"stat::number_of_executed_units: *(\d+)"),
                                 last(r"cov: (\d+)"), last(r"ft: (\d+)"), last(r"corp: (\d+)"), finding]))


def targets_of(build):
    """The tests fuzz_<target> that CTest knows."""
    listed = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], capture_output=True, text=True)
    if listed.returncode != 0:
        sys.exit(f"fuzz_long: {build}: {listed.stderr.strip()}; build the preset fuzz first")
    tests = json.loads(listed.stdout)["tests"]
    found = [Target(test["name"].removeprefix("fuzz_"), test["command"]) for test in tests
             if test["name"].startswith("fuzz_") and "command" in test and test["name"] != "fuzz_make_corpus"]
    if not found or not all(pathlib.Path(target.program).exists() for target in found):
        sys.exit(f"fuzz_long: {build} lacks fuzz targets; build the preset fuzz first")
    return found


def rows_of(path):
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path, fields, rows):
    """Replaces a file whole, or leaves it."""
    with tempfile.NamedTemporaryFile("w", newline="", dir=path.parent, delete=False) as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        file.flush()
        os.fsync(file.fileno())
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def totals_of(record):
    """What was done of each target, by done.csv and by the turns in `record`: a row of done.csv each."""
    totals = {}
    for row in rows_of(DONE) + rows_of(record):
        total = totals.setdefault(row["target"], dict.fromkeys(DONE_FIELDS, 0) | {"target": row["target"]})
        for field in ("seconds", "executions"):
            total[field] += int(row[field])
        for field in ("edges", "inputs"):
            total[field] = max(total[field], int(row[field]))
        total["findings"] += int(row["findings"]) if "findings" in row else row["finding"] != ""
    return totals


def table(totals, targets):
    done = [totals[target.name] for target in targets if target.name in totals]
    lines = ["| target | minutes | executions | edges | inputs | findings |", "|---|---|---|---|---|---|"]
    for total in done:
        lines.append(f"| {total['target']} | {total['seconds'] / 60:.0f} | {total['executions']:,} | {total['edges']:,} | {total['inputs']:,} | "
                     f"{total['findings']} |")
    seconds, executions, findings = (sum(total[field] for total in done) for field in ("seconds", "executions", "findings"))
    lines.append(f"\n{seconds / 3600:.1f} hours, {executions:,} executions, {findings} findings")
    return "\n".join(lines)


def fuzz(targets, record, hours, jobs):
    lock = threading.Lock()
    done = collections.Counter({name: total["seconds"] for name, total in totals_of(record).items()})
    waiting = list(targets)

    def next_target():
        """The one that had the least time; None if all others have theirs or run."""
        with lock:
            due = [target for target in waiting if hours * 3600 - done[target.name] >= 1]
            if not due:
                return None
            chosen = min(due, key=lambda target: done[target.name])
            waiting.remove(chosen)
            return chosen

    def take_turns(_):
        while target := next_target():
            row = target.turn(min(TURN, hours * 3600 - done[target.name]))
            if row is None:
                return
            with lock:
                done[target.name] += row["seconds"]
                if not row["finding"]:  # to be mended first
                    waiting.append(target)
                new = not record.exists()
                with record.open("a", newline="") as file:
                    writer = csv.DictWriter(file, FIELDS)
                    if new:
                        writer.writeheader()
                    writer.writerow(row)
                print(", ".join(f"{key} {value}" for key, value in row.items() if value != ""), flush=True)

    pool = concurrent.futures.ThreadPoolExecutor(jobs)
    try:
        list(pool.map(take_turns, range(jobs)))
    except KeyboardInterrupt:  # of a terminal: the targets get the signal, too
        pool.shutdown(cancel_futures=True)
        sys.exit(130)


def keep(target):
    """Adds the small inputs that reach edges which those of make_corpus do not reach; returns how many."""
    with tempfile.TemporaryDirectory() as folder:
        known, new = pathlib.Path(folder) / "known", pathlib.Path(folder) / "new"
        shutil.copytree(target.folders[1], known)
        new.mkdir()
        for file in target.folders[0].iterdir():
            if file.stat().st_size <= LARGEST_INPUT:
                shutil.copy(file, new)
        flags = [flag for flag in target.flags if not flag.startswith(("-artifact_prefix", "-print_final_stats"))]
        before = {file.name for file in known.iterdir()}
        done = subprocess.run([target.program, "-set_cover_merge=1", "-use_counters=0", *flags, str(known), str(new)], capture_output=True, text=True,
                              errors="replace")
        if done.returncode != 0:
            sys.exit(f"fuzz_long: {target.name}: {done.stderr[-400:]}")
        added = sorted(base64.b64encode(file.read_bytes()).decode() for file in known.iterdir() if file.name not in before)
    lines = INPUTS.read_text().splitlines() + [f"{target.name} {line}" for line in added]
    INPUTS.write_text("".join(line + "\n" for line in sorted(lines, key=lambda line: line.split()[0])))
    return len(added)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the folder of the preset fuzz")
    parser.add_argument("--hours", type=float, default=1, help="of each target, with those before")
    parser.add_argument("--jobs", type=int, default=1, help="targets at a time")
    parser.add_argument("--only", help="some targets, with commas between them")
    parser.add_argument("--table", action="store_true", help="only the table")
    parser.add_argument("--keep", action="store_true", help="only keep inputs and what was done")
    options = parser.parse_args()
    targets = targets_of(options.build)
    if options.only:
        names = options.only.split(",")
        if unknown := set(names) - {target.name for target in targets}:
            sys.exit(f"fuzz_long: no target {', '.join(sorted(unknown))}; there are {', '.join(target.name for target in targets)}")
        targets = [target for target in targets if target.name in names]
    record = options.build / "fuzz_long.csv"
    subprocess.run(["ctest", "--test-dir", str(options.build), "-R", "^fuzz_make_corpus$"], check=True, stdout=subprocess.DEVNULL)
    if options.keep:
        for target in targets:
            print(f"{target.name}: {keep(target)} inputs added", flush=True)
        write_rows(DONE, DONE_FIELDS, sorted(totals_of(record).values(), key=lambda total: total["target"]))
        record.unlink(missing_ok=True)
        return 0
    if not options.table:
        fuzz(targets, record, options.hours, options.jobs)
    print(table(totals_of(record), targets))
    return 1 if any(row["finding"] for row in rows_of(record)) else 0


if __name__ == "__main__":
    sys.exit(main())
