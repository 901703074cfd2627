#!/usr/bin/env python3
"""Whether two builds train and measure with the same bits: for changes that are to move code and no number.

    python3 tests/same_bits.py record build/release before.json       every ablation, 30 steps, one thread
    python3 tests/same_bits.py compare before.json after.json         names each run and value that differs

Needs h5py and numpy. A run is recorded as its training losses and gradient norms, all numbers of its evaluation.json
and the SHA-256 of each tensor of its checkpoint (weights and both moments). Runs: every ablation at f32 and bf16; and
longer sequences with a window, a prefix, grouped heads and two threads for the ablations whose policies differ most.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SMALL = ["--layers", "2", "--heads", "2", "--width", "64", "--feed-forward", "96", "--context", "64", "--batch", "8"]
LONG = ["--layers", "1", "--heads", "4", "--width", "96", "--feed-forward", "64", "--context", "200", "--batch", "3",
        "--kv-heads", "2", "--accumulate", "2"]
SHAPES = {
    "window": LONG + ["--window", "70"],
    "prefix": LONG + ["--prefix", "20"],
    "threads": LONG + ["--threads", "2"],
    "formula": SMALL + ["--init", "formula", "--schedule", "cosine", "--clip", "0.3"],
}
VARIED = ["baseline", "op_sigmoid_none", "op_relu", "pnorm_exp_3", "op_softpick", "op_clipped", "op_sink_logit", "scale_2",
          "kern_elu_norm", "kern_mlp_norm", "bias_kv", "bias_k", "bias_v", "bias_sinktoken", "pos_alibi", "pos_relative",
          "pos_t5", "pos_learnable", "norm_post", "norm_layer", "qk_norm", "gate_element", "head_add"]
NOT_NUMBERS = {"commit", "date", "config_toml", "run", "seconds", "tokens_per_second", "policies"}


def train(build, name, flags, folder):
    """What one run leaves, or the last line of what it said where it did not end well."""
    program = build / f"train_{name}"
    run = folder / "run"
    command = [program, "--task", "bigram-backcopy", "--run", run, "--steps", "30", "--warmup", "10", "--eval-every",
               "30", "--eval-sequences", "24", "--seed", "3", *flags]
    if "--threads" not in flags:
        command += ["--threads", "1"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        return {"exit": done.returncode, "stderr": done.stderr.strip().splitlines()[-1]}
    import h5py
    import numpy
    tensors = {}
    data = (run / "checkpoint.h5").read_bytes()
    (folder / "checkpoint.h5").write_bytes(data)
    with h5py.File(folder / "checkpoint.h5") as file:
        def add(path, item):
            if isinstance(item, h5py.Dataset):
                tensors[path] = hashlib.sha256(numpy.ascontiguousarray(item[()]).tobytes()).hexdigest()
        file.visititems(add)
    steps = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    keep = lambda record: {key: value for key, value in record.items() if key not in NOT_NUMBERS}
    return {"steps": [keep(step) for step in steps], "tensors": tensors,
            "evaluation": keep(json.loads((run / "evaluation.json").read_text()))}


def record(build, out, jobs, only):
    names = sorted(path.name.removeprefix("train_") for path in build.glob("train_*") if os.access(path, os.X_OK))
    tasks = {}
    for name in names:
        small = SMALL + (["--heads", "1"] if name == "bias_k_d64" else [])
        for precision in ("f32", "bf16"):
            tasks[f"{name} {precision}"] = (name, small + ["--precision", precision])
            for shape, flags in SHAPES.items() if name in VARIED else ():
                tasks[f"{name} {precision} {shape}"] = (name, flags + ["--precision", precision])
    tasks = {key: task for key, task in tasks.items() if all(word in key.split() for word in only)}
    if not tasks:
        sys.exit(f"same_bits: error: no train_* program of {build} fits {' '.join(only)}")
    results = {}

    def work(key):
        with tempfile.TemporaryDirectory() as folder:
            return key, train(build, *tasks[key], pathlib.Path(folder))

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done, (key, result) in enumerate(pool.map(work, tasks), 1):
            results[key] = result
            print(f"\r{done}/{len(tasks)} {key:50}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    out.write_text(json.dumps(results, indent=0, sort_keys=True))


def differences(before, after, path=""):
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            where = f"{path}/{key}"
            if key not in before or key not in after:
                yield where, "missing" if key not in before else "there", "missing" if key not in after else "there"
            else:
                yield from differences(before[key], after[key], where)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for i, (a, b) in enumerate(zip(before, after)):
            yield from differences(a, b, f"{path}/{i}")
    elif before != after and before == before:
        yield path, before, after


def compare(before, after):
    before, after = json.loads(before.read_text()), json.loads(after.read_text())
    common = sorted(before.keys() & after.keys())
    different = 0
    for key in common:
        found = list(differences(before[key], after[key]))
        different += bool(found)
        if found:
            where, a, b = found[0]
            print(f"{key}: {len(found)} values differ, first {where}: {a} before, {b} after")
    for key in sorted(before.keys() ^ after.keys()):
        print(f"{key}: only in {'the first' if key in before else 'the second'}")
    print(f"{len(common)} runs compared, {len(common) - different} with the same bits, {different} different")
    return 1 if different or not common else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("build", type=pathlib.Path)
    recording.add_argument("out", type=pathlib.Path)
    recording.add_argument("--jobs", type=int, default=os.cpu_count())
    recording.add_argument("--only", nargs="*", default=[], help="words of the runs' names, e.g. baseline f32")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=pathlib.Path)
    comparing.add_argument("after", type=pathlib.Path)
    args = parser.parse_args()
    if args.command == "record":
        record(args.build, args.out, args.jobs, args.only)
        return 0
    return compare(args.before, args.after)


if __name__ == "__main__":
    sys.exit(main())
