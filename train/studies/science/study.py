"""The results of a study: for every group of runs means with intervals over its seeds, differences from the baseline seed by seed, and whether
their directions are the paper's. Only complete runs count; the others are listed with the reason."""
import collections
import dataclasses
import json
import math
import pathlib

import paper
import student
from runs import MOST_ENTROPY, BadInput, printable, read_table, visible

# A verdict needs that many seeds, whose runs have made all steps of their recipe, and a difference of Sink_1 whose interval (student.py, of the
# differences seed by seed) is not within +- that many percent of heads: uniform attention has 0 %, the paper's clearest case without a sink
# 0.44 %. Intervals are not corrected for the number of claims.
LEAST_SEEDS, LEAST_SINK = 3, 2


@dataclasses.dataclass
class Measure:
    """`key` is the column of <study>.csv. Sinks are in percent, with threshold 0.3."""
    key: str
    title: str
    decimals: int
    of: object = None  # of a run; None: the column of <study>-runs.csv

    def value(self, run):
        if self.key.endswith("_before"):
            return run.before.get(self.key.removesuffix("_before"), math.nan)
        return self.of(run) if self.of else run.number(self.key)


MEASURES = [
    Measure("sink_1", "Sink_1 % proxy", 1),
    Measure("entropy_over_even", "entropy / even", 3, lambda run: run.entropy_over_even),
    Measure("sink_2", "Sink_2 % proxy", 1),
    Measure("sink_3", "Sink_3 % proxy", 1),
    Measure("sink_1_raw", "Sink_1 % raw", 1),
    Measure("sink_star", "Sink_* % proxy", 1),
    Measure("alpha_1", "alpha_1 proxy", 3),
    Measure("alpha_1_over_even", "alpha_1 / even proxy", 2, lambda run: run.over_even("alpha_1")),
    Measure("alpha_1_over_zero_score", "alpha_1 / at zero scores proxy", 2, lambda run: run.over_zero_score),
    Measure("alpha_1_raw", "alpha_1 raw", 3),
    Measure("alpha_others_raw", "alpha_2..10 raw", 3),
    Measure("alpha_fixed", "alpha of the fixed token proxy", 3),
    Measure("alpha_fixed_over_even", "fixed token: alpha / even proxy", 2),
    Measure("alpha_star", "alpha_* proxy", 3),
    Measure("alpha_star_over_even", "alpha_* / even proxy", 2, lambda run: run.over_even("alpha_star")),
    Measure("val_loss", "loss", 3),
    Measure("row_sum", "row sum", 2, lambda run: run.row_sum),
    Measure("first_value_norm_ratio", "|v_1| / |v_t|", 2),
    Measure("sink_1_before", "before: Sink_1 % proxy", 1),
    Measure("sink_1_raw_before", "before: Sink_1 % raw", 1),
    Measure("alpha_1_before", "before: alpha_1 proxy", 3),
    Measure("val_loss_before", "before: loss", 3),
    Measure("value_share", "value share", 3),
    Measure("massive_ratio", "|h_1| / |h_t|", 1),
    Measure("change_removed_1", "loss without a_1 v_1", 3),
    Measure("change_redistributed_1", "others make up for it", 3),
    Measure("change_constant_1", "a_1 v_1 constant", 3),
    Measure("change_removed_5", "without a_5 v_5", 3),
    Measure("change_w8a8", "W8A8", 3),
    Measure("change_w4a4", "W4A4", 3),
]


@dataclasses.dataclass
class Group:
    """Runs that differ only in their seed."""
    name: str
    ablation: str
    row: dict | None    # of the paper, the same experiment
    settings: dict      # of train_<ablation>, texts by flag
    tokens_per_step: int = 0
    planned_steps: int = 0  # in the study's file, whatever --set says; 0: unknown
    origin: str = ""        # the group from whose checkpoints its runs start
    values: dict = dataclasses.field(default_factory=dict)  # {measure: {seed: value}}
    remarks: list = dataclasses.field(default_factory=list)

    @property
    def steps(self):
        return int(self.settings["steps"])

    @property
    def input(self):
        return paper.input_of(lambda name: self.settings.get(name.replace("_", "-"), ""))

    @property
    def paper(self):
        """The paper's row of the same experiment on the same kind of input, which may be compared with its runs."""
        return paper.matching_row(self.row, self.input) if self.row else None

    @property
    def is_collapsed(self):
        """Whether its attention is nearly even, so that it can have no sink."""
        return self.estimate("entropy_over_even").mean > MOST_ENTROPY

    def has(self, measure):
        return measure in self.values

    def estimate(self, measure):
        return student.estimate(list(self.values.get(measure, {}).values()))


@dataclasses.dataclass
class Study:
    name: str
    size: str
    question: str
    section: str  # of the paper
    note: str
    baseline_name: str
    groups: list
    seeds: list = dataclasses.field(default_factory=list)
    complete: int = 0
    runs: int = 0
    core_hours: float = 0.0  # of complete runs: wall time times ranks and threads
    commits: list = dataclasses.field(default_factory=list)
    machines: list = dataclasses.field(default_factory=list)
    earlier: dict = dataclasses.field(default_factory=dict)  # number of runs taken from each earlier table

    @property
    def baseline(self):
        """None if it is not among the groups."""
        return next((group for group in self.groups if group.name == self.baseline_name), None)

    def has(self, measure):
        return any(group.has(measure) for group in self.groups)

    def difference(self, group, measure):
        """Group minus baseline, seed by seed; n = 0 for the baseline itself."""
        baseline = self.baseline
        if baseline is None or group is baseline:
            return student.estimate([])
        return student.paired(group.values.get(measure, {}), baseline.values.get(measure, {}))


def hours_of(run):
    return run.value("seconds", float, 0.0) * max(1, run.whole("threads")) * max(1, run.whole("ranks")) / 3600


def skipped_steps(run):
    n = run.whole("skipped_steps")
    return f"{n} {'step' if n == 1 else 'steps'} not finite, the first {run.whole('first_skipped')}" if n else ""


def add(group, job, run):
    """A job and its run, if it has begun."""
    seed = f"seed {job['seed']}: "
    if job["problem"]:
        group.remarks.append(seed + visible(job["problem"]))
    if run is None:
        return
    if skipped := skipped_steps(run):
        group.remarks.append(seed + skipped)
    if job["problem"]:
        return
    for measure in MEASURES:
        if math.isfinite(value := measure.value(run)):
            group.values.setdefault(measure.key, {})[job["seed"]] = value
    if job["seed"] not in group.values.get("val_loss", {}):
        group.remarks.append(seed + "the loss is not finite or not measured, and not in the mean")


def read_study(path):
    """<study>.json, which `sweep` wrote, and the runs next to it."""
    path = pathlib.Path(path)
    if not path.is_file():
        raise BadInput(f"{path} is not a regular file; expected <study>.json, which `sweep` writes")
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        runs = read_table(path.with_name(path.stem + "-runs.csv"))
        return study_of(said, runs)
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, IndexError) as error:
        raise BadInput(f"{path} is not what `sweep` wrote of a study: {printable(error)}; run `sweep STUDY --collect` again") from error


def study_of(said, runs):
    rows = {row["id"]: row for row in paper.ROWS}
    groups = [Group(group["name"], group["ablation"], rows.get(group["row"]), group["settings"], group["tokens_per_step"], group["planned_steps"],
                    group["from"]) for group in said["groups"]]
    study = Study(*(said[key] for key in ("name", "size", "question", "section", "note", "baseline")), groups)
    jobs = said["jobs"]
    counts, earlier, commits, machines = collections.Counter(), collections.Counter(), set(), set()
    for job in jobs:
        group = groups[job["group"]]
        run = None if job["row"] is None else runs[job["row"]]
        if run is not None:
            run.before = {key: math.nan if value is None else value for key, value in job["before"].items()}
        add(group, job, run)
        counts[job["group"]] += 1
        if job["file"]:
            earlier[job["group"], job["file"]] += 1
        if job["problem"]:
            continue
        study.complete += 1
        study.core_hours += hours_of(run)
        commits.add(visible(run["commit"]))
        machines.add(visible(run["machine"]))
    study.runs, study.seeds = len(jobs), sorted({job["seed"] for job in jobs})
    study.commits, study.machines = sorted(commits), sorted(machines - {""})
    for (_, file), n in sorted(earlier.items()):
        study.earlier[file] = study.earlier.get(file, 0) + n
    # If all runs come from one file, only the note below the table mentions it.
    if list(study.earlier.values()) != [study.runs]:
        for (group, file), n in sorted(earlier.items()):
            groups[group].remarks.append(f"{n} of {counts[group]} {'run' if counts[group] == 1 else 'runs'} from {visible(file)}")
    for group in groups:
        difference = study.difference(group, "sink_1")
        if difference.n >= 2 and difference.half == 0 and difference.mean != 0:
            group.remarks.append(f"Sink_1 proxy differs from the baseline by exactly {difference.mean:+.1f} for every seed: too coarse here for an interval")
    return study


# ------------------------------------------------------------------------------------------------------------- against the paper

def why_not_tested(seeds, steps, planned):
    """"one run, 1,500 of 6,000 steps", "2 runs"; "" for sufficient evidence."""
    is_short = seeds > 0 and steps < planned
    if seeds >= LEAST_SEEDS and not is_short:
        return ""
    return {0: "no run", 1: "one run"}.get(seeds, f"{seeds} runs") + (f", {steps:,} of {planned:,} steps" if is_short else "")


def direction(study, group):
    """The verdict on the claim that the group's Sink_1 differs from the baseline's as in the paper: "supported: more", "contradicted: less"; "more"
    or "less" if the paper has no row of the same input for one of them; "undecided [-1.2, 3.4]", "too small to tell", "not tested: one run", "not
    testable: nearly even"; ""
    without runs to compare."""
    difference = study.difference(group, "sink_1")
    if difference.n == 0:
        return ""
    baseline = study.baseline
    shorter = group if group.steps * baseline.planned_steps <= baseline.steps * group.planned_steps else baseline
    if why := why_not_tested(difference.n, shorter.steps, shorter.planned_steps):
        return "not tested: " + why
    if group.is_collapsed or baseline.is_collapsed:
        return "not testable: nearly even" + ("" if group.is_collapsed else " baseline")
    if -LEAST_SINK < difference.low and difference.high < LEAST_SINK:
        return "too small to tell"
    if difference.sign == 0:
        return f"undecided [{difference.low:.1f}, {difference.high:.1f}]"
    word = "more" if difference.mean > 0 else "less"
    papers = [row and paper.value_of(row["sink_1"]) for row in (group.paper, baseline.paper)]
    if None in papers or papers[0] == papers[1]:
        return word
    return ("supported" if (papers[0] > papers[1]) == (difference.mean > 0) else "contradicted") + ": " + word


@dataclasses.dataclass
class Order:
    """Over all pairs of groups with different values in the paper: whether ours have the same order."""
    agree: int = 0
    disagree: int = 0
    undecided: int = 0   # the interval of our paired difference contains 0 or has no width
    not_tested: int = 0  # fewer than LEAST_SEEDS common seeds
    tau: float = math.nan  # of the paper's values and our means
    groups: int = 0

    @property
    def pairs(self):
        return self.agree + self.disagree + self.undecided + self.not_tested


def order_of(groups):
    """Of (the paper's value, {seed: ours})."""
    groups = [(papers, ours) for papers, ours in groups if ours]
    order = Order(groups=len(groups), tau=student.kendall_tau([papers for papers, _ in groups],
                                                              [student.estimate(list(ours.values())).mean for _, ours in groups]))
    for i, (papers, ours) in enumerate(groups):
        for other_papers, other_ours in groups[:i]:
            if papers == other_papers:
                continue
            difference = student.paired(ours, other_ours)
            if difference.n < LEAST_SEEDS:
                order.not_tested += 1
            elif difference.sign == 0:
                order.undecided += 1
            elif (difference.sign > 0) == (papers > other_papers):
                order.agree += 1
            else:
                order.disagree += 1
    return order


def order_sentence(title, order):
    if order.pairs == 0:
        return f"{title}: the paper tells no two of the runs that are done apart."
    text = (f"{title}: of {order.pairs} {'pair' if order.pairs == 1 else 'pairs'} that the paper tells apart, {order.agree} in its order, {order.disagree} "
            f"in the opposite order, {order.undecided} undecided (the 95 % interval of our difference holds 0 or has no width)")
    if order.not_tested:
        text += f", {order.not_tested} not tested (fewer than {LEAST_SEEDS} seeds)"
    return text + ("." if math.isnan(order.tau) else f"; Kendall's tau of the means of {order.groups} runs {order.tau:.2f}.")


def order_in_paper(study, title, measure, column):
    """Compares the order of the groups with the paper's rows of the same input or, if these make no pair, with its rows of the same experiment on
    another input, which the sentence then names."""
    def valued(row_of):
        found = [(group, row_of(group)) for group in study.groups]
        return [(group, row, value) for group, row in found if row and (value := paper.value_of(row[column])) is not None]

    def order(of):
        return order_of([(value, group.values.get(measure, {})) for group, _, value in of])
    same, other = valued(lambda group: group.paper), valued(lambda group: group.row)
    if order(same).pairs:
        return order_sentence(title, order(same))
    if order(other).pairs:
        papers, ours = ({paper.describe(kind) for kind in kinds} for kinds in ([paper.input_of_row(row) for _, row, _ in other],
                                                                              [group.input for group, _, _ in other]))
        papers, ours = (kinds.pop() if len(kinds) == 1 else "several inputs" for kinds in (papers, ours))
        title = f"{title} (paper: {papers}; ours: {ours})"
    return order_sentence(title, order(other))


def score_agreement(study):
    """Which scores have the order of the loss without the first token's contribution."""
    groups = [group for group in study.groups if group.has("change_removed_1")]
    n = len(groups)
    if n < 3:
        return ""
    words = []
    for measure, title in (("sink_1", "Sink_1 proxy"), ("sink_1_raw", "Sink_1 raw"), ("alpha_1", "alpha_1 proxy"), ("alpha_1_raw", "alpha_1 raw"),
                           ("value_share", "value share"), ("massive_ratio", "|h_1| / |h_t|")):
        known = [group for group in groups if group.has(measure)]
        tau = student.kendall_tau(*([group.estimate(of).mean for group in known] for of in (measure, "change_removed_1")))
        words.append(f"{title} {'not known' if math.isnan(tau) else f'{tau:+.2f}'}" + (f" ({len(known)} runs)" if len(known) != n else ""))
    chance = math.sqrt(2 * (2 * n + 5) / (9 * n * (n - 1)))
    return (f"Kendall's tau, over {n} runs, between a score and the increase of the loss without the first token's contribution: {', '.join(words)}. "
            f"Unrelated scores would give 0 +- {chance:.2f} (one standard deviation).")


def verdicts(study):
    """The sentences below the table: whether Sink_1, Sink_* and the loss have the paper's order, and score_agreement()."""
    sentences = [order_in_paper(study, title, measure, column) for title, measure, column in (
        ("Sink_1 proxy", "sink_1", "sink_1"), ("Sink_* proxy", "sink_star", "sink_star"), ("Loss", "val_loss", "valid"))]
    said = sentences[:1] + [sentence for sentence in sentences[1:] if not sentence.endswith("done apart.")]
    return said + list(filter(None, [score_agreement(study)]))
