#!/usr/bin/env python3
"""What the heads with a sink are good for: the rise of the loss without their outputs, without those of all other heads, and
without those of as many random heads.

  python3 train/studies/science/idle_heads.py RUNS --program build/release/eval_bias_k --data DATA --out pruned.csv

RUNS: the folder of a study's runs (idle_heads.toml). A head is called idle, the name of a hypothesis, if its alpha_* is above 0.3, the
threshold of Sink_*; in a run without an extra key, its alpha_1.
The rest are all heads that are not. An output becomes zero (*_zero) or its mean over all tokens (*_mean), which the layers after it expect.
The random heads are drawn from all heads, five times for each run, by its seed. Losses are of 100 sequences of the validation text.
Exit codes: 0 done, 2 usage, 3 bad input, 8 disk. Needs Python 3.11 and no package.
"""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

from output import Usage, field, require_ours, run_program, write
from runs import BadInput

THRESHOLD, DRAWS = 0.3, 5
COLUMNS = ["run", "seed", "layers", "heads", "idle", "loss", "idle_zero", "idle_mean", "rest_zero", "rest_mean", "random_zero", "random_least",
           "random_most"]


def section(name, heads, value="zero"):
    places = ", ".join(f'"{layer}.{head}"' for layer, head in sorted(heads))
    return f'[[interventions]]\nname = "{name}"\nwhat = "head"\nvalue = "{value}"\nlayer-heads = [{places}]\n'


def row_of(folder, options):
    """None for a run that is not complete, or has no idle head or no other."""
    evaluation = folder / "evaluation.json"
    if not evaluation.exists():
        return None
    measured = json.loads(evaluation.read_text())
    alpha = measured["alpha_star_layer_head" if "alpha_star_layer_head" in measured else "alpha_1_layer_head"]
    every = [(layer, head) for layer, row in enumerate(alpha) for head in range(len(row))]
    idle = [(layer, head) for layer, head in every if alpha[layer][head] > THRESHOLD]
    if not 0 < len(idle) < len(every):
        return None
    rest = [place for place in every if place not in idle]
    draw = random.Random(measured["seed"])
    sections = "".join(section(f"{name} {value}", heads, value) for name, heads in (("idle", idle), ("rest", rest)) for value in ("zero", "mean"))
    sections += "".join(section(f"random {n}", draw.sample(every, len(idle))) for n in range(DRAWS))
    with tempfile.TemporaryDirectory() as work:
        settings, out = pathlib.Path(work) / "heads.toml", pathlib.Path(work) / "heads.json"
        settings.write_text(sections)
        command = [options.program, "interventions", folder / "checkpoint.h5", "--settings", settings, "--sequences", "100", "--out", out]
        command += ["--data", options.data] if options.data else []
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise BadInput(done.stderr.strip().splitlines()[-1])
        results = json.loads(out.read_text())["interventions"]
    *judged, rises = *(one["change"] for one in results[:4]), [one["change"] for one in results[4:]]
    name = folder.name.rsplit("-", 1)[0]
    return [name, measured["seed"], len(alpha), len(alpha[0]), len(idle), results[0]["loss_before"], *judged,
            statistics.fmean(rises), min(rises), max(rises)]


def run(options):
    if not options.program.exists():
        raise Usage(f"there is no program {options.program}; cmake --build --preset release --target eval_bias_k makes it")
    folders = sorted(folder for folder in options.runs.iterdir() if (folder / "config.toml").exists()) if options.runs.is_dir() else []
    if not folders:
        raise BadInput(f"{options.runs} has no folders of runs; give the --out of `sweep`")
    first_line = ",".join(COLUMNS) + "\n"
    require_ours(options.out, first_line)
    rows = [row for folder in folders if (row := row_of(folder, options))]
    write(options.out, first_line + "".join(",".join(map(field, row)) + "\n" for row in rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path, default=pathlib.Path("build/release/eval_bias_k"))
    parser.add_argument("--data", type=pathlib.Path, help="the data folder of the runs [that of their configuration]")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    return run_program("idle_heads", lambda: run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
