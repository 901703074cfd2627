#!/usr/bin/env python3
"""Somebody else's weights and somebody else's mathematics against ours.

Writes checkpoints of random weights with h5py alone (by the recipe in engine/io/CHECKPOINT.md), runs `eval_* logits` on them
in double, and compares logits, losses, attention maps, hidden states, queries, keys and values with a forward pass
written here from the formulas. Shares no code with Sinklab.

Usage: outside_eyes.py BUILD_FOLDER     exit 77: h5py, numpy or torch is missing
"""
import math
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TOLERANCE = 1e-9
CHECKPOINT_MD = pathlib.Path(__file__).parents[2] / "engine/io/CHECKPOINT.md"
L, H, C, F, V, CONTEXT = 2, 4, 48, 40, 29, 17
D = C // H
torch.set_default_dtype(torch.float64)


def recipe():
    """write_checkpoint() as the documentation has it."""
    names = {}
    exec(re.search(r"```python\n(.*?)```", CHECKPOINT_MD.read_text(), re.S).group(1), names)
    return names["write_checkpoint"]


def random_parameters(G, extra_key, generator):
    def normal(*shape, scale):
        return scale * torch.randn(*shape, generator=generator)

    parameters = {"embedding.token.weight": normal(V, C, scale=1), "unembedding.weight": normal(V, C, scale=0.3),
                  "final_norm.gain": 1 + normal(C, scale=0.2)}
    for l in range(L):
        attention, feed_forward = f"blocks.{l}.attention.", f"blocks.{l}.feed_forward."
        parameters[attention + "norm.gain"] = 1 + normal(C, scale=0.2)
        parameters[attention + "qkv.weight"] = normal((H + 2 * G) * D, C, scale=0.3)
        parameters[attention + "out.weight"] = normal(C, H * D, scale=0.2)
        parameters[feed_forward + "norm.gain"] = 1 + normal(C, scale=0.2)
        parameters[feed_forward + "gate_up.weight"] = normal(2 * F, C, scale=0.2)
        parameters[feed_forward + "down.weight"] = normal(C, F, scale=0.2)
        if extra_key:
            parameters[attention + "extra.key"] = normal(H, D, scale=1)
            parameters[attention + "extra.value"] = normal(H, D, scale=1)
    return parameters


def rms_norm(x, gain):
    return gain * x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5)


def rotary(x):
    positions = torch.arange(x.shape[-2])[:, None]
    angle = positions * 10000.0 ** (-2 * torch.arange(D // 2) / D)
    a, b = x[..., :D // 2], x[..., D // 2:]
    return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)


def forward(p, tokens, G, window, prefix, extra_key):
    """Every number the logits file has, by its name there."""
    N, T = tokens.shape
    i, j = torch.arange(T)[:, None], torch.arange(T)[None, :]
    sees = j <= i
    if window:
        sees = sees & (j > i - window)
    sees = sees | (j < prefix)
    out = {}
    x = p["embedding.token.weight"][tokens]
    out["hidden/0"] = x
    for l in range(L):
        attention, feed_forward = f"blocks.{l}.attention.", f"blocks.{l}.feed_forward."
        h = rms_norm(x, p[attention + "norm.gain"])
        q, k, v = (h @ p[attention + "qkv.weight"].T).split([H * D, G * D, G * D], -1)
        q, k, v = (y.reshape(N, T, -1, D).transpose(1, 2) for y in (q, k, v))
        q, k = rotary(q), rotary(k)
        block = f"blocks/{l}/"
        out[block + "query"], out[block + "key"], out[block + "value"] = q, k, v
        k, v = (y.repeat_interleave(H // G, 1) for y in (k, v))
        scores = (q @ k.transpose(-1, -2) / math.sqrt(D)).masked_fill(~sees, -math.inf)
        if extra_key:
            own = (q * p[attention + "extra.key"][None, :, None]).sum(-1, keepdim=True) / math.sqrt(D)
            scores = torch.cat([own, scores], -1)
            v = torch.cat([p[attention + "extra.value"][None, :, None].expand(N, H, 1, D), v], -2)
        weights = scores.softmax(-1)
        out[block + "attention"] = weights
        o = (weights @ v).transpose(1, 2).reshape(N, T, H * D)
        x = x + o @ p[attention + "out.weight"].T
        gate, up = (rms_norm(x, p[feed_forward + "norm.gain"]) @ p[feed_forward + "gate_up.weight"].T).split(F, -1)
        x = x + (torch.nn.functional.silu(gate) * up) @ p[feed_forward + "down.weight"].T
        out[f"hidden/{l + 1}"] = x
    logits = rms_norm(x, p["final_norm.gain"]) @ p["unembedding.weight"].T
    out["logits"] = logits
    token_loss = torch.nn.functional.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none")
    # The first prefix - 1 targets are seen by the tokens that predict them.
    out["token_loss"], out["loss"] = token_loss, token_loss[:, max(0, prefix - 1):].mean()[None]
    return out


def run(*command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{command[0]} left with {result.returncode}: {result.stderr}")
    return result.stdout


def check(build, folder, ablation, as_text, G=H, window=0, prefix=0, extra_key=False):
    generator = torch.Generator().manual_seed(20)
    program = build / f"eval_{ablation}"
    policies = re.search(r"^policies: (.*)$", run(program, "--version"), re.M).group(1)
    parameters = random_parameters(G, extra_key, generator)
    checkpoint, tokens_file, numbers = folder / "mine.h5", folder / "tokens", folder / "numbers.h5"
    recipe()(checkpoint, {"ablation": ablation, "policies": policies, "layers": L, "heads": H, "width": C,
                          "feed_forward": F, "vocabulary": V, "context": CONTEXT, "kv_heads": G, "window": window,
                          "prefix": prefix}, {name: array.numpy() for name, array in parameters.items()})
    tokens = torch.randint(V, (3, 15), generator=generator)
    if as_text:
        tokens_file.write_text("\n".join(", ".join(map(str, row)) for row in tokens.tolist()) + "\n")
    else:
        with h5py.File(tokens_file, "w") as file:
            file["tokens"] = tokens.numpy()
    run(program, "logits", "--checkpoint", checkpoint, "--tokens", tokens_file, "--out", numbers, "--precision", "f64",
        "--batch", 2)

    expected, worst = forward(parameters, tokens, G, window, prefix, extra_key), 0
    with h5py.File(numbers) as file:
        found = {}
        file.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
        assert file.attrs["format"] == b"sinklab-logits", file.attrs["format"]
        assert (b"column 0" in file.attrs["extra_key"]) == extra_key
    assert (found.pop("tokens") == tokens.numpy()).all()
    assert found.keys() == expected.keys(), found.keys() ^ expected.keys()
    for name, theirs in expected.items():
        assert found[name].shape == tuple(theirs.shape), (name, found[name].shape, theirs.shape)
        difference = numpy.abs(found[name] - theirs.numpy()).max() / numpy.abs(theirs.numpy()).max()
        worst = max(worst, difference)
        if not difference <= TOLERANCE:
            sys.exit(f"{ablation}: {name} differs by {difference:.3g} of its largest number, at most {TOLERANCE} allowed")
    print(f"{ablation}: {len(expected)} datasets agree to {worst:.2g}")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check(build, folder, "baseline", as_text=True, G=2)
        check(build, folder, "bias_kv", as_text=False, window=6, prefix=2, extra_key=True)


main()
