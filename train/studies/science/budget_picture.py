"""The figure <study>-budget.svg: the mean row of attention weights of every design, with Sink_1, norms, loss and verdict."""
import dataclasses
import math

import paper
import student
from runs import printable
from svg import circle, diamond, escape, line, rectangle, text_at, ticks

# The first title of which a beginning fits the ablation's name.
MECHANISMS = (
    ("Softmax", ("baseline",)),
    ("Outlets of successors: a one in the sum, a learned score, a gate", ("op_softmax1", "op_sink_logit", "gate_", "op_softpick", "op_clipped")),
    ("A learned key, value or token", ("bias_",)),
    ("Operations without softmax", ("op_", "kern_")),
    ("Softmax with another row sum", ("scale_",)),
    ("p-norms of the row", ("pnorm_",)),
    ("Positions", ("pos_",)),
    ("Norms, feed-forward blocks, heads", ("norm_", "qk_norm", "ffn_", "head_")),
    ("Others", ("",)),
)

# Pixels.
ROW, TITLE, FIRST_ROW, AXIS, WIDTH = 19, 27, 128, 34, 1370
LONGEST_LABEL = 52
VERDICT_LEFT, MOST_LOSS = 1250, 0.3
STYLE = (
    "text{font:12px sans-serif;fill:#222}.small{font-size:11px;fill:#555}.title{font-weight:bold}"
    ".headline{font-size:17px;font-weight:bold}.one text{fill:#999}.one{opacity:.55}"
    ".grid{stroke:#ddd}.axis{stroke:#888}.even{stroke:#111;stroke-width:2}"
    ".first{fill:#1f5fa8}.extra{fill:#e2902b}.others{fill:#d5dae1}.missing{fill:#fff;stroke:#aaa;stroke-dasharray:3 2}"
    ".interval{stroke:#111;stroke-width:1.5}.seed{fill:#111;fill-opacity:.45}.mean{fill:#1f5fa8}.star{fill:#e2902b}"
    ".paper{fill:none;stroke:#c4501b;stroke-width:1.5}.norm{fill:#7a4fa3}.massive{fill:none;stroke:#7a4fa3;stroke-width:1.5}"
    ".replicated{fill:#1a7f4b}.contradicted{fill:#c0312b}.underpowered{fill:#946b00}.none{fill:#777}")


# ---------------------------------------------------------------------------------------------------- values of a row

@dataclasses.dataclass
class Values:
    """Of a group over its seeds."""
    seeds: list
    mean: student.Estimate


@dataclasses.dataclass
class Row:
    group: str
    label: str
    count: int  # of seeds
    first: float  # raw weights of a row of attention, means over rows, heads and seeds
    extra: float
    others: float
    missing: float
    even: float  # `first` if the weights were spread evenly
    first_and_extra: Values
    sink_1: Values  # percent, proxy weights, threshold 0.3
    sink_star: Values
    paper_sink_1: float | None
    value_ratio: Values  # |v_1| / |v_t|
    massive_ratio: Values  # |h_1| / |h_t| in the layer where it is largest
    loss: Values | None  # minus softmax, paired by seed
    verdict: str | None  # of the first claim about the group


def share_of_rows(run):
    """The share of rows that see the first token, by which alpha_1 becomes a mean over all rows; NaN where blocks differ."""
    rows, T = float(run.get("first_key_rows") or 0), run.number("measured_context")
    if rows == 0 or rows >= T:
        return 1.0
    return math.nan if float(run.get("global_every") or 0) > 0 else rows / T


def on_first(run):
    return run.number("alpha_1_raw") * share_of_rows(run)


def on_extra(run):
    """Raw mean weight of the extra key, over the rows of tokens; 0 without one."""
    if run["extra"] == "key":
        return run.number("extra_key_mass")
    if run["extra"] != "token":
        return 0.0
    T = run.number("measured_context")  # alpha_* also counts the token's own row, which has weight 1
    return math.nan if share_of_rows(run) != 1 else (run.number("alpha_star_raw") * (T + 1) - 1) / T


def values_of(runs, value):
    found = [value(run) for run in runs]
    found = [x for x in found if math.isfinite(x)]
    return Values(found, student.estimate(found))


def loss_difference(runs, baseline):
    ours, others = ({int(run["seed"]): run.number("val_loss") for run in of if math.isfinite(run.number("val_loss"))} for of in (runs, baseline))
    ours = dict(sorted(ours.items()))
    return Values([ours[seed] - others[seed] for seed in ours if seed in others], student.paired(ours, others))


def row_of(runs, baseline, verdict):
    run = runs[0]
    total, first, extra = (values_of(runs, value).mean.mean for value in (lambda each: each.row_sum, on_first, on_extra))
    measured = lambda name: values_of(runs, lambda each: each.number(name))
    even = run.even[0] * share_of_rows(run) * total
    return Row(run.group, paper.meaning_of(run["ablation"]), len(runs), first, extra, total - first - extra, 1 - total,
               0.0 if math.isnan(even) else even, values_of(runs, lambda each: on_first(each) + on_extra(each)), measured("sink_1"),
               measured("sink_star"), paper.sink_1_of(run), measured("first_value_norm_ratio"), measured("massive_ratio"),
               loss_difference(runs, baseline) if runs is not baseline else None, verdict)


def rows_of(registered, runs, study, claims):
    """[(title, its rows, in the order of the study)], of groups with a complete run."""
    groups = {}
    for run in runs:
        if run.is_complete and int(run["seed"]) in registered.seeds:
            groups.setdefault(run.group, []).append(run)
    rows = {title: [] for title, _ in MECHANISMS}
    for group, own in groups.items():
        title = next(title for title, beginnings in MECHANISMS if own[0]["ablation"].startswith(beginnings))
        verdict = next((claim.registered_verdict for claim in claims if claim.study == study and claim.run == group), None)
        rows[title].append(row_of(own, groups.get("baseline", []), verdict))
    return [(title, some) for title, some in rows.items() if some]


# ------------------------------------------------------------------------------------------------------------ drawing

@dataclasses.dataclass
class Scale:
    """A horizontal scale. Values beyond its ends are drawn at them."""
    left: float
    width: float
    low: float
    high: float
    is_logarithmic: bool = False

    def __call__(self, value):
        place = (lambda x: math.log(max(x, 1e-9))) if self.is_logarithmic else (lambda x: x)
        part = (place(value) - place(self.low)) / (place(self.high) - place(self.low))
        return self.left + self.width * min(max(part, 0.0), 1.0)


BUDGET, SINKS, RATIOS = Scale(360, 330, 0, 1), Scale(735, 120, 0, 100), Scale(900, 150, 0.1, 10, True)


def spread(values, x, y):
    """Dots of the seeds and the interval of their mean."""
    svg = line("interval", x(values.mean.low), x(values.mean.high), y, y) if values.mean.n >= 2 else ""
    return svg + "".join(circle("seed", x(seed), y, 2) for seed in values.seeds if len(values.seeds) > 1)


def mark(values, style, x, y):
    return "" if values.mean.n == 0 else spread(values, x, y) + circle(style, x(values.mean.mean), y, 4)


def bar(row, y):
    """First token, extra key, others, missing. Negative parts are left out. A row that sums to more than one is scaled to one, with its sum next
    to it."""
    total = 1 - row.missing
    scale = 1 / total if total > 1.005 else 1
    svg, begin = "", 0.0
    for style in ("first", "extra", "others", "missing"):
        end = min(1.0, begin + max(0.0, getattr(row, style) * scale))
        if end - begin > 0.002:
            svg += rectangle(style, BUDGET(begin), y - 6, BUDGET(end) - BUDGET(begin), 12)
        begin = end
    svg += line("even", BUDGET(row.even * scale), BUDGET(row.even * scale), y - 8, y + 8)
    mean = row.first_and_extra.mean
    svg += spread(Values([seed * scale for seed in row.first_and_extra.seeds], student.Estimate(mean.n, mean.mean * scale, mean.half * scale)), BUDGET, y)
    return svg + (text_at(BUDGET(1) + 3, y + 4, 'class="small"', f"\u00d7 {total:.3g}") if scale < 1 else "")


def shortened(label):
    return label if len(label.encode()) <= LONGEST_LABEL else label[:label.rfind(" ", 0, LONGEST_LABEL - 2)] + "..."


def drawn(row, seeds, losses, y):
    svg = f'<g{" class=" + chr(34) + "one" + chr(34) if row.count < 2 else ""}><title>{escape(printable(row.group))}</title>'
    svg += text_at(16, y + 4, "", shortened(printable(row.label))) + bar(row, y)
    svg += mark(row.sink_1, "mean", SINKS, y) + mark(row.sink_star, "star", SINKS, y)
    if row.paper_sink_1 is not None:
        svg += diamond("paper", SINKS(row.paper_sink_1), y)
    for values, style in ((row.value_ratio, "norm"), (row.massive_ratio, "massive")):
        if values.mean.n > 0:
            svg += circle(style, RATIOS(values.mean.mean), y, 4)
    if row.loss and row.loss.mean.n > 0 and row.loss.mean.mean > losses.high:
        svg += text_at(losses(losses.high), y + 4, 'class="small" text-anchor="end"', f"{row.loss.mean.mean:+.2f} \u25b6")
    elif row.loss:
        svg += mark(row.loss, "mean", losses, y)
    style = row.verdict if row.verdict in ("replicated", "contradicted", "underpowered") else "none"
    text = f"{row.count} of {seeds} seeds" if row.count < seeds else row.verdict or "no claim"
    return svg + text_at(VERDICT_LEFT, y + 4, f'class="{style}"', text) + "</g>\n"


def axis(x, at, zero, form, bottom):
    """Grid lines with their values below, over all rows."""
    return "".join(line("axis" if tick == zero else "grid", x(tick), x(tick), FIRST_ROW - 4, bottom) +
                   text_at(x(tick), bottom + 14, 'class="small" text-anchor="middle"', format(tick or 0.0, form)) for tick in at) + "\n"


def heading(losses):
    svg = text_at(16, 26, 'class="headline"', "Where does the unspent attention go?") + text_at(
        16, 46, 'class="small"', "Mean row of attention weights of each design. Runs of one seed share initial weights and batches; the first token "
        "of every sequence is the same.") + "\n"
    x, y = 16.0, 68
    for sign, text in (
            (lambda: rectangle("first", x, y - 6, 13, 12), "first token"), (lambda: rectangle("extra", x, y - 6, 13, 12), "extra key or token"),
            (lambda: rectangle("others", x, y - 6, 13, 12), "other tokens"),
            (lambda: rectangle("missing", x, y - 6, 13, 12), "missing: the row sums to less than one"),
            (lambda: line("even", x + 6, x + 6, y - 8, y + 8), "first token if all keys were equal"),
            (lambda: circle("seed", x + 2, y, 2) + circle("seed", x + 7, y, 2) + line("interval", x, x + 13, y, y), "seeds, mean with 95 % interval"),
            (lambda: diamond("paper", x + 6, y), "Gu et al. 2025, same kind of input")):
        svg += sign() + text_at(x + 18, y + 4, 'class="small"', text)
        x += 30 + 6.1 * len(text)
    svg += "\n"
    for left, title, below in ((BUDGET.left, "attention weights, raw", "dots: first token + extra key; \u00d7: the row sum, where above 1"),
                               (SINKS.left, "Sink_1, Sink_* %", "proxy, above 0.3"),
                               (RATIOS.left, "norms, first to others", "\u25cf values  \u25cb residual stream"),
                               (losses.left, "loss minus softmax", "nats"),
                               (VERDICT_LEFT, "registered claim", "the first of the design")):
        svg += text_at(left, FIRST_ROW - 30, 'class="title"', title) + text_at(left, FIRST_ROW - 14, 'class="small"', below) + "\n"
    return svg


def loss_scale(mechanisms):
    """Holds 0 and all seeds up to MOST_LOSS; what is beyond is written as a number."""
    seeds = [seed for _, rows in mechanisms for row in rows if row.loss for seed in row.loss.seeds]
    low, high = min([0.0, *seeds]), max([0.02, *(min(seed, MOST_LOSS) for seed in seeds)])
    margin = 0.06 * (high - low)
    return Scale(1095, 130, low - margin, high + margin)


def svg_of(registered, runs, study, claims):
    """"" if no group of the study has a complete run."""
    mechanisms = rows_of(registered, runs, study, claims)
    if not mechanisms:
        return ""
    losses, rows, y = loss_scale(mechanisms), "", FIRST_ROW
    for title, some in mechanisms:
        rows += text_at(8, y + 18, 'class="title"', title) + "\n"
        y += TITLE
        for row in some:
            rows += drawn(row, len(registered.seeds), losses, y + ROW / 2)
            y += ROW
    svg = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + AXIS}" width="{WIDTH}" role="img"><style>{STYLE}</style>\n'
           f'<rect width="100%" height="100%" fill="#fff"/>\n<title>Where does the unspent attention go?</title>\n{heading(losses)}')
    for x, at, zero, form in ((BUDGET, (0, 0.25, 0.5, 0.75, 1), 0, ".2f"), (SINKS, (0, 50, 100), 0, ".0f"), (RATIOS, (0.1, 0.3, 1, 3, 10), 1, "g"),
                              (losses, ticks(losses.low, losses.high), 0, ".4g")):
        svg += axis(x, at, zero, form, y)
    return svg + rows + "</svg>\n"
