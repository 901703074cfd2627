#!/usr/bin/env python3
"""Measures the speed of training a small model on a machine that runs other programs too, and prints a table.

The training is the synthetic task of quickstart, on all cores; it runs alone, two and three at once, and next to one
busy loop per core. With --before, an older build of the same program runs too: "alone" alternates between the two in every
round, and the idle ratio is the median of the ratios within rounds. Needs a machine that is otherwise idle:
"others" says how much of it other programs took meanwhile. 2 minutes with three rounds and --before.

  busy_machine.py --before ../before/build/release/train_baseline
"""
import argparse
import dataclasses
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUSY_LOOP = [sys.executable, "-c", "while True: pass"]
TICKS = os.sysconf("SC_CLK_TCK")
# What the table says: trainings at once, busy loops per core beside them, the least share of "alone" that is wanted.
CASES = {"alone": (1, 0, None), "two at once": (2, 0, 0.9), "three at once": (3, 0, 0.9),
         "beside busy loops": (1, 1, 0.33)}
IDLE_WANTED = 0.98


@dataclasses.dataclass
class Measured:
    rate: float  # steps per second of all trainings together
    others: float  # share of the machine that other programs took


class Training:
    """A training under way, and when it had made how many steps."""

    def __init__(self, program, folder):
        self.command = [str(program), "--config", str(ROOT / "tools/quickstart_bigram.toml"), "--steps", "10000000",
                        "--eval-every", "10000000", "--checkpoint-every", "10000000", "--log-every", "5", "--run",
                        str(folder)]
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.lines, self.steps = [], []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line)
            if found := re.match(r"step (\d+)/", line):
                self.steps.append((time.monotonic(), int(found.group(1))))

    def wait_for_first_step(self):
        while not self.steps:
            if self.process.poll() is not None:
                sys.exit(f"busy_machine.py: {' '.join(self.command)} left with {self.process.returncode}: "
                         f"{''.join(self.lines[-3:])}")
            time.sleep(0.01)

    def rate(self, begin, end):
        """Steps per second between two moments."""
        inside = [(when, step) for when, step in list(self.steps) if begin <= when <= end]
        if len(inside) < 2:
            return 0.0
        return (inside[-1][1] - inside[0][1]) / (end - begin)


def busy_seconds():
    """Of the whole machine, since it started."""
    with open("/proc/stat") as stat:
        user, nice, system, _, _, interrupts, soft_interrupts = map(int, stat.readline().split()[1:8])
    return (user + nice + system + interrupts + soft_interrupts) / TICKS


def seconds_of(process):
    with open(f"/proc/{process.pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def measure(program, case, seconds, scratch):
    trainings_at_once, loops_per_core, _ = CASES[case]
    loops = [subprocess.Popen(BUSY_LOOP) for _ in range(loops_per_core * len(os.sched_getaffinity(0)))]
    trainings = []
    try:
        for number in range(trainings_at_once):
            trainings.append(Training(program, pathlib.Path(scratch) / f"{time.monotonic_ns()}-{number}"))
        for training in trainings:
            training.wait_for_first_step()
        time.sleep(0.5)
        ours = [t.process for t in trainings] + loops
        begin, busy, own = time.monotonic(), busy_seconds(), sum(map(seconds_of, ours))
        time.sleep(seconds)
        end, busy, own = time.monotonic(), busy_seconds() - busy, sum(map(seconds_of, ours)) - own
        others = max(0.0, busy - own) / ((end - begin) * os.cpu_count())
        return Measured(sum(t.rate(begin, end) for t in trainings), others)
    finally:
        for process in [t.process for t in trainings] + loops:
            process.kill()
            process.wait()


def table(results, builds):
    lines = []
    for name in builds:
        alone = statistics.median(m.rate for m in results[name, "alone"])
        for case, (_, _, wanted) in CASES.items():
            rates = [m.rate for m in results[name, case]]
            rate = statistics.median(rates)
            lines.append([name, case, f"{rate:.0f} ({min(rates):.0f}-{max(rates):.0f})", f"{rate / alone:.2f}",
                          f"{wanted:.2f}" if wanted else "",
                          f"{100 * max(m.others for m in results[name, case]):.0f} %"])
    lines.insert(0, ["build", "training", "steps/s together (range)", "of alone", "wanted", "others, at most"])
    lines.insert(1, ["-" * max(3, len(cell)) for cell in lines[0]])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join("| " + " | ".join(c.ljust(w) for c, w in zip(line, widths)) + " |" for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/train_baseline",
                        help="what is measured [build/release/train_baseline]")
    parser.add_argument("--before", type=pathlib.Path, help="the same program of an older build")
    parser.add_argument("--seconds", type=float, default=4, help="timed per figure, after the first steps [4]")
    parser.add_argument("--rounds", type=int, default=3, help="[3]; all but alone of --before is measured once")
    options = parser.parse_args()
    builds = {"now": options.program, **({"before": options.before} if options.before else {})}
    for program in builds.values():
        if not program.exists():
            parser.error(f"no {program}: build it (cmake --build --preset release --target train_baseline)")

    results = {}
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(options.rounds):
            for case in CASES:
                for name, program in builds.items():
                    if number > 0 and name == "before" and case != "alone":
                        continue
                    print(f"round {number + 1}/{options.rounds}: {name}, {case}", file=sys.stderr, flush=True)
                    results.setdefault((name, case), []).append(measure(program, case, options.seconds, scratch))
    print(table(results, builds))
    if options.before:
        ratios = [now.rate / before.rate for now, before in zip(results["now", "alone"], results["before", "alone"])]
        print(f"\nidle speed, now to before: {statistics.median(ratios):.3f} ({min(ratios):.3f}-{max(ratios):.3f}); "
              f"wanted: at least {IDLE_WANTED}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
