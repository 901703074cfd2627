#!/usr/bin/env python3
"""Draws which lane holds which element of the tensor cores' operands: tools/tour/fragments.svg.

    python3 tools/tour/fragments.py            writes the picture
    python3 tools/tour/fragments.py --check    exits with 1 if the picture in the repository is another one

The lanes are those of NVIDIA's CuTe (tests/golden/cuda/cute_tables.txt), with which `selftest` compares the device.
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = ROOT / "tests/golden/cuda/cute_tables.txt"
PICTURE = ROOT / "tools/tour/fragments.svg"
CELL, TOP = 22, 64
# Of each fragment: the table, what it is, rows, columns, elements in a register, the name of a register.
FRAGMENTS = [("left", "left operand A, 16 x 16, bf16", 16, 16, 2, "a"),
             ("right", "right operand B, 16 x 8, bf16", 16, 8, 2, "b"),
             ("sums", "accumulators C, 16 x 8, float", 16, 8, 1, "c")]
SHOWN = 5  # the lane whose registers are named


def elements_of(table):
    """{lane: [(row, column) of its elements, in the order of its registers]}; CuTe's B is column, row."""
    lanes = {}
    for line in TABLES.read_text().splitlines():
        name, _, rest = line.partition(" ")
        if name == table:
            lane, _, places = rest.partition(":")
            pairs = [tuple(map(int, place.split(","))) for place in places.split()]
            lanes[int(lane)] = [pair[::-1] for pair in pairs] if table == "right" else pairs
    assert len(lanes) == 32
    return lanes


def colour(lane):
    """One hue for the four lanes of a quad, darker from lane to lane."""
    return f"hsl({lane // 4 * 45} 65% {86 - lane % 4 * 7}%)"


def draw_fragment(x, table, title, rows, columns, per_register, register):
    out = [f'<text x="{x}" y="{TOP - 30}" class="title">{title}</text>']
    for column in range(columns):
        out.append(f'<text x="{x + CELL * column + CELL / 2}" y="{TOP - 8}" class="axis">{column}</text>')
    for row in range(rows):
        out.append(f'<text x="{x - 10}" y="{TOP + CELL * row + 15}" class="axis">{row}</text>')
    for lane, elements in sorted(elements_of(table).items(), key=lambda item: item[0] == SHOWN):  # on top
        for n, (row, column) in enumerate(elements):
            left, top = x + CELL * column, TOP + CELL * row
            own = lane == SHOWN
            text = f"{register}{n // per_register}" if own else lane
            out.append(f'<rect x="{left}" y="{top}" width="{CELL}" height="{CELL}" fill="{colour(lane)}" '
                       f'stroke="{"#000" if own else "#fff"}" stroke-width="{2 if own else 1}"/>')
            out.append(f'<text x="{left + CELL / 2}" y="{top + 15}" class="{"own" if own else "lane"}">{text}</text>')
    return "\n".join(out)


def picture():
    body, x = [], 40
    for fragment in FRAGMENTS:
        body.append(draw_fragment(x, *fragment))
        x += CELL * fragment[3] + 70
    width, height = x - 40, TOP + 16 * CELL + 64
    notes = ["A number is the lane that holds the element. The four lanes of one colour hold a row of A and of C, or a "
             "column of B.", f"Framed are the registers of lane {SHOWN}: four of A and two of B with two values each, "
             "and four of C."]
    lines = "\n".join(f'<text x="40" y="{height - 34 + 20 * n}" class="note">{note}</text>'
                      for n, note in enumerate(notes))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">
<title>Which lane of a warp holds which element of mma.m16n8k16</title>
<style>
text {{ font-size: 11px; text-anchor: middle; fill: #111 }}
.title, .note {{ font-size: 14px; text-anchor: start }}
.axis {{ fill: #555 }}
.own {{ font-weight: bold }}
</style>
<rect width="{width}" height="{height}" fill="#fff"/>
{chr(10).join(body)}
{lines}
</svg>
"""


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(f"fragments: error: unknown argument '{sys.argv[1]}' (expected nothing or --check)")
    if not sys.argv[1:]:
        PICTURE.write_text(picture())
    elif not PICTURE.exists() or PICTURE.read_text() != picture():
        sys.exit("fragments: error: tools/tour/fragments.svg is not what this program draws; run it without --check")


if __name__ == "__main__":
    main()
