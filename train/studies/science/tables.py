#!/usr/bin/env python3
"""Makes the table and the figure of a study from what `sweep` wrote: STUDY.json and STUDY-runs.csv. `sweep` runs it at its end.

  python3 train/studies/science/tables.py runs/STUDY/STUDY.json          writes STUDY.md, .csv, .svg and .html next to it
  python3 train/studies/science/tables.py FILE.json --out DIR            writes them there

Prints the table. Exit codes: 0 done, 2 usage, 3 bad input, 8 disk. Needs Python 3.11 and no package.
"""
import argparse
import pathlib
import sys

import study_picture
import study_table
from output import require_ours, run_program, write
from study import read_study

OURS = {"md": (study_table.MARK, ""), "csv": ("study,size,run,", ""), "svg": ("<svg xmlns", ""), "html": ("<!doctype html>", "Sinklab report")}


def run(options):
    study = read_study(options.study)
    out = pathlib.Path(options.out or pathlib.Path(options.study).parent)
    out.mkdir(parents=True, exist_ok=True)
    svg = study_picture.svg_of(study)
    texts = {"md": study_table.markdown_of(study), "csv": study_table.csv_of(study), "svg": svg, "html": study_table.page_of(study, svg)}
    paths = {ending: out / f"{pathlib.Path(options.study).stem}.{ending}" for ending in texts}
    for ending, path in paths.items():
        require_ours(path, *OURS[ending], options.force)
    for ending, path in paths.items():
        write(path, texts[ending])
    sys.stdout.write(study_table.text_of(study))


def main():
    parser = argparse.ArgumentParser(prog="tables", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", metavar="STUDY.json", help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    parser.add_argument("--force", action="store_true", help="replace foreign files")
    return run_program("tables", lambda: run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
