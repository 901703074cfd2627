#!/usr/bin/env python3
"""Draws kernels.svg from kernels.jsonl: TFLOP/s of attention kernels, ours and PyTorch's, forward and backward.

  python3 tools/gpu/h200/picture.py            writes the picture
  python3 tools/gpu/h200/picture.py --check    writes nothing; exit code 1 if the picture is out of date
"""
import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).parent
COLORS = {"ours": "#1f6f8b", "FlashAttention-2": "#c9a227", "cuDNN": "#8a8f98", "FlexAttention": "#d98a6c"}
TITLES = {"Softmax": "softmax", "Sigmoid": "sigmoid", "EluNorm": "elu + 1, normalized"}
BAR, GAP, LEFT, PANEL, SPACE, MOST = 13, 16, 190, 310, 60, 550  # pixels; TFLOP/s of a whole panel


def groups():
    lines = [json.loads(line) for line in (FOLDER / "kernels.jsonl").read_text().splitlines()]
    for operation in TITLES:
        for width in (64, 96, 128):
            found = {line["kernel"]: line for line in lines if line["operation"] == operation and line["D"] == width
                     and line["variant"] is None and line["kernel"] in COLORS}
            if len(found) > 1:
                yield f"{TITLES[operation]}, {width} wide", [(name, found[name]) for name in COLORS if name in found]


def text(x, y, words, anchor="start", size=11, color="#222222"):
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{color}" text-anchor="{anchor}">{words}</text>'


def picture():
    parts, y = [], 62
    for column, title in enumerate(("forward", "backward")):
        parts.append(text(LEFT + column * (PANEL + SPACE), 48, f"{title}, TFLOP/s", size=13))
    for n, (name, color) in enumerate(COLORS.items()):
        parts.append(f'<rect x="{LEFT + n * 150}" y="12" width="11" height="11" fill="{color}"/>')
        parts.append(text(LEFT + n * 150 + 16, 22, name))
    for title, bars in groups():
        parts.append(text(LEFT - 8, y + len(bars) * BAR / 2 + 4, title, anchor="end"))
        for row, (name, line) in enumerate(bars):
            for column, pass_name in enumerate(("forward", "backward")):
                x, value = LEFT + column * (PANEL + SPACE), line[f"{pass_name}_tflops"]
                width = value / MOST * PANEL
                parts.append(f'<rect x="{x}" y="{y + row * BAR}" width="{width:.1f}" height="{BAR - 2}" fill="{COLORS[name]}"/>')
                parts.append(text(f"{x + width + 4:.1f}", y + row * BAR + 9, f"{value:.0f}", size=10))
        y += len(bars) * BAR + GAP
    width = LEFT + 2 * PANEL + SPACE + 30
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" width="{width}" height="{y}" '
            f'font-family="sans-serif"><rect width="{width}" height="{y}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")


def main():
    file, drawn = FOLDER / "kernels.svg", picture()
    if "--check" in sys.argv:
        if file.read_text() == drawn:
            return 0
        print(f"error: {file.name} is not what picture.py draws from kernels.jsonl; run it without --check", file=sys.stderr)
        return 1
    file.write_text(drawn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
