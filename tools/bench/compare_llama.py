#!/usr/bin/env python3
"""Compares prompts and generation of a GGUF model with llama.cpp (PyPI's llama-cpp-python), in alternation on the same cores.

usage: compare_llama.py EVAL_PROGRAM MODEL.gguf [--threads 1] [--rounds 3] [--prompt 512] [--written 32] [--precision f32,bf16,int8] [--wall]

EVAL_PROGRAM is eval_llama or the program of the model's family. Each round runs llama.cpp and each precision once, so that a slower minute
affects all. Rates are tokens per second of processor time, which other work on the machine changes little; with --wall, of time. The time to
load is left out. Prints the median and the best of each, and the ratio of the medians. llama.cpp multiplies stored weights with inputs in
blocks of 8 bits, as int8 does; the other precisions do not round the inputs to 8 bits. random_gguf.py writes files of the shapes of larger models.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

PEER = r"""
import ctypes, sys, time
import llama_cpp
model, threads, prompt, written, wall = sys.argv[1], *map(int, sys.argv[2:6])
now = time.perf_counter if wall else time.process_time
llm = llama_cpp.Llama(model, n_ctx=prompt + written + 8, n_batch=512, n_threads=threads, n_threads_batch=threads, verbose=False)
ids = [100 + 7 * n % 1000 for n in range(prompt)]
llm.eval(ids[:1]); llm.reset()  # what is done once
begin = now(); llm.eval(ids); read = now() - begin
begin = now()
for n in range(written): llm.eval([100 + n])
print(prompt / read, written / (now() - begin))
"""


def rates_of_llama(given):
    said = subprocess.run([sys.executable, "-c", PEER, given.model, str(given.threads), str(given.prompt), str(given.written), str(int(given.wall))],
                          check=True, capture_output=True, text=True).stdout
    return tuple(map(float, said.split()))


def seconds_of_ours(given, precision, prompt, written):
    """Of reading and of writing. Processor time of a process also has loading, so the differences of processes are taken (rates_of_ours)."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as ids:
        ids.write(" ".join(str(100 + 7 * n % 1000) for n in range(prompt)) + "\n")
        ids.flush()
        before = os.times()
        said = subprocess.run([given.program, "generate", given.model, "--tokens", ids.name, "--max-new-tokens", str(written), "--ignore-eos",
                               "--threads", str(given.threads), "--precision", precision], check=True, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True).stderr
        after = os.times()
    _, read, _, later = re.search(r"(\d+) tokens read in ([\d.]+) s, (\d+) generated in ([\d.]+) s", said).groups()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return (float(read), float(later)) if given.wall else used


def rates_of_ours(given, precision):
    seconds = lambda prompt, written: seconds_of_ours(given, precision, prompt, written)
    if given.wall:
        read, later = seconds(given.prompt, given.written)
        return given.prompt / read, (given.written - 1) / later  # the first is written with the prompt
    least, whole, longer = seconds(1, 1), seconds(given.prompt, 1), seconds(given.prompt, 1 + given.written)
    return (given.prompt - 1) / (whole - least), given.written / (longer - whole)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prompt", type=int, default=512, help="tokens that are read at once")
    parser.add_argument("--written", type=int, default=32, help="tokens that are written one by one, after the prompt")
    parser.add_argument("--precision", default="f32,bf16,int8")
    parser.add_argument("--wall", action="store_true", help="time instead of processor time, on a machine that is idle")
    given = parser.parse_args()
    names = ["llama.cpp", *given.precision.split(",")]
    rates = {name: [] for name in names}
    for n in range(given.rounds):
        for name in names:
            rates[name].append(rates_of_llama(given) if name == "llama.cpp" else rates_of_ours(given, name))
        print(f"round {n + 1} of {given.rounds}: " + ", ".join(f"{name} {rates[name][-1][0]:.2f} and {rates[name][-1][1]:.2f}" for name in names), flush=True)
    print(f"tokens per second of {'time' if given.wall else 'processor time'}, {given.threads} threads")
    for at, what in enumerate((f"prompt of {given.prompt}", f"{given.written} written after it")):
        for name in names:
            found = [rate[at] for rate in rates[name]]
            peer = statistics.median(rate[at] for rate in rates["llama.cpp"])
            print(f"{what:24} {name:10} median {statistics.median(found):8.2f}  best {max(found):8.2f}  {statistics.median(found) / peer:5.2f} of llama.cpp")


if __name__ == "__main__":
    main()
