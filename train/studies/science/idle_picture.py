"""The figure not_idle.svg: how much the loss rises without the heads that have a sink, and without all others."""
import student
from svg import circle, escape, line, text_at

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 400, 64, 30, 84, 62
MOST = 0.35  # nats
GROUPS = (("baseline", "softmax, 2 layers"), ("bias_k", "key, 2 layers"), ("bias_k-layers-3", "3"), ("bias_k-layers-4", "4"),
          ("bias_k-layers-6", "6"), ("bias_k-layers-8", "8 layers"))
# column, style, shift in pixels, label, its group and height
SERIES = (("idle_mean", "sink", -12, "without the heads that have a sink", 0, 0.325), ("rest_mean", "rest", 12, "without all other heads", 1.8, 0.115))
STYLE = ("text{font:13px sans-serif;fill:#222}.small{font-size:12px;fill:#555}.headline{font-size:17px;font-weight:bold}.grid{stroke:#ddd}"
         ".sink{fill:#c26a00}.rest{fill:#1f5fa8}.interval{stroke:#111;stroke-width:1.5}.seed{fill-opacity:.45}")


def x_of(number):
    return LEFT + (WIDTH - LEFT - RIGHT) * (number + 0.5) / len(GROUPS)


def y_of(nats):
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * nats / MOST


def svg_of(rows):
    """`rows`: those of idle_heads-pruned.csv, which idle_heads.py made."""
    title = "Heads with a sink are not idle"
    shapes = [text_at(LEFT - 40, 28, 'class="headline"', title),
              text_at(LEFT - 40, 50, 'class="small"', "Rise of the loss, in nats, if heads give their mean output. Five seeds (small dots; bars are 95 % intervals).")]
    for step in range(8):
        nats = 0.05 * step
        shapes += [line("grid", LEFT, WIDTH - RIGHT, y_of(nats), y_of(nats)),
                   text_at(LEFT - 8, y_of(nats) + 4, 'class="small" text-anchor="end"', f"{nats:.2f}")]
    for number, (run, label) in enumerate(GROUPS):
        shapes.append(text_at(x_of(number), HEIGHT - BOTTOM + 20, 'class="small" text-anchor="middle"', label))
        for column, style, shift, *_ in SERIES:
            values = [float(row[column]) for row in rows if row["run"] == run]
            found, x = student.estimate(values), x_of(number) + shift
            shapes.append(line("interval", x, x, y_of(max(found.low, 0)), y_of(found.high)))
            shapes += [circle(f"{style} seed", x + 7, y_of(value), 3) for value in values] + [circle(style, x, y_of(found.mean), 5)]
    shapes.append(text_at((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, 'text-anchor="middle"', "where the sink is, and layers of the model"))
    shapes += [text_at(x_of(at) - 30, y_of(height), f'class="{style}"', label) for _, style, _, label, at, height in SERIES]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">'
            f"<title>{escape(title)}</title><style>{STYLE}</style>" + "\n".join(shapes) + "</svg>\n")
