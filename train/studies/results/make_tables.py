#!/usr/bin/env python3
"""Makes every table and figure of this folder again from the measured runs, the files *-runs.csv, and the verdicts on the
registered claims.

    python3 train/studies/results/make_tables.py build/release/sweep          # replaces what differs
    python3 train/studies/results/make_tables.py build/release/sweep --check  # only compares; exit code 1 if it differs
                                                                           # (with SINK_SHORT_TESTS every fourth study)

Run it in the root of the checkout. Nothing is trained. The atlas's figure is also a PNG, drawn by rsvg-convert (Debian's librsvg2-bin).
The text of the runs is not needed. Where it is in data/english, it is compared with that of the runs.
"""
import argparse
import csv
import hashlib
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import tomllib
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "science"))
import demand_picture
import idle_picture
from runs import design_of, read_runs

RESULTS = pathlib.Path("train/studies/results")
REGISTERED = pathlib.Path("train/studies/preregistration.toml")
DATA = pathlib.Path("data/english")
TUNED = ("fine_tuning", "hysteresis", "tuning")  # studies whose tables also have what was measured before tuning
INCOMPLETE = 3  # exit code of `sweep --collect` if a study has runs that the file does not have


def study_of(runs_file):
    name = runs_file.name.removesuffix("-runs.csv")
    found = sorted(pathlib.Path("train/studies").rglob(name + ".toml"))
    if not found:
        sys.exit(f"make_tables: {runs_file}: there is no study {name}.toml below train/studies")
    return name, found[0]


def make(sweep, runs_file, out):
    """Lets `sweep` write the tables of one file of runs to the folder `out`; returns their paths."""
    name, study = study_of(runs_file)
    if name in TUNED:
        print(f"left out, it has values that only the folders of the runs have: {runs_file}")
        return []
    with runs_file.open(newline="") as file:
        rows = list(csv.DictReader(file))
    seeds = sorted({int(row["seed"]) for row in rows})
    groups = list(dict.fromkeys(row["run"].removesuffix("-" + row["seed"]) for row in rows))
    devices = {row["device"] for row in rows}
    if len(devices) > 1:
        sys.exit(f"make_tables: {runs_file}: runs of several devices ({', '.join(sorted(devices))}); keep one file for each")
    data = DATA if DATA.exists() else min(row["data"] for row in rows)  # where it was, on the machine of the runs
    command = [sweep, str(study), "--collect", "--data", str(data), "--chat", "data/chat",
               "--earlier", str(runs_file), "--seeds", ",".join(map(str, seeds)), "--only", ",".join(groups),
               "--set", "device=" + devices.pop(), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    for reason, holds in (
            ("its ablations are in " + str(study.parent), "is not known to this build" in done.stderr),
            ("its study has runs that the file does not have",
             done.returncode == INCOMPLETE and "  missing: job" in done.stderr)):
        if holds:
            print(f"left out, {reason}: {runs_file}")
            return []
    if done.returncode != 0:
        sys.exit(f"make_tables: {runs_file}: {' '.join(command)}\n{done.stderr}")
    return [out / (name + ".md"), out / (name + ".svg")]


def make_verdicts(out):
    """Judges the claims of preregistration.toml; returns the paths of the table and of the atlas's figure."""
    done = subprocess.run([sys.executable, "-B", "train/studies/science/verdicts.py", "--out", str(out)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"make_tables: the verdicts: {done.stderr}")
    return [out / "verdicts.md", out / "atlas-budget.svg"]


def make_figures(out):
    """Returns the paths of the figures of demand_before_supply.md and not_idle.md."""
    out.mkdir()
    with (RESULTS / "idle_heads-pruned.csv").open(newline="") as file:
        pruned = list(csv.DictReader(file))
    figures = {"demand_before_supply.svg": demand_picture.svg_of(read_runs(RESULTS / "demand-runs.csv")),
               "not_idle.svg": idle_picture.svg_of(pruned)}
    for name, svg in figures.items():
        (out / name).write_text(svg)
    return [out / name for name in figures]


def registered_without_a_run(sweep):
    """The runs of registered claims that no study trains: misspelled, they would remain "not run" forever."""
    claims = tomllib.loads(REGISTERED.read_text())["claim"]
    names = {}
    for study in {claim["study"] for claim in claims}:
        done = subprocess.run([sweep, f"train/studies/{study}.toml", "--list", "--data", "data/english", "--chat", "data/chat"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"make_tables: the runs of {study}: {done.stderr}")
        names[study] = {row["run"] for row in csv.DictReader(done.stdout.splitlines())}
    wrong = []
    for claim in claims:
        for run in [] if "not-testable" in claim else [claim["run"]] if isinstance(claim["run"], str) else claim["run"]:
            groups = sorted(names[claim["study"]])
            if "tuned" not in claim and run not in groups:
                wrong.append(f"{claim['study']}: {run}")
            elif "tuned" in claim and (found := sum(design_of(group) == run for group in groups)) != claim["tuned"]:
                wrong.append(f"{claim['study']}: {claim['tuned']} settings of {run} ({found} found)")
    return wrong


# A PNG depends on the fonts of the machine, so it is compared by the SHA-256 of its SVG, which is one of its text chunks.
def text_chunk(svg):
    body = b"tEXtSource\0SVG with SHA-256 " + hashlib.sha256(svg.read_bytes()).hexdigest().encode()
    return struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))


def draw(svg, png):
    try:
        image = subprocess.run(["rsvg-convert", "--zoom", "1.25", "--background-color", "white", str(svg)],
                               capture_output=True, check=True).stdout
    except FileNotFoundError:
        sys.exit(f"make_tables: {png} is older than {svg}, and there is no rsvg-convert to draw it; install librsvg2-bin")
    header = 8 + 25  # signature and IHDR
    png.write_bytes(image[:header] + text_chunk(svg) + image[header:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sweep", help="the program, with all ablations")
    parser.add_argument("--check", action="store_true", help="compare only")
    options = parser.parse_args()
    if unknown := registered_without_a_run(options.sweep):
        sys.exit(f"make_tables: {REGISTERED} names runs that their studies do not have; `sweep STUDY --list` has the names: " + ", ".join(unknown))
    differing = []
    with tempfile.TemporaryDirectory() as folder:
        tables = [(RESULTS, made) for made in make_verdicts(pathlib.Path(folder) / "verdicts")]
        tables += [(RESULTS, made) for made in make_figures(pathlib.Path(folder) / "figures")]
        every = 4 if options.check and "SINK_SHORT_TESTS" in os.environ else 1
        for number, runs_file in enumerate(sorted(RESULTS.rglob("*-runs.csv"))[::every]):
            paths = make(options.sweep, runs_file, pathlib.Path(folder) / str(number))
            tables += [(runs_file.parent, made) for made in paths]
        for place, made in tables:
            committed = place / made.name
            if committed.exists() and committed.read_bytes() == made.read_bytes():
                continue
            differing.append(str(committed))
            if not options.check:
                committed.write_bytes(made.read_bytes())
    svg = RESULTS / "atlas-budget.svg"
    png = svg.with_suffix(".png")
    if not png.exists() or text_chunk(svg) not in png.read_bytes():
        differing.append(str(png))
        if not options.check:
            draw(svg, png)
    for path in differing:
        print(("differs: " if options.check else "made again: ") + path)
    print(f"make_tables: {len(differing)} files " + ("differ" if options.check else "made again"))
    return 1 if options.check and differing else 0


if __name__ == "__main__":
    sys.exit(main())
