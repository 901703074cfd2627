#!/usr/bin/env python3
"""Predicts the tokens per second of a training step from counted bytes, FLOPs and launches. Nothing here was measured.

    build/emulated/step_cost --model 60m --sequences 16 > counts.txt
    python3 tools/gpu/predict_step.py --gpu h200 < counts.txt

Every kernel takes the longer of two times: its bytes at the speed of memory, and its FLOPs at the speed of tensor cores;
in attention, at the speed that its inner loop allows (engine/cuda/kernels_sm90.txt). "roofline" is that at the hardware's
limits. "expected" multiplies the limits by the efficiencies below, which are judgements from published figures, and adds
a gap between two launches of one CUDA graph.
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "engine/cuda/kernels_sm90.txt"
BYTES_PER_SECOND = {"h100": 3.35e12, "h200": 4.8e12}  # data sheets of the SXM cards
DENSE = 790e12  # bf16 FLOP/s of cuBLAS on large matrices under load; the data sheet says 989e12
SMS_TIMES_CLOCK = 132 * 1.75e9
FLOPS_PER_ITERATION = 4 * 4096  # per HMMA: four schedulers, 2 x 16 x 8 x 16
EXPECTED = {"gemm": 0.78, "attention": 0.75, "memory": 0.75}
GAP = 1e-6  # seconds


def loop_speeds(operation, head_width):
    """{kernel: FLOP/s that its inner loop allows}, of the narrowest kernel that takes heads of this width."""
    width = next((w for w in (64, 96, 128) if head_width <= w), None)
    if width is None:
        sys.exit(f"predict_step: error: heads of {head_width} have no tensor-core kernel (expected at most 128)")
    speeds = {}
    for line in TABLE.read_text().splitlines():
        found = re.match(rf"#\s.*\s(attention_tiles\w*)<{operation}, {width}>$", line)
        if found:  # hmma ldsm copies lds sts mufu all body tensor shared issue mufu
            counts = [int(word) for word in line.split()[1:13]]
            speeds[found[1]] = counts[0] * FLOPS_PER_ITERATION * SMS_TIMES_CLOCK / max(counts[8:12])
    if not speeds:
        sys.exit(f"predict_step: error: {TABLE.name} has no inner loop of {operation}")
    return speeds


def parse(text):
    """(title, tokens of the step, width of a head, {kernel: [launches, requested, read, written, MFLOP]})"""
    title, *lines = text.splitlines() or [""]
    found = re.search(r"(\d+) x (\d+) tokens, heads of (\d+)", title)
    if not found:
        sys.exit("predict_step: error: the first line is not step_cost's (expected '60m, baseline, 16 x 2048 tokens, ...')")
    sequences, context, head_width = map(int, found.groups())
    kernels = {words[0]: [float(word) for word in words[1:]] for words in map(str.split, lines[1:])}
    kernels.pop("sum", None)
    return title, sequences * context, head_width, kernels


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpu", choices=BYTES_PER_SECOND, default="h100")
    parser.add_argument("--operation", default="Softmax", help="attention operation, as kernels_sm90.txt names it")
    arguments = parser.parse_args()
    title, tokens, head_width, kernels = parse(sys.stdin.read())
    bandwidth = BYTES_PER_SECOND[arguments.gpu]
    speeds = loop_speeds(arguments.operation, head_width)

    print(f"{title.split(';')[0]}; {arguments.gpu}: predicted, not measured")
    print(f"{'kernel':34} {'launches':>8} {'KB/token':>9} {'MFLOP':>8} {'limit':>7} {'roofline ms':>12} {'expected ms':>12}")
    rows = []
    for name, (launches, _, read, written, mflop) in kernels.items():
        kind = "gemm" if name == "gemm" else "attention" if name in speeds else "memory"
        by_memory = tokens * (read + written) / bandwidth
        by_products = tokens * mflop * 1e6 / (speeds[name] if kind == "attention" else DENSE)
        roofline = max(by_memory, by_products)
        expected = max(by_memory / EXPECTED["memory"], by_products / EXPECTED.get(kind, 1)) + launches * GAP
        rows.append((expected, roofline, name, launches, (read + written) / 1e3, mflop,
                     "tensor" if by_products > by_memory else "memory"))
    for expected, roofline, name, launches, kilobytes, mflop, limit in sorted(rows, reverse=True):
        if expected * 1e3 >= 0.05:
            print(f"{name:34} {launches:8.0f} {kilobytes:9.1f} {mflop:8.2f} {limit:>7} {roofline * 1e3:12.2f} {expected * 1e3:12.2f}")
    small = [row for row in rows if row[0] * 1e3 < 0.05]
    print(f"{f'{len(small)} others':34} {sum(row[3] for row in small):8.0f} {sum(row[4] for row in small):9.1f} {'':8} {'':>7} "
          f"{sum(row[1] for row in small) * 1e3:12.2f} {sum(row[0] for row in small) * 1e3:12.2f}")
    roofline, expected = sum(row[1] for row in rows), sum(row[0] for row in rows)
    print(f"{'sum':34} {sum(row[3] for row in rows):8.0f} {sum(row[4] for row in rows):9.1f} "
          f"{sum(row[5] for row in rows):8.2f} {'':>7} {roofline * 1e3:12.2f} {expected * 1e3:12.2f}")
    print(f"tokens/s: at most {tokens / roofline / 1e3:.0f}K, expected {tokens / expected / 1e3:.0f}K")


if __name__ == "__main__":
    main()
