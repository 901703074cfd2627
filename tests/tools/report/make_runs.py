#!/usr/bin/env python3
"""Writes run folders with made-up but lawful numbers for tests of the report: a study of ablations, learning rates and seeds.

    make_runs.py FOLDER [--runs N] [--context T] [--steps N] [--task TASK] [--prefix P] [--older N] [--hostile]

The first N of --older lack the measurements that came later. The same arguments give the same bytes.
"""

import argparse
import json
import math
import pathlib
import random

LAYERS, HEADS = 3, 4
OPERATIONS = [("baseline", "Softmax", 0), ("op_sigmoid_none", "Sigmoid", -1), ("bias_k", "Softmax extra=LearnedKey+ZeroValue", 1)]
HOSTILE = "</script><img src=x onerror=\"document.title='broken'\">&{{data}}\u202e`${1}`"


def attention_map(T, sink, width):
    """Rows of a causal map that give the first key about `sink`."""
    rows = []
    for i in range(T):
        row = [math.exp(-(i - j) / width) for j in range(i + 1)]
        rest = sum(row)
        share = sink if i else 1
        row = [(1 - share) * a / rest for a in row]
        row[0] += share
        rows.append([float(f"{a:.3g}") for a in row])
    return rows


def write_run(folder, name, task, operation, rate, seed, T, steps, new, maps):
    ablation, attention, extra = operation
    dice = random.Random(f"{ablation} {rate} {seed}")
    sink = {-1: 0.03, 0: 0.2 + 6 * rate, 1: 0.04}[extra] * dice.uniform(0.9, 1.1)
    mass = 1.9 if extra < 0 else 0.75 if extra else 1
    heads = [[min(0.95, sink * (1 + l) * (1 + h) / 4) for h in range(HEADS)] for l in range(LAYERS)]
    raw = [[a * (5 if extra < 0 else 1) for a in row] for row in heads]
    mean = sum(map(sum, heads)) / (LAYERS * HEADS)
    percent = 100 * sum(a > 0.3 for row in heads for a in row) / (LAYERS * HEADS)
    raw_percent = 100 * sum(a > 0.3 for row in raw for a in row) / (LAYERS * HEADS)
    loss = 3.2 - 12 * rate + 0.02 * seed + (0.1 if extra < 0 else 0)
    config = {"ablation": ablation, "policies": f"position=Rotary norm=RmsNorm attention={attention}", "task": task, "seed": seed,
              "steps": steps, "context": T, "eval-sequences": 8, "layers": LAYERS, "heads": HEADS, "learning-rate": rate, "weight-decay": 0.1}
    toml = "# Sinklab run\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in config.items())
    row = lambda first, rest: [first] + [rest + 0.01 * (i % 7) for i in range(1, T)]
    evaluation = {
        "schema": 1, "run": name, "task": task, "ablation": ablation, "policies": config["policies"], "seed": seed, "step": steps,
        "steps": steps, "tokens": steps * T, "parameters": 1000, "commit": "abc", "date": "2026-11-22T00:00:00Z", "precision": "f32",
        "config_toml": toml, "val_loss": loss, "sequences": 8, "context": T, "sink_epsilon": [0.2, 0.3], "extra": "key" if extra > 0 else "none",
        "sink_1": [percent, percent], "sink_1_raw": [raw_percent, raw_percent], "alpha_1": mean, "alpha_1_raw": 5 * mean if extra < 0 else mean,
        "alpha_1_max": 0.9, "row_mass": mass, "first_value_norm_ratio": 0.3, "alpha_k": [mean] + [0.05] * 9, "alpha_k_raw": [mean] + [0.05] * 9,
        "alpha_1_layer_head": heads, "alpha_1_layer_head_raw": raw,
        "hidden_norm_layer_position": [row(9, 1)] + [row(90 * sink * l, 2 + l) for l in range(1, LAYERS + 1)],
        "key_norm_layer_position": [row(1, 2)] * LAYERS, "value_norm_layer_position": [row(0.1, 2)] * LAYERS}
    if extra > 0:
        evaluation |= {"extra_key_mass": 0.25, "alpha_star": 0.25, "alpha_star_raw": 0.25, "sink_star": [40, 40], "sink_star_raw": [40, 40],
                       "alpha_star_layer_head": heads, "alpha_star_layer_head_raw": heads}
    if new:
        evaluation |= {"hidden_kurtosis_layer_position": [row(3 + 40 * l * sink, 3) for l in range(LAYERS + 1)],
                       "hidden_largest_layer_position": [row(2 + 50 * l * sink, 2) for l in range(LAYERS + 1)],
                       "value_share_layer_head": [[a / 3 for a in r] for r in heads],
                       "loss_position": [4 - 1.5 * i / T for i in range(T - 1)] + ["nan"]}
    if maps:
        chosen = {"sequence": 0, "layer": 1, "head": 3}
        stored = lambda l, h: T <= 64 or (l, h) == (1, 3)  # as evaluations keep them: all of short ones, one of long ones
        plus = lambda rows: [[0.2] + r for r in rows] if extra > 0 else rows
        weights = [[[plus(attention_map(T, heads[l][h] * (1 - 0.3 * s), 4 + 6 * h)) if stored(l, h) else None for h in range(HEADS)] for l in range(LAYERS)]
                   for s in range(2 if T <= 64 else 1)]
        evaluation["maps"] = {"layers": LAYERS, "heads": HEADS, "extra_key": extra > 0, "chosen": chosen,
                              "tokens": [[("a", " the", "\n", "<b>")[(i + s) % 4] for i in range(T)] for s in range(len(weights))], "weights": weights}
    lines, every = [], max(1, steps // 20)
    for step in range(1, steps + 1):
        line = {"step": step, "tokens": step * T, "train_loss": loss + 3 * math.exp(-8 * step / steps) + dice.gauss(0, 0.05),
                "grad_norm": math.exp(dice.gauss(-0.5, 0.3))}
        if step % every == 0:
            part = step / steps
            line |= {"val_loss": loss + 3 * math.exp(-8 * part), "sink_1": percent * part, "sink_1_raw": raw_percent * part,
                     "alpha_1": mean * part, "alpha_1_raw": mean * part, "row_mass": mass}
        lines.append(json.dumps(line))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(toml)
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "evaluation.json").write_text(json.dumps(evaluation))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    for name, value in (("runs", 18), ("context", 64), ("steps", 400), ("older", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--task", default="text")
    parser.add_argument("--prefix", default="", help="of the names")
    parser.add_argument("--hostile", action="store_true", help="the first run bears a name that no page should act on")
    a = parser.parse_args()
    for n in range(a.runs):
        operation, seed, rate = OPERATIONS[n % 3], n // 3 % 3, 0.01 * (1 + n // 9)
        name = f"{a.prefix}{operation[0]}-{rate:g}-{seed}"
        write_run(a.folder / name, HOSTILE if a.hostile and n == 0 else name, a.task, operation, rate, seed, a.context, a.steps, n >= a.older,
                  n < 12)


if __name__ == "__main__":
    main()
