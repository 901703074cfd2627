"""Judges the registered claims by the runs of their studies. The tests and the verdicts are defined at the head of preregistration.toml."""
import dataclasses
import math
import pathlib
import statistics
import tomllib

import student
from runs import MEASURES, MOST_ENTROPY, BadInput, printable, read_runs, settings_of_design, tuned_settings, values_of

UNITS = {"excess_zero_score": "a ratio", "val_loss": "in nats", "sink_lead": "in steps", "working_heads": "in heads", "excess_massive": "a ratio", "change_removed_1": "in nats",
         "change_constant_1": "in nats", "change_w4a4": "in nats", "constant_share": "a ratio"}
NUMBER = (int, float)
EVEN = "even"  # `against`: a model that spreads its attention evenly
VERDICTS = ("replicated", "contradicted", "underpowered", "undefined", "not testable", "not run")
OF_ATTENTION = ("excess_zero_score", "excess_1", "excess_star", "excess_fixed", "total", "working_heads", "sink_lead")  # measures of a sink in the attention


@dataclasses.dataclass
class Claim:
    """One comparison of two groups of runs. A [[claim]] with several runs gives one for each."""
    says: str
    family: str  # claims that share Holm's correction
    study: str
    run: str
    expected: str  # less, greater or equal
    paper: str = ""
    against: str = "baseline"
    measure: str = "excess_1"
    smallest: float | None = None  # effect of interest; None: a share of the excess of `against`
    not_testable: str = ""  # why; empty: it is
    rules: str = ""  # stricter: judged by the rules of 2026-11-30 alone
    tuned: int = 0  # the run is a design that stands for its runs at this number of rates and decays
    # What judge() finds:
    difference: student.Estimate = dataclasses.field(default_factory=lambda: student.estimate([]))
    margin: float = math.nan  # the smallest effect; NaN: none is defined
    p: float = 1.0
    p_of_family: float = 1.0
    verdict: str = "not run"
    # What judge_strictly() adds, by the rules of 2026-11-30:
    p_of_all: float = 1.0
    strict_verdict: str = "not run"
    together: int = 0  # judged claims that are compared with the same runs, this one included
    settings: dict = dataclasses.field(default_factory=dict)  # of a tuned design, {seed: the group that the other seeds choose}

    @property
    def is_judged(self):
        return self.verdict in VERDICTS[:3]

    @property
    def registered_verdict(self):
        """By the rules that the claim was registered with."""
        return self.strict_verdict if self.rules else self.verdict


@dataclasses.dataclass
class Registered:
    path: str
    choice: dict
    seeds: list
    level: float
    share: float
    claims: list


def read_registered(path):
    """Raises BadInput with every sentence about what is wrong."""
    try:
        with pathlib.Path(path).open("rb") as file:
            tables = tomllib.load(file)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInput(f"{path}: {error}") from error
    wrong = []

    def read(table, where, required, optional):
        for key in table:
            if key not in required | optional:
                wrong.append(f"{where}: unknown key `{printable(key)}`; expected one of {', '.join(sorted(required | optional))}")
        wrong.extend(f"{where} has no key `{key}`" for key in required if key not in table)
        for key, types in (required | optional).items():
            if key in table and not isinstance(table[key], types):
                wrong.append(f"{where}: {key} = {printable(table[key])} is of another type than expected")
            elif key in table and types is NUMBER and not 0 <= table[key] < math.inf:
                wrong.append(f"{where}: {key} is a number that is not negative, got {table[key]}")
        return {key: table.get(key) for key in required | optional}

    read(tables, "the file", {"judged": dict}, {"choice": dict, "claim": list})
    choice = read(tables.get("choice", {}), "[choice]", {}, {"study": str, "seeds": list, "least-ratio": NUMBER, "most-variation": NUMBER,
                                                            "most-loss-excess": NUMBER, "weight-decay": list, "steps": list})
    judged = read(tables.get("judged", {}), "[judged]", {"seeds": list}, {"level": NUMBER, "smallest-share": NUMBER})
    level = 0.05 if judged["level"] is None else judged["level"]
    seeds, seeds_of_choice = ([] if not isinstance(table["seeds"], list) else table["seeds"] for table in (judged, choice))
    for where, given in (("[judged]", seeds), ("[choice]", seeds_of_choice)):
        wrong.extend(f"{where}: {printable(repr(seed))} is no seed" for seed in given if type(seed) is not int or seed < 0)
        wrong.extend(f"{where}: seed {seed} is given twice" for seed in sorted({seed for seed in given if given.count(seed) > 1}, key=str))
    if len(seeds) < 2:
        wrong.append("[judged] needs `seeds`, two or more")
    if isinstance(level, NUMBER) and not 0 < level < 1:
        wrong.append(f"[judged]: level is above 0 and below 1, such as 0.05, got {level}")
    claims = []
    for number, table in enumerate(tables.get("claim", []), 1):
        where = f"claim {number}"
        of = read(table, where, {"says": str, "family": str, "study": str, "run": (str, list), "expected": str},
                  {"paper": str, "against": str, "measure": str, "smallest": NUMBER, "not-testable": str, "rules": str, "tuned": int})
        of = {key: value for key, value in of.items() if value is not None}
        if of.get("expected", "less") not in ("less", "greater", "equal"):
            wrong.append(f"{where}: expected is one of equal, greater, less")
        measure = of.get("measure", "excess_1")
        if measure not in MEASURES:
            wrong.append(f"{where}: measure is one of {', '.join(sorted(MEASURES))}")
        if measure in UNITS and "smallest" not in of:
            wrong.append(f"{where}: a claim on {measure} needs `smallest`, {UNITS[measure]}")
        if of.get("rules", "stricter") != "stricter":
            wrong.append(f"{where}: rules is stricter or left out")
        if "tuned" in of and not (of["tuned"] > 0 and of.get("against") == EVEN and "rules" in of):
            wrong.append(f"{where}: a tuned claim needs the number of settings, above 0, against = \"{EVEN}\" and rules = \"stricter\"")
        names = of.pop("run", [])
        for run in [names] if isinstance(names, str) else names:
            if run == of.get("against", "baseline"):
                wrong.append(f"{where}: run {printable(run)} is compared with itself")
            if not wrong:
                claims.append(Claim(run=run, **{key.replace("-", "_"): value for key, value in of.items()}))
    if wrong:
        raise BadInput("\n".join(f"{path}: {line}" for line in wrong[:20]))
    return Registered(str(path), choice, seeds, level, 0.3 if judged["smallest-share"] is None else judged["smallest-share"], claims)


def read_studies(registered, folder):
    """{study: its runs}, of the files <study>-runs.csv that are in the folder."""
    studies = dict.fromkeys([claim.study for claim in registered.claims] + [registered.choice["study"]])
    paths = {study: pathlib.Path(folder) / f"{study}-runs.csv" for study in sorted(study for study in studies if study)}
    return {study: read_runs(path) for study, path in paths.items() if path.exists()}


def unknown_runs(registered, studies):
    """The runs that claims name and the table of their study does not have: such claims stay "not run"."""
    unknown = []
    for claim in registered.claims:
        if claim.study not in studies or claim.not_testable:
            continue
        if claim.tuned:
            count = len(settings_of_design(studies[claim.study], claim.run))
            if count != claim.tuned:
                unknown.append(f"{printable(claim.study)}-runs.csv has {count} settings of {printable(claim.run)}, {claim.tuned} are registered")
            continue
        groups = {run.group for run in studies[claim.study]}
        unknown += [f"{printable(claim.study)}-runs.csv has no run {printable(name)}" for name in (claim.run, claim.against) if name != EVEN and name not in groups]
    return list(dict.fromkeys(unknown))


def measure(claim, registered, runs):
    """Sets difference, margin and p. False if seeds are missing."""
    def values(group, name):
        return values_of(runs, group, name, registered.seeds)
    if claim.tuned:
        if len(settings_of_design(runs, claim.run)) != claim.tuned:
            return False
        claim.settings = tuned_settings(runs, claim.run, claim.measure, registered.seeds)
        ours = {seed: values(group, claim.measure)[seed] for seed, group in claim.settings.items() if group}
    else:
        ours = values(claim.run, claim.measure)
    others = dict.fromkeys(ours, 0.0) if claim.against == EVEN else values(claim.against, claim.measure)
    claim.difference = student.paired(ours, others)
    if claim.difference.n < len(registered.seeds):
        return False
    excess = student.estimate(list(values("baseline" if claim.against == EVEN else claim.against, "excess_1").values()))
    share = registered.share * excess.mean
    claim.margin = claim.smallest if claim.smallest is not None else share if share > 0 else math.nan
    p = student.p_of_equality(claim.difference, claim.margin) if claim.expected == "equal" else student.p_of_difference(claim.difference)
    claim.p = 1.0 if math.isnan(p) else p
    return True


def verdict_of(claim, level):
    difference, margin = claim.difference, claim.margin
    if math.isnan(margin):
        return "underpowered"
    is_significant = claim.p_of_family < level
    if claim.expected == "equal":
        if is_significant:
            return "replicated"
        return "contradicted" if difference.low > margin or difference.high < -margin else "underpowered"
    as_claimed = (difference.mean < 0) == (claim.expected == "less")
    if is_significant and not as_claimed:
        return "contradicted"
    if is_significant and abs(difference.mean) >= margin:
        return "replicated"
    return "contradicted" if student.p_of_equality(difference, margin) < level else "underpowered"


def judge(registered, studies):
    """The claims with their verdicts, in the order of the file."""
    claims = [dataclasses.replace(claim) for claim in registered.claims]
    families, measured = {}, set()
    for i, claim in enumerate(claims):
        if claim.not_testable:
            claim.verdict = "not testable"
            continue
        families.setdefault(claim.family, []).append(i)  # run or not
        if measure(claim, registered, studies.get(claim.study, [])):
            measured.add(i)
        elif None in claim.settings.values():
            claim.verdict = "not testable"
    for members in families.values():
        for i, p in zip(members, student.holm([claims[i].p for i in members])):
            claims[i].p_of_family = p
            if i in measured:
                claims[i].verdict = verdict_of(claims[i], registered.level)
    return claims


def smallest_of_choice(registered, studies):
    """The share of the excess of the chosen recipe, by the seeds of the choice, which judge no claim. NaN without a choice."""
    candidates = candidates_of(registered, studies)
    if not candidates or any(candidate.seeds < len(registered.choice["seeds"]) for candidate in candidates):
        return math.nan
    return registered.share * (best_of(candidates).ratio - 1)


def is_collapsed(runs, group, seeds):
    """Whether the attention of the group is nearly even, so that it can have no sink."""
    entropies = [run.entropy_over_even for run in runs if run.is_complete and run.group == group and int(run["seed"]) in seeds]
    entropies = [share for share in entropies if math.isfinite(share)]
    return bool(entropies) and statistics.fmean(entropies) > MOST_ENTROPY  # never, where the files do not say what is even


def judge_strictly(registered, studies, claims):
    """Adds what the rules of 2026-11-30 find to what judge() found: preregistration.toml has them next to the registered ones."""
    of_choice = smallest_of_choice(registered, studies)
    judged = [claim for claim in claims if claim.is_judged]
    for claim in judged:
        claim.together = sum((other.study, other.against) == (claim.study, claim.against) for other in judged)
    for claim, p in zip(judged, student.holm([claim.p for claim in judged])):
        claim.p_of_all = p
    families = {}
    strict = [dataclasses.replace(claim) for claim in claims]
    for i, claim in enumerate(strict):
        if claim.not_testable:
            continue
        families.setdefault(claim.family, []).append(i)
        if not claim.is_judged:
            continue
        if claim.smallest is None:
            claim.margin = of_choice if claim.against in ("baseline", EVEN) else math.nan
        if claim.expected == "equal":
            p = student.p_of_equality(claim.difference, claim.margin)
            claim.p = 1.0 if math.isnan(p) else p
    for members in families.values():
        for i, p in zip(members, student.holm([strict[i].p for i in members])):
            strict[i].p_of_family = p
    for claim, other in zip(claims, strict):
        runs = studies.get(claim.study, [])
        if not claim.is_judged:
            claim.strict_verdict = claim.verdict
        elif claim.measure in OF_ATTENTION and not claim.tuned and any(is_collapsed(runs, group, registered.seeds) for group in (claim.run, claim.against)):
            claim.strict_verdict = "not testable"
        else:
            claim.strict_verdict = "undefined" if math.isnan(other.margin) else verdict_of(other, registered.level)


@dataclasses.dataclass
class Candidate:
    """A group of the study that chooses the recipe."""
    run: str
    seeds: int
    steps: int
    ratio: float  # the mean of alpha_1 / u_1
    variation: float = math.nan  # standard deviation / mean of alpha_1
    loss: float = math.nan
    loss_excess: float = math.nan
    passes: bool = False


def candidates_of(registered, studies):
    rule = {"least-ratio": 0.0, "most-variation": 0.0, "most-loss-excess": 0.0} | {key: x for key, x in registered.choice.items() if x is not None}
    runs, seeds = studies.get(rule.get("study"), []), rule.get("seeds", [])
    found = []
    for group in dict.fromkeys(run.group for run in runs):
        excess = student.estimate(list(values_of(runs, group, "excess_1", seeds).values()))
        steps = next(int(run["steps"]) for run in runs if run.group == group)
        candidate = Candidate(group, excess.n, steps, excess.mean + 1)
        if excess.n >= 2:
            candidate.variation = excess.half / student.t_975(excess.n - 1) * math.sqrt(excess.n) / candidate.ratio
            candidate.loss = student.estimate(list(values_of(runs, group, "val_loss", seeds).values())).mean
        found.append(candidate)
    for candidate in found:
        if candidate.seeds < 2:
            continue
        candidate.loss_excess = candidate.loss - min(other.loss for other in found if other.seeds >= 2 and other.steps == candidate.steps)
        candidate.passes = (candidate.seeds == len(seeds) and candidate.ratio >= rule["least-ratio"] and
                            candidate.variation < rule["most-variation"] and candidate.loss_excess <= rule["most-loss-excess"])
    return found


def best_of(candidates):
    """Of those that pass or, if none does, of all."""
    return max([candidate for candidate in candidates if candidate.passes] or candidates, key=lambda candidate: candidate.ratio)


def chosen(candidates, seeds):
    """The choice in a sentence."""
    if any(candidate.seeds < seeds for candidate in candidates):
        return f"Not chosen yet: the rule needs all {seeds} seeds of every candidate."
    if any(candidate.passes for candidate in candidates):
        best = best_of(candidates)
        return f"Chosen: {printable(best.run)}, {best.steps} steps."
    return "No candidate passes." if candidates else "No run of the choice is complete."
