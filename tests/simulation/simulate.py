#!/usr/bin/env python3
"""Lives of the programs on a machine that fails: seeds that failed before, then new ones (README.md).

  simulate.py --build build/release                     the seeds that failed, and new ones for 60 s (a third, and none, with SINK_SHORT_TESTS)
  simulate.py --build build/release --hours 8 --jobs 2  a night
  simulate.py --build build/release --seed 1234         one life, event by event
  simulate.py --build build/release --plant fsync       a fault of ours on purpose: exit code 0 if a life finds it
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import sys
import time

from life import Life

FAILED = pathlib.Path(__file__).parent / "failed_seeds.txt"
# FAULT_PLANT of fault_shim.cpp, and a word of what a life reports that met it.
PLANTS = {"fsync": "finished_means_durable", "rename": "finished_means_durable", "unlink": "temporary",
          "prctl": "no_process_survives"}


def live(seed, build, plant, loud=False):
    life = Life(seed, build, plant, lambda text: print(text, flush=True) if loud else None)
    try:
        life.live()
    except Exception as error:  # of the simulator, or of the undisturbed life
        if loud or plant:
            raise
        life.problems.append(f"{type(error).__name__}: {error}")
    return seed, life.problems, life.counts


def failed_before():
    lines = FAILED.read_text().splitlines()
    return [int(line.split()[0]) for line in lines if line and not line.startswith("#")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the folder of the programs")
    parser.add_argument("--seed", type=int, help="one life, told event by event")
    parser.add_argument("--seconds", type=float, default=60, help="of new lives")
    parser.add_argument("--hours", type=float, help="of new lives, instead of --seconds; seeds that fail are added to failed_seeds.txt")
    parser.add_argument("--lives", type=int, default=10**9, help="new lives at most")
    parser.add_argument("--first", type=int, help="the first new seed, then those after it; else the time")
    parser.add_argument("--jobs", type=int, default=1, help="lives at a time")
    parser.add_argument("--plant", choices=[*PLANTS], help="a fault of ours on purpose, which a life must find")
    parser.add_argument("--stop-at-first", action="store_true", help="end when one life has broken an invariant")
    options = parser.parse_args()
    build = options.build.resolve()
    os.environ.setdefault("TMPDIR", "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp")
    if options.seed is not None:
        return 1 if live(options.seed, build, options.plant, loud=True)[1] else 0

    start, first = time.time(), options.first if options.first is not None else time.time_ns() // 10**6 % 10**9
    seconds = options.hours * 3600 if options.hours else options.seconds
    short = "SINK_SHORT_TESTS" in os.environ
    old = [] if options.plant else failed_before()[::3 if short else 1]
    print(f"{len(old)} seeds that failed before, then new ones from {first} for {seconds:.0f} s", flush=True)
    counts, failed, lives = collections.Counter(), [], 0

    def seeds():
        yield from old
        new = time.time()
        if short and not options.plant:
            return
        for n in range(options.lives):
            if time.time() - new > seconds or ((options.plant or options.stop_at_first) and failed):
                return
            yield first + n

    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        waiting, source = set(), seeds()
        while True:
            while len(waiting) < options.jobs and (seed := next(source, None)) is not None:
                waiting.add(pool.submit(live, seed, build, options.plant))
            if not waiting:
                break
            done, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for seed, problems, events in (future.result() for future in done):
                lives += 1
                counts += events
                if problems and options.plant and not any(PLANTS[options.plant] in problem for problem in problems):
                    sys.exit(f"seed {seed}: expected {PLANTS[options.plant]} to be broken, got {problems[0][:600]}")
                if problems:
                    failed.append(seed)
                    print(f"seed {seed}: " + "\n  ".join(problem[:600] for problem in problems[:5]), flush=True)
                    if options.hours and seed not in old:
                        with FAILED.open("a") as file:
                            file.write(f"{seed}  {' '.join(problems[0].split())[:100]}\n")
    print(f"{lives} lives in {time.time() - start:.0f} s: {', '.join(f'{n} {what}' for what, n in sorted(counts.items()))}")
    if options.plant:
        print(f"{options.plant}: " + (f"found by life {lives}" if failed else f"not found by {lives} lives"))
        return 0 if failed else 1
    print(f"{len(failed)} lives broke an invariant; add their seeds to {FAILED.name}" if failed else "every invariant held")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
