#!/usr/bin/env python3
"""Compares the ids of our tokenizer, and the text that they are decoded to, with those of the `tokenizers` package on
hostile text (hostile_text.py), document by document, for a tokenizer trained by the package in the form of each family
and for given real ones.

    python check_parity.py ENCODE_IDS [--bytes 5000000] [--families NAME ...] [--files FOLDER] [--llama2c FILE]

ENCODE_IDS is the program of tests/golden/tokenizer/encode_ids.cpp. Each folder in FOLDER (or $SINK_TOKENIZERS) holds a
tokenizer.json, encoder.json + vocab.bpe or vocab.json + merges.txt. A vocabulary with scores is compared with
SentencePiece, where that is installed, and the one of FILE, as tok512.bin, with llama2.c's encode() in plain Python.
Ends with 77 where the package is not installed."""
import argparse
import importlib.util
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
sys.dont_write_bytecode = True
try:
    import tokenizers
except ImportError:
    print("skipped: the Python package `tokenizers` is not installed")
    sys.exit(77)

import families
import hostile_text
import scored


def write_documents(path, documents):
    with open(path, "wb") as file:
        for text in documents:
            encoded = text.encode()
            file.write(struct.pack("<I", len(encoded)) + encoded)


def read_ids(path):
    data = pathlib.Path(path).read_bytes()
    at = 0
    while at < len(data):
        count = struct.unpack_from("<I", data, at)[0]
        yield list(struct.unpack_from(f"<{count}i", data, at + 4))
        at += 4 + 4 * count


def differences(name, theirs, ours, documents):
    wrong = 0
    for text, expected, ids in zip(documents, theirs, ours, strict=True):
        if expected == ids:
            continue
        wrong += 1
        if wrong <= 2:
            at = next((i for i, (a, b) in enumerate(zip(expected, ids)) if a != b), min(len(expected), len(ids)))
            print(f"{name}: differs at id {at}: expected {expected[at:at + 6]}, got {ids[at:at + 6]} in {text[:60]!r}")
    return wrong


def read_documents(path):
    data = pathlib.Path(path).read_bytes()
    at = 0
    while at < len(data):
        size = struct.unpack_from("<I", data, at)[0]
        yield data[at + 4:at + 4 + size].decode("utf-8", errors="replace")
        at += 4 + size


def compare(name, special, theirs, decoded, path, documents, encode_ids, folder):
    """How many documents get other ids than `theirs`, or other texts than `decoded` when they are decoded."""
    write_documents(folder / "documents", documents)
    subprocess.run([encode_ids, str(path), str(folder / "documents"), str(folder / "ids"), "1", special,
                    str(folder / "decoded")], check=True, stdout=subprocess.DEVNULL)
    wrong = differences(name, theirs, read_ids(folder / "ids"), documents)
    for expected, text in zip(decoded, read_documents(folder / "decoded"), strict=True):
        if expected != text:
            wrong += 1
            print(f"{name}: decoded to {text[:200]!r}, expected {expected[:200]!r}") if wrong <= 2 else None
    return wrong


def tell(name, documents, theirs, wrong):
    total = sum(map(len, theirs))
    print(f"{name:24} {len(documents)} documents, {total} ids, text: " + ("equal" if not wrong else f"{wrong} DIFFER"),
          flush=True)
    return wrong


def check(name, tokenizer, path, documents, encode_ids, folder):
    wrong = 0
    for special in ("plain", "special"):
        theirs = [e.ids for e in tokenizer.encode_batch_fast(documents, add_special_tokens=special == "special")]
        decoded = tokenizer.decode_batch(theirs, skip_special_tokens=False)
        wrong += compare(name, special, theirs, decoded, path, documents, encode_ids, folder)
    return tell(name, documents, theirs, wrong)


def without_special(text):
    """Without what we find in text as special tokens, which SentencePiece and llama2.c take for text."""
    for token in ("<unk>", "<s>", "</s>"):
        text = text.replace(token, "")
    return text


def check_scored(documents, encode_ids, folder):
    few = ["".join(c for c in d if ord(c) < 0x600) for d in documents[::4]]  # the others are bytes
    processor, pieces = scored.learnt(few, 6000)
    scored.write_llama2c(folder / "tokenizer.bin", pieces)
    documents = [without_special(d) for d in documents]
    theirs = [processor.encode(d) for d in documents]
    decoded = [processor.decode(ids) for ids in theirs]
    name = "SentencePiece"
    return tell(name, documents, theirs, compare(name, "plain", theirs, decoded, folder / "tokenizer.bin", documents, encode_ids,
                                                 folder))


def check_llama2c(path, documents, encode_ids, folder):
    documents = [without_special(d[i:i + 300]) for d in documents for i in range(0, len(d), 300)][::20]
    tokenizer = scored.Llama2c(path)
    theirs = [tokenizer.encode(d) for d in documents]
    decoded = [tokenizer.decode(ids) for ids in theirs]
    name = pathlib.Path(path).name
    return tell(name, documents, theirs, compare(name, "plain", theirs, decoded, path, documents, encode_ids, folder))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("encode_ids")
    parser.add_argument("--bytes", type=int, default=5_000_000)
    parser.add_argument("--families", nargs="*", default=families.FAMILIES)
    parser.add_argument("--llama2c")
    parser.add_argument("--files", default=os.environ.get("SINK_TOKENIZERS"))
    options = parser.parse_args()
    documents = hostile_text.documents(options.bytes)
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for family in options.families:
            path = folder / "tokenizer.json"
            tokenizer = families.family(family, documents[::4], 4000)
            tokenizer.save(str(path))
            wrong += check(family + "'s form", tokenizer, path, documents, options.encode_ids, folder)
        for real in sorted(pathlib.Path(options.files).iterdir()) if options.files else []:
            made = families.from_folder(real) if real.is_dir() else None
            if made:
                wrong += check(real.name + " itself", made[0], made[1], documents, options.encode_ids, folder)
        if importlib.util.find_spec("sentencepiece"):
            wrong += check_scored(documents, options.encode_ids, folder)
        if options.llama2c:
            wrong += check_llama2c(options.llama2c, documents, options.encode_ids, folder)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
