#!/usr/bin/env python3
"""Compares the speed of encoding with the `tokenizers` package: one thread each, alternating on the same documents, best of
three.

    python tools/bench/compare_tokenizer.py build/release/tests/encode_ids [--text FILE] [--files FOLDER] [--megabytes 5]
        [--families NAME ...]

ENCODE_IDS starts each time with an empty cache; the package keeps its cache. Without --text the mixed text
is Python's standard library. --files as in tests/golden/tokenizer/check_parity.py; without it the tokenizers are
trained in the form of each family. Prints megabytes per second and the ratio; exits with 1 if a ratio is below 1."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/golden/tokenizer"))
sys.dont_write_bytecode = True
from check_parity import write_documents  # noqa: E402
import families  # noqa: E402
import hostile_text  # noqa: E402

TIMES = 3


def mixed_documents(path, size):
    if not path:
        return list(hostile_text.standard_library())
    text = pathlib.Path(path).read_bytes()[:size].decode("utf-8", errors="ignore")
    return [d for d in text.split("\n<|endoftext|>\n") if d]


def seconds_of_package(tokenizer, documents):
    best = float("inf")
    for encode in (lambda: tokenizer.encode_batch_fast(documents, add_special_tokens=False),
                   lambda: [tokenizer.encode(d, add_special_tokens=False) for d in documents]):
        start = time.process_time()
        encode()
        best = min(best, time.process_time() - start)
    return best


def seconds_of_ours(encode_ids, path, documents, folder):
    write_documents(folder / "documents", documents)
    run = subprocess.run([encode_ids, str(path), str(folder / "documents"), str(folder / "ids"), "1"], check=True,
                         capture_output=True, text=True)
    return float(run.stdout)


def compare(name, tokenizer, path, texts, encode_ids, folder):
    slower = False
    for kind, documents in texts.items():
        size = sum(len(d.encode()) for d in documents) / 1e6
        times = [(seconds_of_package(tokenizer, documents), seconds_of_ours(encode_ids, path, documents, folder))
                 for _ in range(TIMES)]
        theirs, ours = (min(t) for t in zip(*times))
        print(f"{name:16} {kind:8} {size:5.1f} MB: package {size / theirs:6.2f} MB/s, ours {size / ours:6.2f} MB/s, "
              f"ratio {theirs / ours:.2f}", flush=True)
        slower |= ours > theirs
    return slower


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("encode_ids")
    parser.add_argument("--text")
    parser.add_argument("--files")
    parser.add_argument("--megabytes", type=float, default=5)
    parser.add_argument("--families", nargs="*", default=families.FAMILIES)
    options = parser.parse_args()
    size = int(options.megabytes * 1e6)
    texts = {"mixed": mixed_documents(options.text, size), "hostile": hostile_text.documents(size)}
    slower = False
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if options.files:
            for real in sorted(pathlib.Path(options.files).iterdir()):
                made = families.from_folder(real) if real.is_dir() else None
                if made:
                    slower |= compare(real.name, *made, texts, options.encode_ids, folder)
        else:
            for family in options.families:
                tokenizer = families.family(family, texts["mixed"] + texts["hostile"][::4], 30000)
                tokenizer.save(str(folder / "tokenizer.json"))
                slower |= compare(family, tokenizer, folder / "tokenizer.json", texts, options.encode_ids, folder)
    sys.exit(slower)


if __name__ == "__main__":
    main()
