#!/usr/bin/env python3
"""Prints what each kernel takes of the time of all, from ncu's times of every launch.

  ncu --metrics gpu__time_duration.sum --csv --page raw --log-file step.csv bench_step --graph off ...
  step_times.py step.csv [ROWS]
"""
import collections
import csv
import re
import sys


def short(name):
    """attention_tiles_dq_kernel<Softmax, 96>, without types of arguments; the lambda of elementwise kernels is kept."""
    name = re.sub(r"^void |\(anonymous namespace\)::|sink::|cuda::", "", name)
    depth, end = 0, len(name)
    for n, c in enumerate(name):  # up to the list of arguments
        depth += (c == "<") - (c == ">")
        if c == "(" and depth == 0:
            end = n
            break
    return name[:end][:110]


def main():
    with open(sys.argv[1], errors="replace") as file:
        rows = list(csv.reader(line for line in file if line.startswith('"')))
    header, units = rows[0], rows[1]
    name, time = header.index("Kernel Name"), header.index("gpu__time_duration.sum")
    milliseconds = {"ns": 1e-6, "us": 1e-3, "usecond": 1e-3, "nsecond": 1e-6, "ms": 1, "msecond": 1}[units[time]]
    total, count = collections.Counter(), collections.Counter()
    for row in rows[2:]:
        total[short(row[name])] += float(row[time].replace(",", "")) * milliseconds
        count[short(row[name])] += 1
    every = sum(total.values())
    print(f"{sum(count.values())} launches, {every:.1f} ms\n{'ms':>9} {'share':>6} {'launches':>8}  kernel")
    for kernel, ms in total.most_common(int(sys.argv[2]) if len(sys.argv) > 2 else 30):
        print(f"{ms:9.2f} {100 * ms / every:5.1f}% {count[kernel]:8}  {kernel}")


if __name__ == "__main__":
    main()
