#!/usr/bin/env python3
"""Compares one training step of Sinklab with PyTorch, eager and compiled, and prints a table.

Every measurement is a separate process. The programs alternate (ours, eager, compile, ours, ...) for several rounds, so
that a slow minute of the machine affects all of them; the ratio is the median of the ratios within rounds.

  compare_step.py --python venv/bin/python --markdown step.md
  compare_step.py --models 60m --precisions bf16 --rounds 5

Without PyTorch only our times are printed.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
INSTALL = "python3 -m venv venv && venv/bin/pip install torch, then --python venv/bin/python"
OURS, PEERS = "ours", ("eager", "compile")


def run(command, name):
    """The program's JSON line, or nothing after saying on stderr what went wrong."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    except OSError as error:
        print(f"compare_step.py: {name}: {error}", file=sys.stderr)
        return None
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        why = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no output"]
        print(f"compare_step.py: {name}: exit {done.returncode}: {why[0]}", file=sys.stderr)
        return None
    return json.loads(lines[-1])


def torch_version(python):
    """PyTorch's version under that interpreter, or nothing."""
    try:
        done = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def commands(options, model, precision, with_torch):
    common = ["--model", model, "--precision", precision, "--threads", str(options.threads), "--seconds",
              str(options.seconds)]
    found = {OURS: [str(options.program), *common]}
    if with_torch:
        for mode in PEERS:
            found[mode] = [options.python, str(HERE / "torch_peer.py"), *common, "--mode", mode, "--tuning",
                           options.tuning]
    return found


def race(options, model, precision, with_torch):
    """Rounds of results: a list of {program: result}."""
    rounds = []
    for number in range(options.rounds):
        results = {}
        for name, command in commands(options, model, precision, with_torch).items():
            print(f"{model} {precision}: round {number + 1}/{options.rounds}: {name}", file=sys.stderr, flush=True)
            if (result := run(command, name)) is not None:
                results[name] = result
        rounds.append(results)
    return rounds


def row_of(model, precision, rounds):
    """One line of the table: medians over rounds, ratios within rounds."""

    def median(name, key):
        values = [r[name][key] for r in rounds if name in r]
        return statistics.median(values) if values else None

    row = {"model": model, "precision": precision, "rounds": len(rounds)}
    for name in (OURS, *PEERS):
        row[f"{name}_ms"] = median(name, "ms_median")
        row[f"{name}_mib"] = median(name, "peak_mib")
    # How many times as fast as the better peer of the same round.
    ratios = []
    for r in rounds:
        peers = [r[name]["ms_median"] for name in PEERS if name in r]
        if OURS in r and peers:
            ratios.append(min(peers) / r[OURS]["ms_median"])
    row["speedup"] = statistics.median(ratios) if ratios else None
    row["speedup_range"] = (min(ratios), max(ratios)) if ratios else None
    ours = [r[OURS] for r in rounds if OURS in r]
    rates = [o["flops_per_step"] / o["ms_median"] / 1e6 for o in ours]
    row["gflops"] = statistics.median(rates) if ours else None
    row["gemm_percent"] = statistics.median(100 * g / o["gemm_gflops"] for g, o in zip(rates, ours)) if ours else None
    row["parameters"] = {name: r[name]["parameters"] for r in rounds for name in r}
    return row


def text(value, form):
    return "-" if value is None else format(value, form)


def table(rows):
    """The rows as a Markdown table, columns aligned for a terminal too."""
    lines = [["model", "precision", "ours ms", "eager ms", "compile ms", "times the better PyTorch (range)",
              "ours GFLOP/s", "% of GEMM rate", "peak MiB ours / eager / compile"]]
    for row in rows:
        speedup = text(row["speedup"], ".2f")
        if row["speedup_range"]:
            speedup += " ({:.2f}-{:.2f})".format(*row["speedup_range"])
        lines.append([row["model"], row["precision"], *(text(row[f"{name}_ms"], ".1f") for name in (OURS, *PEERS)),
                      speedup, text(row["gflops"], ".0f"), text(row["gemm_percent"], ".0f"),
                      " / ".join(text(row[f"{name}_mib"], ".0f") for name in (OURS, *PEERS))])
    lines.insert(1, ["-" * max(3, len(line)) for line in lines[0]])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join("| " + " | ".join(c.ljust(w) for c, w in zip(line, widths)) + " |" for line in lines)


def cpu_name():
    with open("/proc/cpuinfo") as cpuinfo:
        return next((line.split(":", 1)[1].strip() for line in cpuinfo if line.startswith("model name")), "unknown CPU")


def commit():
    try:
        done = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
        return done.stdout.strip() or "unknown"
    except OSError:
        return "unknown"


def header(options, torch):
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ")
    peer = f"PyTorch {torch} (--tuning {options.tuning})" if torch else "no PyTorch"
    return (f"{date}, {cpu_name()}, {options.threads} threads of {os.cpu_count()}, Linux {platform.release()}, commit "
            f"{commit()}, {peer}, {options.rounds} rounds of {options.seconds:g} s, each number a process of its own. "
            "A step is forward, loss, backward, clipping and AdamW; ms are medians over rounds of each run's median.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bench_step", help="our program")
    parser.add_argument("--python", default="python3", help="interpreter that has PyTorch")
    parser.add_argument("--models", nargs="+", default=["text", "60m"])
    parser.add_argument("--precisions", nargs="+", default=["f32", "bf16"])
    parser.add_argument("--tuning", choices=["best", "stock"], default="best", help="PyTorch's, see torch_peer.py")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=4, help="timed per process, after its warm-up")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--markdown", type=pathlib.Path, help="also write the table there")
    parser.add_argument("--json", type=pathlib.Path, help="also write every run there")
    options = parser.parse_args()

    if not options.program.exists():
        parser.error(f"no {options.program}: build it (cmake --build --preset release --target bench_step) or name it "
                     "by --program")
    torch = torch_version(options.python)
    if torch is None:
        print(f"compare_step.py: {options.python} has no PyTorch: printing ours alone. To race: {INSTALL}",
              file=sys.stderr)
    if os.getloadavg()[0] > 0.5:
        print(f"compare_step.py: load average {os.getloadavg()[0]:.1f}: other work will disturb the timings",
              file=sys.stderr)
    rows, runs = [], []
    for model in options.models:
        for precision in options.precisions:
            rounds = race(options, model, precision, torch is not None)
            rows.append(row_of(model, precision, rounds))
            runs += [{"round": i, "program_name": name, **r} for i, results in enumerate(rounds)
                     for name, r in results.items()]
            counts = set(rows[-1]["parameters"].values())
            if len(counts) > 1:
                print(f"compare_step.py: {model}: parameter counts differ: {rows[-1]['parameters']}", file=sys.stderr)
    report = header(options, torch) + "\n\n" + table(rows) + "\n"
    print(report)
    for path, content in ((options.markdown, report), (options.json, json.dumps(runs, indent=1) + "\n")):
        if path:
            partial = path.with_name(path.name + ".partial")
            partial.write_text(content)
            os.replace(partial, path)
    return 0 if all(row["ours_ms"] is not None for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
