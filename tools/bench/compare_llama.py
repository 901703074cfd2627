#!/usr/bin/env python3
"""Compares prompt processing and generation of a GGUF model with llama.cpp, alternating on the same cores.

usage: compare_llama.py EVAL_PROGRAM LLAMA_BENCH MODEL.gguf [--threads 2] [--rounds 5] [--prompt 512] [--depth 0]

EVAL_PROGRAM is eval_llama or the program of the model's family; LLAMA_BENCH is built from llama.cpp's source, which PyPI's
`llama-cpp-python` brings along (cmake -DLLAMA_BUILD_SERVER=OFF, target llama-bench). Each round runs both, so that a slower
minute affects both. Prints best and median tokens per second of each, and the ratio of the medians. llama.cpp multiplies with weights as they are in blocks of 8-bit inputs; here products are in f32, and in bf16.
"""
import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile


def of_ours(program, model, threads, prompt, written, precision):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as ids:
        ids.write(" ".join(str(100 + 7 * n % 1000) for n in range(prompt)) + "\n")
        ids.flush()
        said = subprocess.run([program, "generate", model, "--tokens", ids.name, "--max-new-tokens", str(written), "--ignore-eos", "--threads",
                               str(threads), "--precision", precision], check=True, capture_output=True, text=True).stderr
    read, seconds, count, later = re.search(r"(\d+) tokens read in ([\d.]+) s, (\d+) generated in ([\d.]+) s", said).groups()
    return int(read) / float(seconds), int(count) / float(later)


def of_llama(bench, model, threads, prompt, written, depth):
    said = subprocess.run([bench, "-m", model, "-t", str(threads), "-p", str(prompt), "-n", str(written), "-r", "1", "-o", "json"],
                          check=True, capture_output=True, text=True).stdout
    rates = {("read" if test["n_prompt"] else "write"): test["avg_ts"] for test in json.loads(said)}
    if depth:
        said = subprocess.run([bench, "-m", model, "-t", str(threads), "-p", "0", "-n", str(written), "-d", str(depth), "-r", "1",
                               "-o", "json"], check=True, capture_output=True, text=True).stdout
        rates["write"] = json.loads(said)[0]["avg_ts"]
    return rates["read"], rates["write"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("bench")
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompt", type=int, default=512, help="tokens that are read at once")
    parser.add_argument("--written", type=int, default=64, help="tokens that are written one by one")
    parser.add_argument("--depth", type=int, default=0, help="tokens behind which they are written")
    given = parser.parse_args()
    rates = {name: ([], []) for name in ("llama.cpp", "f32", "bf16")}
    for n in range(given.rounds):
        for precision in ("f32", "bf16"):
            def ours(prompt):
                return of_ours(given.program, given.model, given.threads, prompt, given.written, precision)

            read, write = ours(given.prompt)[0], ours(max(1, given.depth))[1]
            rates[precision][0].append(read)
            rates[precision][1].append(write)
        for kept, rate in zip(rates["llama.cpp"], of_llama(given.bench, given.model, given.threads, given.prompt,
                                                           given.written, given.depth)):
            kept.append(rate)
        print(f"round {n + 1} of {given.rounds}", file=sys.stderr)
    peer = [statistics.median(kept) for kept in rates["llama.cpp"]]
    print(f"{'tokens a second':16} {'read ' + str(given.prompt):>26} {f'write {given.written} behind {given.depth}':>30}")
    for name, kept in rates.items():
        cells = [f"{statistics.median(k):8.1f} (best {max(k):7.1f}) x {statistics.median(k) / p:4.2f}" for k, p in zip(kept, peer)]
        print(f"{name:16} {cells[0]:>26} {cells[1]:>30}")


if __name__ == "__main__":
    main()
