#!/usr/bin/env python3
"""Writes rounded_cache.json: keys and values of a cache rounded to few bits by NumPy in float64, for tests/model/cache_rounding_test.cpp.

KIVI (Liu et al. 2024, arXiv 2402.02750, equations 1 and 2): Q(X) = round((X - z) / s), X' = s Q(X) + z, z = min X, s = (max X - min X) / (2^B - 1)."""
import itertools
import json
import pathlib

import numpy as np

T, D, GROUP = 34, 36, 32  # a whole group of tokens and two more; channels 32 ... 35 are a shorter group
KEPT = {"none": [], "some": [0, 1, 20]}


def inputs():
    """Whole multiples of 1/128, so that C++ has the same; the first token and channel 3 are outliers."""
    n = np.arange(T * D).reshape(T, D)
    k, v = (n * 7919 % 1009 - 504) / 128, (n * 6007 % 997 - 498) / 128
    k[0] *= 8
    k[:, 3] += 16
    v[0] /= 8
    return k, v


def rounded(x, bits, axis):
    z = x.min(axis=axis, keepdims=True)
    s = (x.max(axis=axis, keepdims=True) - z) / (2**bits - 1)
    return np.rint((x - z) / np.where(s == 0, 1, s)) * s + z


def by_token(x, bits):
    return np.concatenate([rounded(x[:, c : c + GROUP], bits, 1) for c in range(0, D, GROUP)], axis=1)


def cached(bits, scheme, kept):
    k, v = inputs()
    done = T // GROUP * GROUP if scheme == "kivi" else T
    rows = np.setdiff1d(np.arange(done), kept)
    v[rows] = by_token(v[rows], bits)
    if scheme == "token":
        k[rows] = by_token(k[rows], bits)
    else:
        for first in range(0, done, GROUP):
            group = rows[(rows >= first) & (rows < first + GROUP)]
            k[group] = rounded(k[group], bits, 0)
    return k, v


cases = []
for bits, scheme, kept in itertools.product((2, 3, 4, 8), ("kivi", "token"), KEPT):
    k, v = cached(bits, scheme, KEPT[kept])
    weights = np.arange(1, D + 1)
    cases.append({"bits": bits, "scheme": scheme, "kept": KEPT[kept], "k": list(k @ weights), "v": list(v @ weights)})
path = pathlib.Path(__file__).with_name("rounded_cache.json")
path.write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")
