#!/usr/bin/env python3
"""Judges the registered claims, and draws where the attention of every design goes.

  python3 train/studies/science/verdicts.py              prints a line per claim
  python3 train/studies/science/verdicts.py --out DIR    also writes verdicts.md, verdicts.csv and <study>-budget.svg
  --registered FILE    the claims (train/studies/preregistration.toml)
  --results DIR        the files <study>-runs.csv that `sweep` wrote (train/studies/results)

Exit codes: 0 done, 2 usage, 3 bad input, 8 disk. Needs Python 3.11 and no package.
"""
import argparse
import math
import os
import pathlib
import re
import sys
import tempfile

import budget_picture
from claims import VERDICTS, candidates_of, chosen, judge, read_registered, read_studies, unknown_runs
from runs import BadInput, printable

STUDIES = pathlib.Path(__file__).resolve().parents[1]
ROOT = STUDIES.parents[1]
NO_SMALLEST = """Smallest `none`: the group that is compared with has no excess_1 of which the registered share could be taken, so \
no smallest effect is defined and such a claim is underpowered whatever its difference.

"""


class Usage(Exception):
    """Exit code 2: a sentence for the user."""


def claim_cells(claims):
    rows = [["family", "run", "against", "measure", "expected", "difference", "smallest", "p, Holm", "verdict"]]
    for claim in claims:
        tested = ["", "", ""]
        if claim.is_judged:
            p = claim.p_of_family
            tested = [f"{claim.difference.mean:+.3f} ± {claim.difference.half:.3f}", "none" if math.isnan(claim.margin) else f"{claim.margin:.3f}",
                      "< 0.0001" if p < 0.0001 else f"{p:.4f}"]
        rows.append([printable(claim.family), printable(claim.run), printable(claim.against), claim.measure, claim.expected, *tested, claim.verdict])
    return rows


def candidate_cells(candidates):
    rows = [["run", "steps", "seeds", "alpha_1 / even", "variation", "loss", "above the lowest", "passes"]]
    for one in candidates:
        values = ((one.ratio, "{:.2f}"), (100 * one.variation, "{:.0f} %"), (one.loss, "{:.3f}"), (one.loss_excess, "{:.3f}"))
        rows.append([printable(one.run), str(one.steps), str(one.seeds), *("" if math.isnan(x) else text.format(x) for x, text in values),
                     "" if one.seeds < 2 else "yes" if one.passes else "no"])
    return rows


def aligned(rows):
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() + "\n" for row in rows)


def markdown(rows):
    lines = ["".join("| " + escaped(cell).replace("|", "\\|") + " " for cell in row) + "|\n" for row in rows]
    return "".join([lines[0], "|---" * len(rows[0]) + "|\n", *lines[1:]])


def escaped(text):
    """Names come from files of others: no HTML begins in a page."""
    return re.sub("<(?=[A-Za-z/!?])", "&lt;", text)


def count_of(claims):
    counts = [(sum(claim.verdict == word for claim in claims), word) for word in VERDICTS]
    return f"{len(claims)} claims: " + ", ".join(f"{n} {word}" for n, word in counts if n) + "."


def text_of(registered, claims, candidates):
    text = "Choice of the recipe\n\n"
    if candidates:
        text += aligned(candidate_cells(candidates)) + "\n"
    text += chosen(candidates, len(registered.choice["seeds"] or [])) + "\n\n"
    if claims:
        text += "Claims\n\n" + aligned(claim_cells(claims)) + "\n"
    return text + count_of(claims) + "\n"


def markdown_of(registered, claims, candidates):
    text = f"<!-- made by verdicts.py -->\n# Verdicts on the registered claims\n\n{count_of(claims)} The claims, tests and words are defined in "
    text += f"`{escaped(printable(registered.path))}`.\n\n"
    if claims:
        text += markdown(claim_cells(claims)) + "\n"
    if any(claim.verdict == "underpowered" and math.isnan(claim.margin) for claim in claims):
        text += NO_SMALLEST
    reasons = {}
    for claim in claims:
        if claim.not_testable:
            reasons.setdefault(claim.not_testable, claim.run)
    text += "".join(f"Not testable, {escaped(f'{printable(run)}: {printable(why)}')}\n\n" for why, run in reasons.items())
    text += "## Choice of the recipe\n\n"
    if candidates:
        text += markdown(candidate_cells(candidates)) + "\n"
    return text + escaped(chosen(candidates, len(registered.choice["seeds"] or []))) + "\n"


def csv_of(claims):
    def field(value):
        text = "" if isinstance(value, float) and math.isnan(value) else f"{value:.9g}" if isinstance(value, float) else str(value)
        return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n\r') else text
    lines = ["family,study,run,against,measure,expected,paper,says,seeds,difference,low,high,smallest,p,p_holm,verdict"]
    for claim in claims:
        d = claim.difference
        numbers = [d.mean, d.low, d.high, float(claim.margin), claim.p, claim.p_of_family] if claim.is_judged else [""] * 6
        lines.append(",".join(map(field, [claim.family, claim.study, claim.run, claim.against, claim.measure, claim.expected, claim.paper,
                                          claim.says, d.n, *numbers, claim.verdict])))
    return "\n".join(lines) + "\n"


def write(path, text):
    """Replaces the file whole, and only if it is one of ours."""
    beginning = text[:12]
    if path.exists() and not (path.is_file() and path.read_bytes().startswith(beginning.encode())):
        raise Usage(f"{path} already exists and is not what this program writes; move it or give another --out")
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        pathlib.Path(temporary).unlink(missing_ok=True)
        raise


def run(options):
    registered = read_registered(options.registered)
    if (path := pathlib.Path(options.registered).resolve()).is_relative_to(ROOT):
        registered.path = str(path.relative_to(ROOT))
    if not pathlib.Path(options.results).is_dir():
        raise Usage(f"--results {options.results} is not a folder; give the one that has the <study>-runs.csv files")
    studies = read_studies(registered, options.results)
    for unknown in unknown_runs(registered, studies):
        print(f"verdicts: note: {unknown}, which a claim names", file=sys.stderr)
    claims, candidates = judge(registered, studies), candidates_of(registered, studies)
    if options.out:
        out = pathlib.Path(options.out)
        out.mkdir(parents=True, exist_ok=True)
        texts = {"verdicts.md": markdown_of(registered, claims, candidates), "verdicts.csv": csv_of(claims)}
        texts |= {f"{study}-budget.svg": svg for study in studies if (svg := budget_picture.svg_of(registered, studies[study], study, claims))}
        for name, text in texts.items():
            write(out / name, text)
    sys.stdout.write(text_of(registered, claims, candidates))


def main():
    parser = argparse.ArgumentParser(prog="verdicts", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--registered", default=str(STUDIES / "preregistration.toml"), help=argparse.SUPPRESS)
    parser.add_argument("--results", default=str(STUDIES / "results"), help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    try:
        run(parser.parse_args())
    except (BadInput, Usage) as error:
        print("\n".join(f"verdicts: error: {line}" for line in str(error).splitlines()), file=sys.stderr)
        return 2 if isinstance(error, Usage) else 3
    except OSError as error:
        print(f"verdicts: error: {error}", file=sys.stderr)
        return 8
    return 0


if __name__ == "__main__":
    sys.exit(main())
