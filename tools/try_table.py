#!/usr/bin/env python3
"""The table and the verdicts of tools/try.sh.

  try_table.py RUNS BASELINE STEPS SEEDS ABLATION...     RUNS has a folder ABLATION-SEED, and ABLATION-SEED.log, per run

A run sinks where Sink_1 is at least 30 %, and does not where it is below 3 %. A verdict needs all seeds, two or more, and
a baseline that sinks. Exit code 1 if a run did not end.
"""
import json
import pathlib
import re
import sys

SINKS, NO_SINK = 30, 3  # percent
OFF = 0.1  # mean row sum of attention that is almost off
WORSE = 0.05  # nats of loss


def values(run: pathlib.Path) -> dict | str:
    """What evaluation.json and the log measured, or why there is no evaluation.json."""
    if not (run / "evaluation.json").exists():
        errors = re.findall("error: (.*)", run.with_name(run.name + ".log").read_text())
        return re.split("[.;] ", errors[-1])[0] if errors else "it was stopped"
    file = json.loads((run / "evaluation.json").read_text())
    names = ["val_loss", "alpha_1", "alpha_1_raw", "row_mass", "entropy", "context"]
    at = file["sink_epsilon"].index(0.3)
    last = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    return {name: float(file[name]) for name in names} | {
        "sink_1": file["sink_1"][at], "sink_1_raw": file["sink_1_raw"][at], "speed": last["tokens"] / last["seconds"]}


def mean(runs: list, name: str) -> float:
    return sum(run[name] for run in runs) / len(runs)


def verdict(runs: list, baseline: list | None) -> str:
    """In words; `baseline` is None where the runs are the baseline's own."""
    proxy, raw = [run["sink_1"] for run in runs], [run["sink_1_raw"] for run in runs]
    if len(runs) < 2:
        return "one seed: no verdict"
    if min(proxy) >= SINKS:
        text = "sinks in every seed" if min(raw) >= SINKS else (
            "sinks by proxy weights; as they act (raw), not" if max(raw) < NO_SINK else
            "sinks by proxy weights; raw undecided")
    elif baseline is not None and min((run["sink_1"] for run in baseline), default=0) < SINKS:
        return "no verdict: the baseline does not sink either, train longer"
    else:
        text = "does not sink in any seed" if max(proxy) < NO_SINK else "undecided: seeds differ"
    if max(run["row_mass"] for run in runs) < OFF:
        text += "; attention is almost off"
    if baseline and mean(runs, "val_loss") > mean(baseline, "val_loss") + WORSE:
        text += "; learned less than the baseline"
    return text


def table(runs: dict[str, list], baseline: str) -> list[str]:
    """A line per ablation of `runs`, which has values() of each seed."""
    first = [run for run in runs[baseline] if isinstance(run, dict)]
    lines = [f"{'ablation':<24} {'loss':>7} {'Sink_1 (raw)':>12} {'alpha_1 (raw)':>14} {'even':>7} {'entropy':>8} "
             f"{'row sum':>7} {'speed':>8}  verdict"]
    for name, own in runs.items():
        failed = [run for run in own if isinstance(run, str)]
        if failed:
            lines.append(f"{name:<24} did not end: {failed[0]}")
            continue
        T = int(own[0]["context"])
        even = sum(1 / i for i in range(1, T + 1)) / T
        speed = f"{mean(own, 'speed') / mean(first, 'speed'):.2f} x" if first else "-"
        lines.append(
            f"{name:<24} {mean(own, 'val_loss'):7.4f} {mean(own, 'sink_1'):5.1f} ({mean(own, 'sink_1_raw'):4.1f}) "
            f"{mean(own, 'alpha_1'):6.3f} ({mean(own, 'alpha_1_raw'):5.3f}) {even:7.3f} {mean(own, 'entropy'):8.3f} "
            f"{mean(own, 'row_mass'):7.3f} {speed:>7}  {verdict(own, None if name == baseline else first)}")
    return lines


def main() -> int:
    folder, baseline, steps, seeds, *names = sys.argv[1:]
    runs = {name: [values(pathlib.Path(folder) / f"{name}-{seed}") for seed in range(1, int(seeds) + 1)]
            for name in [baseline, *names]}
    print("\n".join(table(runs, baseline)))
    print(f"""
Means of {seeds} {'seed' if seeds == '1' else 'seeds'}, {steps} steps. Sink_1: percent of heads and sequences whose first token gets over 0.3 of the attention,
by proxy weights |a| / sum |a|; raw: the weights as they act. even: alpha_1 if each query spread its weight evenly.
speed: training steps per second relative to {baseline}. Small and short: a first look, not a result.""")
    return int(any(isinstance(run, str) for own in runs.values() for run in own))


if __name__ == "__main__":
    sys.exit(main())
