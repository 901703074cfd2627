#!/usr/bin/env python3
"""Compares one process with two threads with two ranks of one thread each, alternating on the same two cores, and the bytes
that ranks send and store with the formulas of train/distributed/rank_plan.h.

usage: compare_ranks.py TRAIN_PROGRAM [--rounds 5] [--ranks 2] [--width 384] [--layers 6]

Both train the same model on the same micro-batches; their results must be identical. Prints the median over the rounds of
the ratio of tokens per second, and its range. Needs a machine that is otherwise idle.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile


def losses(folder):
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return hashlib.sha256(json.dumps([(x["train_loss"], x["grad_norm"]) for x in lines]).encode()).hexdigest(), lines


def train(program, folder, flags):
    said = subprocess.run([program, "--run", str(folder), *flags], check=True, capture_output=True, text=True).stderr
    bits, lines = losses(folder)
    seconds = [b["seconds"] - a["seconds"] for a, b in zip(lines[1:-2], lines[2:-1])]  # not the first, nor one measured in
    figures = re.search(r"sent ([\d.]+) MiB a step; communication took ([\d.e-]+) s, for which it waited ([\d.e-]+) s; ([\d.]+) MiB", said)
    return bits, statistics.median(seconds), figures


def bucket_sizes(layers, width, feed_forward, vocabulary, ranks):
    """The gradient bucket sizes of llama-like models (embedding, each block, the rest), padded for the ranks."""
    unit = 4096 * ranks
    block = 4 * width * width + 3 * width * feed_forward + 2 * width
    return [-(-n // unit) * unit for n in [vocabulary * width] + [block] * layers + [width + vocabulary * width]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--width", type=int, default=384)
    given = parser.parse_args()
    feed_forward = given.width * 8 // 3 // 64 * 64
    N, steps = given.ranks, 10
    flags = ["--task", "bigram-backcopy", "--layers", str(given.layers), "--heads", str(given.width // 64), "--d-model", str(given.width),
             "--feed-forward", str(feed_forward), "--context", "256", "--batch", "8", "--accumulate", str(N), "--steps", str(steps),
             "--warmup", "0", "--eval-every", "100000", "--eval-sequences", "1", "--checkpoint-every", "100000"]
    cores = len(os.sched_getaffinity(0))
    of_ranks = ["--nproc", str(N), "--threads", str(max(1, cores // N))]
    ratios, waits, table = [], [], {}
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        for n in range(given.rounds):
            one_bits, one, _ = train(given.program, place / f"one-{n}", flags + ["--threads", str(cores)])
            bits, ranks, figures = train(given.program, place / f"ranks-{n}", flags + of_ranks)
            assert bits == one_bits, "the ranks' losses and norms are not those of one process"
            ratios.append(one / ranks)
            waits.append(float(figures[3]) / float(figures[2]))
            print(f"round {n + 1}: one process {one:.3f} s a step, {N} ranks {ranks:.3f} s, ratio {one / ranks:.3f}", flush=True)
        for zero in (0, 1):
            bits, seconds, figures = train(given.program, place / f"zero-{zero}", flags + of_ranks + ["--zero", str(zero)])
            assert bits == one_bits, f"--zero {zero} gives other bits"
            table[zero] = (seconds, float(figures[1]), float(figures[4]))
        vocabulary = int(re.search(r"embedding.token.weight\s+\((\d+),", subprocess.run(
            [given.program, *flags, "--dry-run"], check=True, capture_output=True, text=True).stdout)[1])
    print(f"\n{N} ranks of {max(1, cores // N)} thread(s) against one process of {cores}: {statistics.median(ratios):.3f} of its rate "
          f"({min(ratios):.3f} to {max(ratios):.3f} in {given.rounds} rounds); {100 * (1 - statistics.median(waits)):.0f} % of the "
          "communication was hidden behind computing\n")
    parts = bucket_sizes(given.layers, given.width, feed_forward, vocabulary, N)
    P, mib = sum(parts), 2.0 ** 20
    sent = 2 * (N - 1) / N * 4 * P
    kept = {0: 16 * P, 1: 8 * P + 8 * P / N}
    print("| --zero | s a step | MiB sent a step | by formula | MiB kept | by formula |\n|---|---|---|---|---|---|")
    for zero, (seconds, bytes_sent, in_use) in table.items():
        print(f"| {zero} | {seconds:.3f} | {bytes_sent:.1f} | {sent / mib:.1f} | {in_use:.1f} | {kept[zero] / mib:.1f} |")


if __name__ == "__main__":
    main()
