#!/usr/bin/env python3
"""eval_<ablation> --text in gdb: sink-row says of a row, with the texts of its tokens, what `explain --json` computes of it
apart from the model's attention.

    python3 tests/tools/gdb_explained.py build/debug/eval_baseline
"""
import json
import re
import shutil
import subprocess
import sys

TEXT, HEAD = "a rosé", 1


def main():
    program = sys.argv[1]
    if not shutil.which("gdb"):
        return 77
    explained = json.loads(subprocess.run([program, "explain", "--text", TEXT, "--head", str(HEAD), "--json"], text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout)
    i = explained["query"]
    said = subprocess.run(["gdb", "-q", "-nx", "-batch", "-x", "tools/gdb/sinklab.py", "-ex", f"sink-row 0 {HEAD} {i}",
                           "--args", program, "--text", TEXT], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    print(said)
    rows = re.findall(r"^ +(\d+) +(-?[\d.]+) +(-?[\d.]+)  (.*?)\s+-?[\d.]+ +-?[\d.]+ ", said, re.M)
    found = [(int(j), float(s), float(a), token) for j, s, a, token in rows]
    expected = [(key["j"], key["s"], key["a"], key["token"]) for key in explained["keys"]]
    words = [token["text"] for token in explained["tokens"]]
    assert len(found) == len(expected) == i + 1 == len(words) == 7, (found, words)  # a token a byte
    for (j, s, a, token), (key, expected_s, expected_a, text) in zip(found, expected):
        assert j == key and abs(s - expected_s) < 6e-5 and abs(a - expected_a) < 6e-5, (j, s, a, expected_s, expected_a)
        assert token == text.strip() and text == words[j], (token, text)
    assert f"m {explained['m']:.6g}   S {explained['S']:.6g}   sum of a 1\n" in said, (explained["m"], explained["S"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
