#!/usr/bin/env python3
"""The lines of Python in `report --help` and in GUIDE.md load a study: run as they stand, against the csv module.

    help_lines.py BUILD_FOLDER

Exit 0: they do. 1: they do not. 77: no pandas here, nothing was checked.
"""

import collections
import csv
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import pandas
except ImportError:
    print("help_lines: no pandas here (Debian package python3-pandas): skipped", file=sys.stderr)
    sys.exit(77)

build, here = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(__file__).resolve().parent
said = subprocess.run([build / "report", "--help"], capture_output=True, text=True, check=True).stdout
begin = said.index("  import pathlib, pandas")
lines = [line[2:] for line in said[begin:said.index("\n\n", begin)].splitlines()]
guide = (here.parents[2] / "GUIDE.md").read_text()
guide_lines = guide[guide.index("```python\nimport pathlib, pandas") + len("```python\n"):].split("\n```")[0].splitlines()
STUDY = """name = "operations"
question = "?"
baseline = "baseline"
seeds = [1, 2]
[settings]
task = "bigram-backcopy"
layers = 1
heads = 2
width = 16
feed-forward = 16
context = 16
batch = 2
steps = 6
eval-sequences = 2
learning-rate = 0.01
[[runs]]
ablation = "baseline"
learning-rate = [0.01, 0.02]
"""
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    pathlib.Path("operations.toml").write_text(STUDY)
    subprocess.run([build / "sweep", "operations.toml", "--workers", "1", "--threads", "1"], check=True, capture_output=True)
    names = {}
    exec("\n".join(guide_lines), names)
    runs, steps = names["runs"], names["steps"]
    with open("runs/operations/operations-runs.csv", newline="") as table:
        losses = [float(row["val_loss"]) for row in csv.DictReader(table)]
    mean = runs.groupby("ablation").val_loss.mean()["baseline"]
    if len(guide_lines) != 5 or len(losses) != 4 or abs(mean - sum(losses) / 4) > 1e-9 or len(steps) != 4 * 6 or steps.run.nunique() != 4:
        sys.exit(f"help_lines: GUIDE.md's {len(guide_lines)} lines: {len(losses)} runs, mean {mean}, {len(steps)} steps")
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([sys.executable, here / "make_runs.py", "runs/study"], check=True)
    with open("runs/study/baseline-0.01-0/metrics.jsonl", "a") as metrics:
        metrics.write('{"step": 401, "train_loss": "nan", "skipped": true}\n')  # as a skipped step is written
    subprocess.run([build / "report", "runs/study", "--csv", "study.csv"], check=True, capture_output=True)
    names = {}
    exec("\n".join(lines), names)
    runs, steps = names["runs"], names["steps"]
    groups = collections.defaultdict(list)
    with open("study.csv", newline="") as table:
        for row in csv.DictReader(table):
            groups[row["ablation"], float(row["learning_rate"])].append(float(row["val_loss"]))
    means = runs.groupby(["ablation", "learning_rate"]).val_loss.mean()
    wrong = [key for key, values in groups.items() if abs(means[key] - sum(values) / len(values)) > 1e-9]
    if len(lines) != 7 or len(runs) != 18 or len(groups) != 6 or wrong:
        sys.exit(f"help_lines: {len(lines)} lines, {len(runs)} runs, {len(groups)} groups, other means in {wrong}")
    if len(steps) != 18 * 400 + 1 or steps.train_loss.dtype != float or steps.train_loss.isna().sum() != 1 or steps.run.nunique() != 18:
        sys.exit(f"help_lines: {len(steps)} steps of {steps.run.nunique()} runs, losses of type {steps.train_loss.dtype}")
