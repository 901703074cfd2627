"""The figure <study>.svg: one row per group with a complete run, with its seeds, mean and interval, and the paper's value. Panels with their own
scale: Sink_1 by proxy weights, and raw if the two differ; Sink_*; the loss minus the baseline's; and, if interventions were measured, how much the
loss increases without a_1 v_1."""
import dataclasses
import math

import paper
import student
from runs import visible
from study import MEASURES
from study_table import fixed
from svg import circle, diamond, escape, line, text_at, ticks

LEAST_LABELS, PANEL, GAP, ROW, TOP, BOTTOM = 330, 200, 110, 20, 84, 30  # pixels
LONGEST_LABEL, CHARACTER = 64, 6.4
STYLE = ("text{font:12px sans-serif;fill:#222}.small{font-size:11px;fill:#555}.title{font-weight:bold}"
         ".grid{stroke:#ddd}.zero{stroke:#888}.ours{fill:#1f5fa8;stroke:#1f5fa8}.seed{fill:#1f5fa8;fill-opacity:.35}"
         ".paper{fill:none;stroke:#c4501b;stroke-width:1.5}.value{fill:#1f5fa8}.papers-value{fill:#c4501b}")
STYLE_OF_ONE_SEED = ".ours.one{fill:#8c959f;stroke:#8c959f}.value.one{fill:#6e7781}"  # a single run says little: its marks are grey
IN_WORDS = {"task", "data", "fixed-token", "fixed-position", "fixed-to", "fixed-probability", "random-from", "random-to", "prefix", "window", "prefix-validation", "initial"}


def number(text):
    """Of a setting that is a number; NaN of another."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def setting_words(flag, text):
    value = text if math.isnan(number(text)) or text.lstrip("-").isdecimal() else f"{number(text):g}"
    return f"{flag.replace('-', ' ')} {value}"


def label_of(study, groups, group, varying):
    """"weight decay 0.5", "sigmoid of the score, tuned": what distinguishes a group from the others; from the baseline alone, where the groups
    differ in several ablations or in more than two settings."""
    one_ablation, one_input = (len({of(each) for each in groups}) == 1 for of in (lambda each: each.ablation, lambda each: each.input))
    several = len(varying) + (not one_input) > 2
    baseline = study.baseline if study.baseline in groups and (not one_ablation or several) else None
    words = []
    if not one_ablation:
        words.append(group.ablation if group.ablation == "baseline" else paper.meaning_of(group.ablation))
    if not one_input and not (one_ablation and baseline and group.input == baseline.input):
        words.append(paper.describe(group.input))
    if group.origin:
        words.append("tuned")
    for flag in varying:
        value = group.settings[flag]
        if baseline and value == baseline.settings[flag]:
            continue
        if group.origin and all(not other.origin or other.settings[flag] == value for other in groups):
            continue  # of fine-tuning as such
        words.append(setting_words(flag, value))
    label = ", ".join(words) or group.name
    if group.name == study.baseline_name and label != "baseline":
        label += " (baseline)"
    label = visible(label)
    return label if len(label) <= LONGEST_LABEL else label[:label.rfind(" ", 0, LONGEST_LABEL - 2)] + "..."


def sorted_rows(groups, varying):
    """By the one numeric setting in which the groups differ, ascending; otherwise by Sink_1, descending. The order, and what it is by."""
    alike = len({(group.ablation, group.origin, group.input) for group in groups}) == 1
    if len(varying) == 1 and alike and not math.isnan(number(groups[0].settings[varying[0]])):
        return sorted(groups, key=lambda group: number(group.settings[varying[0]])), varying[0].replace("-", " ")
    return sorted(groups, key=lambda group: -group.estimate("sink_1").mean), "Sink_1"


@dataclasses.dataclass
class Mark:
    seeds: list
    mean: student.Estimate
    papers: str = ""  # as the paper gives it, "18.18", "failed"; empty: no row of the same input


@dataclasses.dataclass
class Panel:
    title: str
    decimals: int
    is_difference: bool
    rows: list
    low: float = 0
    high: float = 0


def mark_of(study, group, measure, is_difference, column):
    """The values of every seed of a group, or their differences from the baseline with the same seed."""
    mark = Mark([], study.difference(group, measure) if is_difference else group.estimate(measure))
    if mark.mean.n > 0:
        others = study.baseline.values[measure] if is_difference else dict.fromkeys(group.values[measure], 0.0)
        mark.seeds = [value - others[seed] if is_difference else value for seed, value in sorted(group.values[measure].items()) if seed in others]
    if column and group.paper:
        mark.papers = group.paper[column]
    return mark


def panel_of(study, groups, title, measure, is_difference=False, column=""):
    """The scale holds 0 and all values. Intervals of few seeds can be far wider; they are cut off."""
    decimals = next(each.decimals for each in MEASURES if each.key == measure)
    panel = Panel(title, decimals, is_difference, [mark_of(study, group, measure, is_difference, column) for group in groups])
    values = [value for mark in panel.rows for value in (*mark.seeds, paper.value_of(mark.papers)) if value is not None]
    panel.low, panel.high = min([0, *values]), max([0, *values])
    if panel.high == panel.low:
        panel.high = panel.low + 1
    margin = 0.06 * (panel.high - panel.low)
    panel.low -= margin * (panel.low < 0)
    panel.high += margin
    return panel


def panels_of(study, groups):
    panels = [panel_of(study, groups, "Sink_1 %, proxy", "sink_1", column="sink_1")]
    if any(abs(group.estimate("sink_1").mean - group.estimate("sink_1_raw").mean) > 1 for group in groups):
        panels.append(panel_of(study, groups, "Sink_1 %, raw", "sink_1_raw"))
    if any(group.has("sink_star") for group in groups):
        panels.append(panel_of(study, groups, "Sink_* %, proxy", "sink_star", column="sink_star"))
    if study.baseline in groups and len(groups) > 1:
        panels.append(panel_of(study, groups, "loss minus baseline, nats", "val_loss", is_difference=True))
    if any(group.has("change_removed_1") for group in groups):
        panels.append(panel_of(study, groups, "loss increase without a_1 v_1, nats", "change_removed_1"))
    return panels


def middle_of(row):
    return TOP + ROW * (row + 0.5)


def drawn(panel, left):
    def x(value):
        return left + PANEL * (min(max(value, panel.low), panel.high) - panel.low) / (panel.high - panel.low)
    bottom = TOP + len(panel.rows) * ROW
    svg = text_at(left, TOP - 12, 'class="title"', panel.title) + "\n"
    if any(mark.papers for mark in panel.rows):
        svg += text_at(left + PANEL + 8, TOP - 12, 'class="small"', "ours") + text_at(left + PANEL + 52, TOP - 12, 'class="small"', "paper") + "\n"
    for tick in ticks(panel.low, panel.high):
        is_zero = abs(tick) < 1e-12
        svg += line("zero" if is_zero else "grid", x(tick), x(tick), TOP - 4, bottom)
        svg += text_at(x(tick), bottom + 14, 'class="small" text-anchor="middle"', f"{0.0 if is_zero else tick:.4g}") + "\n"
    for row, mark in enumerate(panel.rows):
        y, one, n = middle_of(row), " one" if len(mark.seeds) == 1 else "", mark.mean.n
        if (papers := paper.value_of(mark.papers)) is not None:
            svg += diamond("paper", x(papers), y) + "\n"
        if n > 0:
            svg += text_at(left + PANEL + 8, y + 4, f'class="value{one}"', fixed(mark.mean.mean, panel.decimals, "+" * panel.is_difference))
        if mark.papers:
            svg += text_at(left + PANEL + 52, y + 4, 'class="papers-value"', mark.papers)
        svg += "\n"
        if n >= 2:
            svg += line("ours", x(mark.mean.low), x(mark.mean.high), y, y) + "".join(circle("seed", x(seed), y, 3) for seed in mark.seeds)
        if n > 0:
            svg += circle("ours" + one, x(mark.mean.mean), y, 4) + "\n"
    return svg


def svg_of(study):
    groups = [group for group in study.groups if group.has("sink_1")] or study.groups
    varying = [flag for flag in groups[0].settings if flag not in IN_WORDS and len({group.settings[flag] for group in groups}) > 1]
    groups, order = sorted_rows(groups, varying)
    panels = panels_of(study, groups)
    labels = [label_of(study, groups, group, varying) for group in groups]
    label_width = max(LEAST_LABELS, 16 + int(CHARACTER * max(map(len, labels))))
    width, height = label_width + len(panels) * (PANEL + GAP), TOP + len(groups) * ROW + BOTTOM
    title, one_seed = visible(study.question), any(group.estimate("sink_1").n == 1 for group in groups)
    svg = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img"><style>{STYLE}'
           f'{STYLE_OF_ONE_SEED if one_seed else ""}</style>\n<rect width="100%" height="100%" fill="#fff"/>\n<title>{escape(title)}</title>')
    svg += text_at(8, 18, 'class="title"', title) + "\n"
    svg += text_at(8, 34, 'class="small"', f"\u25cf our mean, with seeds and 95 % interval{', grey: one seed' if one_seed else ''}; rows are sorted by {order}")
    svg += "\n" + text_at(8, 48, 'class="small"', "\u25c7 the paper, with its own model size, on the same kind of input" if any(group.paper for group in groups)
                          else "The paper has no run on the same kind of input.") + "\n"
    for row, (group, label) in enumerate(zip(groups, labels)):
        svg += f"<g><title>{escape(visible(group.name))}</title>{text_at(8, middle_of(row) + 4, '', label)}</g>\n"
    return svg + "".join(drawn(panel, label_width + n * (PANEL + GAP)) for n, panel in enumerate(panels)) + "</svg>\n"
