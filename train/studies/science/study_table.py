"""A study's results as a table for a terminal, Markdown, CSV and a page. The same results give the same bytes."""
import html

import paper
from output import aligned, escaped, field, markdown
from runs import MOST_ENTROPY, visible
from study import MEASURES, direction, verdicts

MARK = "<!-- made by sweep -->\n"  # by which `sweep` recognizes its own files
NO_ROW = "no matching row"
PAPERS_LENGTH = 64
STYLE = """:root{color-scheme:light dark;--line:#ddd}@media(prefers-color-scheme:dark){:root{--line:#444}}
body{font:15px/1.5 system-ui,sans-serif;max-width:1200px;margin:2rem auto;padding:0 1rem}.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}th,td{border-bottom:1px solid var(--line);padding:.25rem .6rem;text-align:left}
img{max-width:100%;height:auto}"""


def fixed(value, decimals, sign=""):
    """A number with so many decimals; from 10^9 on as 2.02e+21, since a double has no such digits."""
    return f"{value:{sign}.{decimals}f}" if abs(value) < 1e9 else f"{value:{sign}.2e}"


def cell(estimate, decimals, sign=""):
    """"14.6 ± 1.2"; without an interval only the mean; "" without runs."""
    if estimate.n == 0:
        return ""
    mean = fixed(estimate.mean, decimals, sign)
    return f"{mean} ± {fixed(estimate.half, decimals)}" if estimate.n >= 2 else mean


def is_shown(study, measure):
    """Whether a measure has a column: some group has it; for the second and third token, with a sink above one percent; the suspected companions
    of a sink only next to the loss without it."""
    if measure in ("value_share", "massive_ratio") and not study.has("change_removed_1"):
        return False
    return any(group.has(measure) and (measure not in ("sink_2", "sink_3") or group.estimate(measure).mean > 1) for group in study.groups)


def on_other_input(row):
    """The paper's values of the same experiment on another input, which may not be compared with ours."""
    values = [f"{name} {value.removesuffix('*')} %" + (" proxy" if value.endswith("*") else "")
              for name, value in (("Sink_1", row["sink_1"]), ("Sink_*", row["sink_star"])) if paper.value_of(value) is not None]
    note = f" ({row['note']})" if row["note"] else ""
    return f"paper on {paper.describe(paper.input_of_row(row))}: {', '.join(values) or row['sink_1']}{note}"


def remarks_of(study, group):
    remarks = ["baseline"] * (group is study.baseline) + group.remarks
    row = group.paper
    if row and row["note"]:
        remarks.append("paper: " + row["note"])
    if not row and group.row:
        remarks.append(on_other_input(group.row))
    return "; ".join(remarks)


def cells_of(study):
    """The heading, then a row per group. Loss and Sink_1 are followed by their difference from the baseline."""
    shown = [measure for measure in MEASURES if is_shown(study, measure.key)]
    compared = ("sink_1", "val_loss") if study.baseline else ()
    heading = ["run", "seeds"]
    for measure in shown:
        heading += [measure.title] + ["minus baseline"] * (measure.key in compared)
    heading += ["Sink_1 proxy to baseline"] * (study.baseline is not None)
    rows = [heading + ["paper, same input: Sink_1 %", "Sink_* %", "loss", "remarks"]]
    for group in study.groups:
        row = [visible(group.name), str(group.estimate("sink_1").n)]
        for measure in shown:
            row.append(cell(group.estimate(measure.key), measure.decimals))
            if measure.key in compared:
                row.append(cell(study.difference(group, measure.key), measure.decimals, "+"))
        row += [direction(study, group)] * (study.baseline is not None)
        of_paper = group.paper or {"sink_1": NO_ROW, "sink_star": "", "valid": ""}
        rows.append(row + [of_paper["sink_1"], of_paper["sink_star"], of_paper["valid"], remarks_of(study, group)])
    return rows


def notes(study):
    """The paragraphs below the table."""
    settings, tokens = study.groups[0].settings, study.groups[0].tokens_per_step
    lines = verdicts(study)
    line = ("Mean ± half of the 95 % interval over seeds (Student's t); only the mean if there is one seed. Intervals are not corrected for the number of "
            "comparisons.")
    name = visible(study.baseline_name)
    lines.append(line + (f" Differences from the baseline, {name}, are paired by seed: runs of one seed share initial weights and batches." if study.baseline
                         else f" The study's baseline, {name}, is not among these runs."))
    # Rows over more tokens spread their weight over more keys, so Sink_1 at the length of training is not the paper's.
    context = settings["context"]
    other_length = "" if settings["task"] != "text" or int(context) == PAPERS_LENGTH else (
        f" The paper measures sequences of {PAPERS_LENGTH} tokens, these runs sequences of {context}; `eval_<ablation> sink` measures their checkpoints at "
        f"{PAPERS_LENGTH}.")
    inputs = "; ".join(dict.fromkeys(paper.describe(group.input) for group in study.groups))
    lines.append("Sink threshold 0.3; raw: the attention weights; proxy: |a| / sum |a|. *: the extra key or sink token. / even: divided by the value of rows "
                 "that spread their weight evenly over the keys they see. Paper: Gu et al. 2025 with its own model size and tokens, the row of the same "
                 f"experiment on the same kind of input (ours: {inputs}); * there: proxy weights, else raw = proxy; n.r.: not reported.{other_length}"
                 + (" Row sum: with the extra key's weight." if is_shown(study, "alpha_star") else ""))
    if is_shown(study, "entropy_over_even"):
        lines[-1] += f" Entropy / even: where it is above {MOST_ENTROPY}, attention is nearly even, and no token can be a sink."
    if is_shown(study, "alpha_1_over_zero_score"):
        lines[-1] += " Alpha_1 / at zero scores: if all products q . k were zero, so of biases, mask and extra key alone."
    lines.append(f"Task {settings['task']}, {settings['layers']} layers of {settings['heads']} heads, width {settings['width']}, context {context}, "
                 f"{settings['steps']} steps of {tokens} tokens, learning rate {settings['learning-rate']} in the first run of the table; seeds "
                 f"{', '.join(map(str, study.seeds))}.")
    lines.append(f"{study.complete} of {study.runs} runs complete, {study.core_hours:.2f} core-hours" + (f" on {', '.join(study.machines)}" if study.machines else "")
                 + (f", commit {', '.join(study.commits)}" if study.commits else "") + (" (a mean may combine several)" if len(study.commits) > 1 else "") + ".")
    if is_shown(study, "val_loss_before"):
        lines.append("before: the checkpoint that a run starts from, measured on the run's data before its first step. The values are in "
                     "evaluation-before.json of each run folder, not in the CSV of the runs.")
    lines += [f"{n} of {study.runs} runs are rows of {visible(file)}, not trained again." for file, n in sorted(study.earlier.items())]
    if is_shown(study, "change_removed_1"):
        lines.append("Loss without a_1 v_1 and the columns after it: the increase of the trained model's loss, in nats, without the first token's contribution "
                     "(the other weights unchanged, or rescaled to make up for it), with its mean contribution for every query, without the fifth token's "
                     "contribution, and with weights and inputs of 8 and 4 bits. Value share: |a_1| |v_1| / sum |a_j| |v_j|. |h_1| / |h_t|: norms of the "
                     "residual stream, in the layer with the largest ratio.")
    return lines + [visible(study.note)] * bool(study.note)


def title_of(study):
    return f"{visible(study.name)}, size {study.size}: {visible(study.question)}" + (f" (paper: {visible(study.section)})" if study.section else "")


def text_of(study):
    return f"{title_of(study)}\n\n{aligned(cells_of(study))}\n" + "".join(note + "\n" for note in notes(study))


def markdown_of(study):
    return (f"{MARK}# {escaped(title_of(study))}\n\n{markdown(cells_of(study), is_aligned=True)}" + "".join(f"\n{escaped(note)}\n" for note in notes(study)))


def csv_of(study):
    """One line per group: name, ablation, seeds; for every measure the mean, the ends of its interval, and the same for the difference from the
    baseline; the paper's row, the verdict and remarks. Unknown values are empty fields."""
    parts = ("", "_low", "_high", "_difference", "_difference_low", "_difference_high")
    lines = [["study", "size", "run", "ablation", "seeds", "complete", *(measure.key + of for measure in MEASURES for of in parts), "paper_row", "paper_sink_1",
              "paper_sink_star", "paper_loss", "sink_1_direction", "remarks"]]
    for group in study.groups:
        line = [study.name, study.size, group.name, group.ablation, len(study.seeds), group.estimate("sink_1").n]
        for measure in MEASURES:
            for estimate in (group.estimate(measure.key), study.difference(group, measure.key)):
                line += [estimate.mean, estimate.low, estimate.high]
        row = group.paper or dict.fromkeys(("id", "sink_1", "sink_star", "valid"), "")
        lines.append(line + [row["id"], row["sink_1"], row["sink_star"], row["valid"], direction(study, group), "; ".join(group.remarks)])
    return "".join(",".join(map(field, line)) + "\n" for line in lines)


def page_of(study, svg):
    """The table, the figure and the notes, without a script or another file."""
    rows = [[html.escape(text).replace(" ± ", "&nbsp;±&nbsp;") for text in row] for row in cells_of(study)]
    table = "".join(f'<th scope="col">{text}</th>' for text in rows[0])
    table = f"<thead><tr>{table}</tr></thead><tbody>" + "".join(
        f'<tr><th scope="row">{row[0]}</th>' + "".join(f"<td>{text}</td>" for text in row[1:]) + "</tr>\n" for row in rows[1:]) + "</tbody>"
    title = html.escape(title_of(study))
    said = "".join(f"<p>{html.escape(note)}</p>\n" for note in notes(study))
    return (f'<!doctype html>\n{MARK}<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Sinklab report: {title}</title>\n'
            f'<style>{STYLE}</style>\n<h1>{title}</h1>\n<div class="scroll" tabindex="0"><table>{table}</table></div>\n'
            f'<div class="scroll" tabindex="0">{svg}</div>\n{said}</html>\n')
