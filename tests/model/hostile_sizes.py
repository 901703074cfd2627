#!/usr/bin/env python3
"""Changes numbers in the files of small models: each file is computed or refused, in seconds and with little memory.

  hostile_sizes.py build/release/sinklab --trials 200 --seed 1

Takes the models of tests/golden/open/models in turn, gives one to four values of config.json, or of the metadata of a GGUF file, another
value, and lets `sinklab sink` read three tokens. A failure is an exit code but 0, 2, 3 and 4, more than 60 seconds or more than 3 GB.
"""
import argparse
import json
import pathlib
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

MODELS = pathlib.Path(__file__).parent.parent / "golden/open/models"
ALLOWED = (0, 2, 3, 4)
MOST_BYTES, MOST_SECONDS = 3 << 30, 60
POWERS = [2**k for k in range(25)]
JSON_VALUES = [0, 3, 5, 10**6, 2**31 - 1, 2**31, 2**63 - 1, 2**63, -1, 0.5, 1.0, 1e-300, 1e300, "x", "", None, True, False, [], {}, [1, 2]]
FLOATS = [0.0, 0.5, 1.0, 2.0, -1.0, 1e-30, 1e30, 10000.0, float("nan"), float("inf")]
GGUF_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # of a scalar, by its type
GGUF_FLOAT, GGUF_STRING, GGUF_ARRAY = 6, 8, 9


def places_in(config, path=()):
    for key, value in config.items():
        yield path + (key,)
        if isinstance(value, dict):
            yield from places_in(value, path + (key,))


def change_config(file, rng):
    config = json.loads(file.read_text())
    changes = {}
    for *folders, key in rng.sample(list(places_in(config)), rng.choice([1, 1, 2, 3, 4])):
        place = config
        for folder in folders:
            place = place.get(folder) if isinstance(place, dict) else None  # None: another change replaced it
        if isinstance(place, dict):
            changes[key] = place[key] = rng.choice(rng.choice([JSON_VALUES, POWERS]))
    file.write_text(json.dumps(config))
    return changes


def scalars_in(data):
    """(key, type, offset) of each number in the metadata."""
    def end_of(kind, at):
        if kind in GGUF_BYTES:
            return at + GGUF_BYTES[kind]
        if kind == GGUF_STRING:
            return at + 8 + struct.unpack_from("<Q", data, at)[0]
        element, count = struct.unpack_from("<IQ", data, at)
        at += 12
        for _ in range(count):
            at = end_of(element, at)
        return at

    found, at = [], 24
    for _ in range(struct.unpack_from("<Q", data, 16)[0]):
        begin = at + 8
        at = end_of(GGUF_STRING, at)
        key, kind = data[begin:at].decode(), struct.unpack_from("<I", data, at)[0]
        at += 4
        if kind in GGUF_BYTES:
            found.append((key, kind, at))
        at = end_of(kind, at)
    return found


def change_gguf(file, rng):
    data = bytearray(file.read_bytes())
    changes = {}
    for key, kind, at in rng.sample(scalars_in(data), rng.choice([1, 1, 2, 3])):
        size = GGUF_BYTES[kind]
        changes[key] = rng.choice(FLOATS) if kind == GGUF_FLOAT else rng.choice([0, 3, 2**(8 * size) - 1, *POWERS]) % 2**(8 * size)
        data[at:at + size] = struct.pack("<f", changes[key]) if kind == GGUF_FLOAT else changes[key].to_bytes(size, "little")
    file.write_bytes(data)
    return changes


def failure_of(command):
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=MOST_SECONDS, preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return f"more than {MOST_SECONDS} s"
    return "" if done.returncode in ALLOWED else f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sinklab", help="the program")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    models = [model for model in sorted(MODELS.iterdir()) if model.suffix == ".gguf" or (model / "config.json").exists()]
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "tokens").write_text("1 2 3\n")
        for trial in range(options.trials):
            model, copy = models[trial % len(models)], folder / str(trial)
            if model.is_dir():
                shutil.copytree(model, copy, ignore=shutil.ignore_patterns("golden*"))
                changes = change_config(copy / "config.json", rng)
            else:
                copy = copy.with_suffix(".gguf")
                shutil.copy(model, copy)
                changes = change_gguf(copy, rng)
            if failure := failure_of([options.sinklab, "sink", str(copy), "--tokens", str(folder / "tokens"), "--map", "none"]):
                failures += 1
                print(f"trial {trial}, {model.name} with {changes}: {failure}", flush=True)
            shutil.rmtree(copy) if copy.is_dir() else copy.unlink()
    print(f"hostile_sizes: {options.trials} files of {len(models)} models, {failures} failures")
    return 1 if failures or not models else 0


if __name__ == "__main__":
    sys.exit(main())
