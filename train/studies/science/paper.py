"""What the paper (Gu et al., ICLR 2025) reports for a run, and what a design is, from tools/study/paper.json."""
import json
import math
import pathlib

TABLE = json.loads((pathlib.Path(__file__).resolve().parents[3] / "tools/study/paper.json").read_text())
ROWS = [dict.fromkeys(TABLE["columns"], "") | {"preset": "60m"} | dict(zip(TABLE["columns"], line)) for lines in TABLE["experiments"].values()
        for line in lines]
INPUT = ("fixed_token", "fixed_position", "fixed_to", "fixed_probability", "random_from", "random_to", "prefix", "window")


def flags_of(row):
    """{heads: 4} of "--heads 4"."""
    words = row["settings"].split()
    return {flag[2:].replace("-", "_"): value for flag, value in zip(words[::2], words[1::2])}


def input_of(setting):
    """The kind of input: which token is fixed, which are random, what a row sees. `setting` gives the text of a flag, "" where it is not set."""
    def whole(name, otherwise):
        return int(setting(name) or otherwise)
    probability = float(setting("fixed_probability") or 1)
    has_fixed = whole("fixed_token", -1) >= 0 and probability != 0
    fixed = (whole("fixed_position", 1), whole("fixed_to", 0), probability) if has_fixed else (0, 0, 1.0)
    random = (whole("random_from", 0), whole("random_to", 0)) if whole("random_from", 0) > 0 else (0, 0)
    return setting("task") or "text", fixed, random, whole("prefix", 0), whole("window", 0)


def input_of_row(row):
    flags = flags_of(row)
    return input_of(lambda name: flags.get(name, ""))


def describe(kind):
    """An input in words: "text with a fixed first token, window 32"."""
    task, (position, drawn_to, probability), (begin, end), prefix, window = kind
    what = f" with a fixed token at position {position}" if position > 1 else " with a fixed first token" if position else ""
    if drawn_to > 0:
        what = f" with a fixed token at a drawn position, {position} to {drawn_to}"
    if probability != 1:
        what += f" in {probability:g} of the training sequences"
    if begin > 0:
        what += (" and" if what else " with") + " random tokens at position" + (f"s {begin} to {end}" if end > begin else f" {begin}")
    mask = (f", prefix {prefix}" if prefix > 0 else "") + (f", window {window}" if window > 0 else "")
    return ("natural text" if not what and task == "text" else {"bigram-backcopy": "Bigram-Backcopy"}.get(task, task) + what) + mask


def row_of(ablation):
    """Its row at the default settings, if the paper has one."""
    return next((row for row in ROWS if row["ablation"] == ablation and not row["settings"] and row["preset"] == "60m"), None)


def matching_row(row, kind):
    """The row of the same experiment on this kind of input, or None. A token that is the same in every sequence causes a sink by itself, so a run
    with a fixed token is never compared with a row of natural text."""
    def others(of):
        return {name: value for name, value in flags_of(of).items() if name not in (*INPUT, "prefix_validation")}
    same = [other for other in [row, *ROWS] if (other["ablation"], other["preset"], others(other)) == (row["ablation"], row["preset"], others(row))]
    return next((other for other in same if input_of_row(other) == kind), None)


def value_of(text):
    """18.18 of "18.18" or "18.18*"; None of "failed", "n.r.", "<1" and the like."""
    try:
        value = float(text.removesuffix("*")) if text.strip() == text else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def sink_1_of(run):
    """The paper's Sink_1 of this design for the same kind of input; None where it has none."""
    row = row_of(run["ablation"])
    matching = row and matching_row(row, input_of(lambda name: run.get(name, "")))
    return value_of(matching["sink_1"]) if matching else None


def meaning_of(ablation):
    """A few words, without the section that they come from."""
    row = row_of(ablation)
    meaning = row["meaning"] if row else TABLE["beyond the paper"].get(ablation)
    if meaning is None or ablation == "baseline":
        return "softmax" if ablation == "baseline" else ablation
    return (meaning.rpartition(" (")[0] if meaning.endswith(")") and " (" in meaning else meaning).removeprefix("a family of open models: ")
