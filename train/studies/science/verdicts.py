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
import pathlib
import sys

import budget_picture
from claims import VERDICTS, candidates_of, chosen, judge, judge_strictly, read_registered, read_studies, unknown_runs
from output import Usage, aligned, escaped, field, markdown, require_ours, run_program, write
from runs import printable, visible

STUDIES = pathlib.Path(__file__).resolve().parents[1]
ROOT = STUDIES.parents[1]
STRICTLY = """Next to the registered rules, those of 2026-11-30 (`stricter`), made when these verdicts were known: a claim about a sink is *not \
testable* if the attention of one of its groups is nearly even, *undefined* without a smallest effect, and a smallest effect that is a share \
is one of the recipe's choice, whose seeds judge nothing. `over all` is p by Holm's correction over all judged claims, and `shared` the \
number of claims that are judged by the same runs of `against`.

"""
NO_SMALLEST = """Smallest `none`: the group that is compared with has no excess_1 of which the registered share could be taken, so \
no smallest effect is defined and such a claim is underpowered whatever its difference.

"""


def p_cell(p):
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def claim_cells(claims):
    rows = [["family", "run", "against", "measure", "expected", "difference", "smallest", "p, Holm", "verdict", "over all", "stricter",
             "shared"]]
    for claim in claims:
        tested, over_all, shared = ["", "", ""], "", ""
        if claim.is_judged:
            tested = [f"{claim.difference.mean:+.3f} ± {claim.difference.half:.3f}", "none" if math.isnan(claim.margin) else f"{claim.margin:.3f}",
                      p_cell(claim.p_of_family)]
            over_all, shared = p_cell(claim.p_of_all), str(claim.together)
        rows.append([printable(claim.family), printable(claim.run), printable(claim.against), claim.measure, claim.expected, *tested,
                     "" if claim.rules else claim.verdict, over_all, claim.strict_verdict, shared])
    return rows


def candidate_cells(candidates):
    rows = [["run", "steps", "seeds", "alpha_1 / even", "variation", "loss", "above the lowest", "passes"]]
    for one in candidates:
        values = ((one.ratio, "{:.2f}"), (100 * one.variation, "{:.0f} %"), (one.loss, "{:.3f}"), (one.loss_excess, "{:.3f}"))
        rows.append([printable(one.run), str(one.steps), str(one.seeds), *("" if math.isnan(x) else text.format(x) for x, text in values),
                     "" if one.seeds < 2 else "yes" if one.passes else "no"])
    return rows


def count_of(claims):
    def counted(verdicts):
        return ", ".join(f"{verdicts.count(word)} {word}" for word in VERDICTS if word in verdicts)
    first, later = ([claim for claim in claims if bool(claim.rules) == by_stricter] for by_stricter in (False, True))
    text = (f"{len(first)} claims: {counted([claim.verdict for claim in first])}. "
            f"By the stricter rules: {counted([claim.strict_verdict for claim in first])}.")
    return text + (f" {len(later)} later claims, by the stricter rules alone: {counted([claim.strict_verdict for claim in later])}." if later else "")


def settings_of(claims):
    """[what each tuned design was measured at]"""
    lines = []
    for claim in claims:
        groups = list(claim.settings.values())
        if groups and None not in groups:
            counts = ", ".join(f"{group} ({groups.count(group)} seeds)" for group in dict.fromkeys(groups))
            lines.append(f"{claim.run}, tuned, is measured at {counts}.")
    return [visible(line) for line in lines]


def text_of(registered, claims, candidates):
    text = "Choice of the recipe\n\n"
    if candidates:
        text += aligned(candidate_cells(candidates)) + "\n"
    text += chosen(candidates, len(registered.choice["seeds"] or [])) + "\n\n"
    if claims:
        text += "Claims\n\n" + aligned(claim_cells(claims)) + "\n"
    text += "".join(line + "\n" for line in settings_of(claims))
    return text + count_of(claims) + "\n"


def markdown_of(registered, claims, candidates):
    text = f"<!-- made by verdicts.py -->\n# Verdicts on the registered claims\n\n{count_of(claims)} The claims, tests and words are defined in "
    text += f"`{escaped(printable(registered.path))}`.\n\n"
    if claims:
        text += markdown(claim_cells(claims)) + "\n" + STRICTLY
    if any(claim.verdict == "underpowered" and math.isnan(claim.margin) for claim in claims):
        text += NO_SMALLEST
    reasons = {}
    for claim in claims:
        if claim.not_testable:
            reasons.setdefault(claim.not_testable, claim.run)
    text += "".join(f"Not testable, {escaped(f'{printable(run)}: {printable(why)}')}\n\n" for why, run in reasons.items())
    text += "".join(escaped(line) + "\n\n" for line in settings_of(claims))
    text += "## Choice of the recipe\n\n"
    if candidates:
        text += markdown(candidate_cells(candidates)) + "\n"
    return text + escaped(chosen(candidates, len(registered.choice["seeds"] or []))) + "\n"


def csv_of(claims):
    lines = ["family,study,run,against,measure,expected,paper,says,seeds,difference,low,high,smallest,p,p_holm,verdict,p_holm_all,strict_verdict,shared"]
    for claim in claims:
        d = claim.difference
        numbers = [d.mean, d.low, d.high, float(claim.margin), claim.p, claim.p_of_family] if claim.is_judged else [""] * 6
        strict = [claim.p_of_all if claim.is_judged else "", claim.strict_verdict, claim.together if claim.is_judged else ""]
        lines.append(",".join(map(field, [claim.family, claim.study, claim.run, claim.against, claim.measure, claim.expected, claim.paper,
                                          claim.says, d.n, *numbers, "" if claim.rules else claim.verdict, *strict])))
    return "\n".join(lines) + "\n"


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
    judge_strictly(registered, studies, claims)
    if options.out:
        out = pathlib.Path(options.out)
        out.mkdir(parents=True, exist_ok=True)
        texts = {"verdicts.md": markdown_of(registered, claims, candidates), "verdicts.csv": csv_of(claims)}
        texts |= {f"{study}-budget.svg": svg for study in studies if (svg := budget_picture.svg_of(registered, studies[study], study, claims))}
        for name, text in texts.items():
            require_ours(out / name, text[:12])
        for name, text in texts.items():
            write(out / name, text)
    sys.stdout.write(text_of(registered, claims, candidates))


def main():
    parser = argparse.ArgumentParser(prog="verdicts", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--registered", default=str(STUDIES / "preregistration.toml"), help=argparse.SUPPRESS)
    parser.add_argument("--results", default=str(STUDIES / "results"), help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    return run_program("verdicts", lambda: run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
