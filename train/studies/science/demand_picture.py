"""The figure demand_before_supply.svg: how many heads have a sink, by how often a sequence begins with the fixed token in training."""
import student
from svg import circle, escape, line, text_at

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 400, 64, 30, 84, 62
MOST = 60  # percent
PROBABILITIES = (0, 0.25, 0.5, 0.75, 1)
# ablation, measure, style, label, its probability and height
SERIES = (("bias_k", "sink_star", "extra", "with an extra key: heads with a sink on it", 0.02, 53.5),
          ("baseline", "sink_1", "first", "softmax: heads with a sink on the first token", 0.02, 4))
STYLE = ("text{font:13px sans-serif;fill:#222}.small{font-size:12px;fill:#555}.headline{font-size:17px;font-weight:bold}.grid{stroke:#ddd}"
         ".extra{fill:#c26a00}.first{fill:#1f5fa8}.path{fill:none;stroke-width:2}.extra.path{stroke:#c26a00;fill:none}.first.path{stroke:#1f5fa8;fill:none}"
         ".interval{stroke:#111;stroke-width:1.5}.seed{fill-opacity:.45}")


def x_of(probability):
    return LEFT + (WIDTH - LEFT - RIGHT) * (0.04 + 0.92 * probability)


def y_of(percent):
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * percent / MOST


def values_of(runs, ablation, probability, measure):
    group = ablation if probability == 1 else f"{ablation}-fixed-probability-{probability:g}"
    return [run.number(measure) for run in runs if run.group == group]


def series(runs, ablation, measure, style, label, at, height):
    means, shapes = [], []
    for probability in PROBABILITIES:
        values, x = values_of(runs, ablation, probability, measure), x_of(probability)
        found = student.estimate(values)
        means.append((x, y_of(found.mean)))
        shapes.append(line("interval", x, x, y_of(max(found.low, 0)), y_of(found.high)))
        shapes += [circle(f"{style} seed", x + 7, y_of(value), 3) for value in values] + [circle(style, x, y_of(found.mean), 5)]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in means)
    return [f'<path class="{style} path" d="{path}"/>', *shapes, text_at(x_of(at), y_of(height), f'class="{style}"', label)]


def svg_of(runs):
    """`runs`: those of the study demand, five probabilities of two ablations."""
    title = "Heads want a sink before the text has a token for it"
    shapes = [text_at(LEFT - 40, 28, 'class="headline"', title),
              text_at(LEFT - 40, 50, 'class="small"', "1.4 M parameters, 16 heads, five seeds (small dots; bars are 95 % intervals). Validation always has the token.")]
    for percent in range(0, MOST + 1, 10):
        shapes += [line("grid", LEFT, WIDTH - RIGHT, y_of(percent), y_of(percent)),
                   text_at(LEFT - 8, y_of(percent) + 4, 'class="small" text-anchor="end"', f"{percent} %")]
    for probability in PROBABILITIES:
        shapes.append(text_at(x_of(probability), HEIGHT - BOTTOM + 20, 'class="small" text-anchor="middle"', f"{100 * probability:g} %"))
    shapes.append(text_at((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, 'text-anchor="middle"', "training sequences that begin with the fixed token"))
    for each in SERIES:
        shapes += series(runs, *each)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">'
            f"<title>{escape(title)}</title><style>{STYLE}</style>" + "\n".join(shapes) + "</svg>\n")
