"""Elements of an SVG figure. Coordinates are in pixels; classes refer to the style of the figure."""
import html
import math


def escape(text):
    return html.escape(text).replace("&#x27;", "&#39;")


def text_at(x, y, attributes, text):
    return f'<text{" " + attributes if attributes else ""} x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def line(style, x1, x2, y1, y2):
    return f'<line class="{style}" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}"/>'


def circle(style, x, y, radius):
    return f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"/>'


def diamond(style, x, y):
    return f'<path class="{style}" d="M{x - 5:.1f} {y:.1f}L{x:.1f} {y - 5:.1f}L{x + 5:.1f} {y:.1f}L{x:.1f} {y + 5:.1f}Z"/>'


def rectangle(style, x, y, width, height):
    return f'<rect class="{style}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def ticks(low, high):
    """Three to six round values."""
    step = 10 ** math.floor(math.log10(high - low))
    while (high - low) / step < 3:
        step /= 5 if (high - low) / step < 1.5 else 2
    while (high - low) / step > 6:
        step *= 2
    first = math.ceil(low / step)
    return [n * step for n in range(first, first + 20) if n * step <= high]
