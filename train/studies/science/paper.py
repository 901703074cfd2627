"""What the paper (Gu et al., ICLR 2025) reports for a run, and what a design is, from tools/study/paper.json."""
import json
import pathlib

TABLE = json.loads((pathlib.Path(__file__).resolve().parents[3] / "tools/study/paper.json").read_text())
ROWS = [dict(zip(TABLE["columns"], line)) | {"preset": (line + [""] * 9)[8] or "60m"} for lines in TABLE["experiments"].values() for line in lines]
INPUT = ("fixed_token", "fixed_position", "fixed_to", "random_from", "random_to", "prefix", "window")


def flags_of(row):
    """{heads: 4} of "--heads 4"."""
    words = row["settings"].split()
    return {flag[2:].replace("-", "_"): value for flag, value in zip(words[::2], words[1::2])}


def input_of(setting):
    """The kind of input: which token is fixed, which are random, what a row sees. `setting` gives the text of a flag, "" where it is not set."""
    def whole(name, otherwise):
        return int(setting(name) or otherwise)
    fixed = (whole("fixed_position", 1), whole("fixed_to", 0)) if whole("fixed_token", -1) >= 0 else (0, 0)
    random = (whole("random_from", 0), whole("random_to", 0)) if whole("random_from", 0) > 0 else (0, 0)
    return setting("task") or "text", fixed, random, whole("prefix", 0), whole("window", 0)


def row_of(ablation):
    """Its row at the default settings, if the paper has one."""
    return next((row for row in ROWS if row["ablation"] == ablation and not row["settings"] and row["preset"] == "60m"), None)


def sink_1_of(run):
    """The paper's Sink_1 of this design for the same kind of input; None where it has none."""
    row, ours = row_of(run["ablation"]), input_of(lambda name: run.get(name, ""))
    if row is None:
        return None
    def others(of):
        return {name: value for name, value in flags_of(of).items() if name not in (*INPUT, "prefix_validation")}
    for other in [row, *ROWS]:
        if other["ablation"] == row["ablation"] and other["preset"] == row["preset"] and others(other) == others(row):
            flags = flags_of(other)
            if input_of(lambda name: flags.get(name, "")) == ours:
                try:
                    return float(other["sink_1"].rstrip("*"))
                except ValueError:
                    return None
    return None


def meaning_of(ablation):
    """A few words, without the section that they come from."""
    row = row_of(ablation)
    meaning = row["meaning"] if row else TABLE["beyond the paper"].get(ablation)
    if meaning is None or ablation == "baseline":
        return "softmax" if ablation == "baseline" else ablation
    return (meaning.rpartition(" (")[0] if meaning.endswith(")") and " (" in meaning else meaning).removeprefix("a family of open models: ")
