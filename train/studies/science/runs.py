"""The runs of a study, from <study>-runs.csv, and the measures that claims are about."""
import csv
import functools
import math
import pathlib
import re
import statistics

# Settings that change no value of a run, or that runs of one name may differ in.
FREE = {"data", "initial", "seed", "threads", "nan_patience", "checkpoint_every", "eval_every", "eval_sequences", "log_every", "recompute", "graph",
        "birth_checkpoints", "data_sha256", "initial_sha256"}
MEASUREMENT = ("input", "input_seed", "measured_context", "measured_sequences", "measured_precision")


MOST_ENTROPY = 0.936  # of that of even rows: above it, there is no pattern that a sink could be part of
LONGEST_CONTEXT = 1 << 20  # bounds the time of even_attention


class BadInput(Exception):
    """Exit code 3: sentences for the user, one per line."""


def visible(text):
    """A text of a file without what a terminal would obey."""
    return "".join(c if c.isprintable() else "?" for c in str(text))


def printable(text):
    """The same in a message or a name: cut, too."""
    shown = visible(str(text)[:101])
    return shown if len(shown) <= 100 else shown[:100] + "..."


class Run(dict):
    """A row of the file. number() is NaN where the row has no value."""

    def number(self, name):
        return self.value(name, float, math.nan)

    def whole(self, name):
        return self.value(name, int, 0)

    def value(self, name, kind, otherwise):
        text = self.get(name)
        try:
            return kind(text) if text else otherwise
        except ValueError as error:
            raise BadInput(f"{name} of {printable(self['run'])} is `{printable(text)}`, expected a number") from error

    @property
    def group(self):
        """bias_k of bias_k-11."""
        return self["run"].removesuffix("-" + self["seed"])

    @property
    def is_complete(self):
        return (self["finished"] == "true" and not self.get("failure") and self["step"] == self["steps"] and self["val_loss"] != "")

    @property
    def even(self):
        """alpha_1 and alpha_* of a model that spreads each row's weight evenly over the keys that the row sees: eval/sink/even_attention.h. NaN
        where the file does not say which keys those are, and alpha_* without an extra key."""
        T, window, *_ = visible = self.visible_keys
        known = self.get("window", "") != "" and self.get("prefix", "") != "" and 0 < T <= LONGEST_CONTEXT
        if not known or self["extra"] == "unknown" or self.get("document_mask") == "true":
            return math.nan, math.nan
        return even_attention(*visible, self.whole("first_key_rows") == 0 and 0 < window < T)  # older programs divided by all rows

    @property
    def visible_keys(self):
        """What says which keys each row sees: tokens, window, prefix, extra key, share of layers without a window."""
        every, layers = self.whole("global_every"), self.whole("layers") or 1
        return (self.whole("measured_context") or self.whole("context"), self.whole("window"), self.whole("prefix"), self["extra"],
                layers // every / layers if every else 0.0)

    @property
    def over_zero_score(self):
        """alpha_1, divided by what it would be if all products q . k were zero: of biases, mask and extra key alone."""
        null = self.number("zero_score_alpha_1")
        return self.number("alpha_1") / null if null > 0 else math.nan

    @property
    def entropy_over_even(self):
        """The mean entropy of the rows, divided by that of rows which are spread evenly; NaN where the file does not say which keys they see."""
        first, _ = self.even
        return math.nan if math.isnan(first) else self.number("entropy") / even_entropy(*self.visible_keys)

    @property
    def row_sum(self):
        """Of raw weights, the extra key's included."""
        return math.nan if self["extra"] == "unknown" else self.number("row_mass") + (self.number("extra_key_mass") if self["extra"] == "key" else 0)

    def over_even(self, name):
        """alpha_1 or alpha_star, divided by its value for even attention."""
        return self.number(name) / self.even[name == "alpha_star"]


def rows_of(T, window, prefix, extra):
    """(first key by the window, number of keys) of each row of one layer; a sink token is a position before the others."""
    tokens = int(extra == "token")
    prefix = min(prefix, T) + tokens if prefix else 0
    for i in range(T + tokens):
        begin = max(0, i - window + 1) if window else 0
        n = max(prefix, i + 1) if begin <= prefix else prefix + i + 1 - begin
        yield begin, n + (extra == "key")


@functools.lru_cache(maxsize=None)
def even_attention(T, window, prefix, extra, share_without_window, by_all_rows=False):
    tokens = int(extra == "token")
    positions, fixed = T + tokens, min(prefix, T) + tokens if prefix else 0

    def of_block(column, window):
        """The mean weight on a column over the rows that see it, and the sum over all rows of the weight on an extra key."""
        on_column, on_key, rows = 0.0, 0.0, 0
        for i, (begin, n) in enumerate(rows_of(T, window, prefix, extra)):
            if begin <= column <= i or column < fixed:
                on_column += 1 / n
                rows += 1
            on_key += 1 / n
        return on_column / (positions - column if by_all_rows else rows), on_key

    def of_model(column):
        some, every = of_block(column, window), of_block(column, 0)
        return [a + share_without_window * (b - a) for a, b in zip(some, every)] if window else some

    star = of_model(0)[0] if tokens else (1 + of_model(0)[1]) / (T + 1) if extra == "key" else math.nan
    return of_model(tokens)[0], star


@functools.lru_cache(maxsize=None)
def even_entropy(T, window, prefix, extra, share_without_window):
    """The mean over rows and layers of ln n: the entropy of a row that is spread evenly over its n keys."""
    some, every = (statistics.fmean(math.log(n) for _, n in rows_of(T, w, prefix, extra)) for w in (window, 0))
    return some + share_without_window * (every - some) if window else some


def settings_of(run):
    """What runs of one name share, {name: value}."""
    columns = list(run)
    settings = columns[columns.index("policies"):] if "policies" in run else []
    return {name.replace("_", " "): run[name] for name in [*MEASUREMENT, "ablation", *settings] if name in run and name not in FREE}


def require_one_recipe(runs, file):
    """The complete runs of one name are one for each seed, and differ in nothing else."""
    groups = {}
    for run in runs:
        if not run.is_complete:
            continue
        group = groups.setdefault(run.group, {})
        if run["seed"] in group:
            raise BadInput(f"{file}: two complete runs are named {printable(run['run'])}; keep one of the rows")
        group[run["seed"]] = run
        first = next(iter(group.values()))
        ours, theirs = settings_of(run), settings_of(first)
        for name, key in (("data", "data_sha256"), ("initial parameters", "initial_sha256")):
            if run.get(key) and first.get(key) and (key != "initial_sha256" or run.get("initial") == first.get("initial")):
                ours[name], theirs[name] = run[key][:12] + "...", first[key][:12] + "..."
        for name in ours:
            if ours[name] != theirs.get(name):
                a, b, of, other = map(printable, (ours[name] or "none", theirs.get(name) or "none", run["run"], first["run"]))
                raise BadInput(f"{file}: {of} has {name} {a} instead of {b}, as in {other}; expected runs of one name to differ in their seed only; "
                               "keep those of one recipe")


def read_table(file):
    """The rows of the file."""
    path = pathlib.Path(file)
    if not path.is_file():
        raise BadInput(f"{file} is not a regular file")
    try:
        with path.open(newline="", encoding="utf-8") as text:
            runs = [Run(row) for row in csv.DictReader(text)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{file} is no table of `sweep`: {error}") from error
    for run in runs:
        if None in run or None in run.values():
            raise BadInput(f"{file}: a row has another number of cells than the first line; get the file again")
    needed = {"run", "seed", "finished", "step", "steps", "ablation", "val_loss", "extra", "alpha_1"}
    if runs and needed - set(runs[0]):
        raise BadInput(f"{file} has no column {', '.join(sorted(needed - set(runs[0])))}: expected the runs of `sweep`")
    if wrong := next((run for run in runs if not (run["seed"].isdecimal() and run["steps"].isdecimal())), None):
        raise BadInput(f"{file}: {printable(wrong['run'])} has no seed or no steps; get the file again")
    return runs


def read_runs(file):
    """The same, of one recipe."""
    runs = read_table(file)
    require_one_recipe(runs, file)
    return runs


def sink_lead(run):
    """By how many steps the sink is earlier than the massive activation; what never comes counts as coming at the last step."""
    def step(onset):
        return run.number("steps") if run.number(onset) < 0 else run.number(onset)
    return step("onset_massive") - step("onset_sink_1")


def total(run):
    """(alpha_1 + alpha_*) / (u_1 + u_*) - 1; without an extra key alpha_1 / u_1 - 1."""
    first, star = run.even
    if math.isnan(star):
        return run.over_even("alpha_1") - 1
    return (run.number("alpha_1") + run.number("alpha_star")) / (first + star) - 1


# Their definitions are in preregistration.toml.
MEASURES = {
    "excess_zero_score": lambda run: run.over_zero_score - 1,
    "excess_1": lambda run: run.over_even("alpha_1") - 1,
    "excess_star": lambda run: run.over_even("alpha_star") - 1,
    "excess_fixed": lambda run: run.number("alpha_fixed_over_even") - 1,
    "excess_massive": lambda run: run.number("massive_ratio") - 1,
    "total": total,
    "working_heads": lambda run: (1 - run.number("sink_star") / 100) * run.whole("layers") * run.whole("heads"),
    "sink_lead": sink_lead,
    "constant_share": lambda run: run.number("change_constant_1") / run.number("change_removed_1"),
} | {name: lambda run, name=name: run.number(name) for name in ("val_loss", "change_removed_1", "change_constant_1", "change_w4a4")}


def by_seed(runs, group, value, seeds):
    """{seed: value} of the group's complete runs of these seeds."""
    values = {int(run["seed"]): value(run) for run in runs if run.is_complete and run.group == group and int(run["seed"]) in seeds}
    return {seed: value for seed, value in sorted(values.items()) if math.isfinite(value)}


def values_of(runs, group, measure, seeds):
    return by_seed(runs, group, MEASURES[measure], seeds)


def design_of(group):
    """pos_nope of pos_nope-learning-rate-0.005-weight-decay-0.3."""
    return re.sub(r"-(learning-rate|weight-decay)-[0-9.]+(e-?[0-9]+)?", "", group)


def settings_of_design(runs, design):
    """The groups of a design, one for each rate and decay."""
    return [group for group in dict.fromkeys(run.group for run in runs) if design_of(group) == design]


def tuned_settings(runs, design, measure, seeds):
    """{seed: the group with the largest mean of the measure over the other seeds, of those whose rows are not nearly even, or None if all
    are}. Empty if a seed of a group is missing."""
    groups = {}
    for group in settings_of_design(runs, design):
        groups[group] = values_of(runs, group, measure, seeds), by_seed(runs, group, lambda run: run.entropy_over_even, seeds)
    if any(len(values) < len(seeds) for of in groups.values() for values in of):
        return {}
    chosen = {}
    for judged in seeds:
        values, entropies = ({group: statistics.fmean(of[i][seed] for seed in seeds if seed != judged) for group, of in groups.items()} for i in (0, 1))
        chosen[judged] = max((group for group in groups if entropies[group] <= MOST_ENTROPY), key=values.get, default=None)
    return chosen
