#!/usr/bin/env python3
"""Writes the golden values of the small model, <ablation>.h5, from an independent PyTorch float64 implementation.

Written from the formulas, not from the C++: einsum over per-head weight slices, rotary as a complex product, attention
as explicit T x T matrices, AdamW and clipping from PyTorch itself. Initial parameters are exact in bfloat16, so that one
file serves every precision. Everything is stored in float64 but the parameters after training, in float32.

  make_golden.py                 writes the files beside this script
  make_golden.py --check         recomputes them in memory and compares (exit 1 on a difference; 77 without PyTorch)
  make_golden.py --verify        compares autograd's gradients with central differences

Needs: torch, numpy, h5py. Axes: B batch, L layers, H heads, T query and key position, D head width, V vocabulary,
K = 10 first positions.
"""
import argparse
import math
import pathlib
import sys
import zlib

try:
    import h5py
    import numpy as np
    import torch
except ImportError as error:
    print(f"make_golden.py: {error}; python3 -m venv venv && venv/bin/pip install torch numpy h5py", file=sys.stderr)
    sys.exit(77)  # CTest's SKIP_RETURN_CODE

SIZES = dict(layers=2, heads=3, head_width=4, width=12, feed_forward=10, vocabulary=29, context=11, batch=3)
NORM_EPS = 1e-5
ROTARY_BASE = 10000.0
PROXY_EPS = 1e-8
ALPHA_POSITIONS = 10
SINK_EPSILON = (0.2, 0.3, 0.4)
SEED = 1
TRAINING = dict(training_steps=10, learning_rate=1e-2, beta1=0.9, beta2=0.95, adam_eps=1e-8, weight_decay=0.1, clip=1.0)

# ablation -> (learned positions instead of rotary, weight of a score)
ABLATIONS = {
    "baseline": (False, "softmax"),
    "sigmoid": (False, "sigmoid"),
    "relu": (False, "relu"),
    "learned": (True, "softmax"),
    "learned_sigmoid": (True, "sigmoid"),
    "learned_relu": (True, "relu"),
}


def parameter_shapes(learned):
    s = SIZES
    c, f, hd = s["width"], s["feed_forward"], s["heads"] * s["head_width"]
    shapes = {"embedding.token.weight": (s["vocabulary"], c)}
    if learned:
        shapes["embedding.position.weight"] = (s["context"], c)
    for layer in range(s["layers"]):
        block = f"blocks.{layer}."
        shapes[block + "attention.norm.gain"] = (c,)
        shapes[block + "attention.qkv.weight"] = (3 * hd, c)
        shapes[block + "attention.out.weight"] = (c, hd)
        shapes[block + "feed_forward.norm.gain"] = (c,)
        shapes[block + "feed_forward.gate_up.weight"] = (2 * f, c)
        shapes[block + "feed_forward.down.weight"] = (c, f)
    shapes["final_norm.gain"] = (c,)
    shapes["unembedding.weight"] = (s["vocabulary"], c)
    return shapes


def random_state(name):
    # The legacy generator's numbers are frozen by NumPy's compatibility policy.
    return np.random.RandomState((SEED + zlib.crc32(name.encode())) % 2**32)


def make_parameters(learned):
    parameters = {}
    for name, shape in parameter_shapes(learned).items():
        draws = torch.from_numpy(random_state(name).standard_normal(shape))
        if name.endswith("gain"):
            values = 1 + 0.2 * draws
        elif name.startswith("embedding"):
            values = 0.7 * draws
        else:
            values = draws * 1.3 / math.sqrt(shape[1])
        parameters[name] = values.bfloat16().double().requires_grad_(True)
    return parameters


def make_batch():
    shape = (SIZES["batch"], SIZES["context"])
    tokens = random_state("tokens").randint(0, SIZES["vocabulary"], shape)
    targets = np.concatenate([tokens[:, 1:], random_state("last").randint(0, SIZES["vocabulary"], (shape[0], 1))], 1)
    targets[random_state("ignored").uniform(size=shape) < 0.15] = -1
    targets[0, 0] = -1
    return torch.from_numpy(tokens), torch.from_numpy(targets)


def rms_norm(x, gain):
    return gain * x / torch.sqrt(x.square().mean(dim=-1, keepdim=True) + NORM_EPS)


def rotate(x_BHTD):
    """Coordinate i and coordinate i + D/2 as one complex number, turned by position * base^(-2i/D)."""
    positions, half = x_BHTD.shape[2], x_BHTD.shape[3] // 2
    z = torch.complex(x_BHTD[..., :half], x_BHTD[..., half:])
    frequency = ROTARY_BASE ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = torch.outer(torch.arange(positions, dtype=torch.float64), frequency)
    z = z * torch.exp(1j * angle)
    return torch.cat([z.real, z.imag], dim=-1)


def attention_weights(q_BHTD, k_BHTD, kind):
    positions, width = q_BHTD.shape[2:]
    scores = torch.einsum("bhtd,bhsd->bhts", q_BHTD, k_BHTD) / math.sqrt(width)
    visible = torch.arange(positions)[:, None] >= torch.arange(positions)[None, :]
    if kind == "softmax":
        scores = scores.masked_fill(~visible, -math.inf)
        exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
        return exponentials / exponentials.sum(dim=-1, keepdim=True)
    weights = 1 / (1 + torch.exp(-scores)) if kind == "sigmoid" else scores.clamp(min=0)
    return weights * visible


def forward(parameters, tokens, learned, kind):
    """Logits [B, T, V] and what the measurements need, each a list over layers."""
    heads, head_width, width = SIZES["heads"], SIZES["head_width"], SIZES["width"]
    seen = {"weights": [], "keys": [], "values": [], "hidden": []}
    x = parameters["embedding.token.weight"][tokens]
    if learned:
        x = x + parameters["embedding.position.weight"][: tokens.shape[1]]
    seen["hidden"].append(x)
    for layer in range(SIZES["layers"]):
        block = f"blocks.{layer}."
        h = rms_norm(x, parameters[block + "attention.norm.gain"])
        qkv = parameters[block + "attention.qkv.weight"].reshape(3, heads, head_width, width)
        q, k, v = (torch.einsum("btc,hdc->bhtd", h, qkv[part]) for part in range(3))
        if not learned:
            q, k = rotate(q), rotate(k)
        weights = attention_weights(q, k, kind)
        out = parameters[block + "attention.out.weight"].reshape(width, heads, head_width)
        x = x + torch.einsum("bhts,bhsd,chd->btc", weights, v, out)
        h = rms_norm(x, parameters[block + "feed_forward.norm.gain"])
        gate, up = torch.einsum("btc,fc->btf", h, parameters[block + "feed_forward.gate_up.weight"]).chunk(2, dim=-1)
        activated = gate / (1 + torch.exp(-gate)) * up
        x = x + torch.einsum("btf,cf->btc", activated, parameters[block + "feed_forward.down.weight"])
        for name, value in (("weights", weights), ("keys", k), ("values", v), ("hidden", x)):
            seen[name].append(value)
    logits = torch.einsum("btc,vc->btv", rms_norm(x, parameters["final_norm.gain"]), parameters["unembedding.weight"])
    return logits, seen


def loss_of(logits, targets):
    counted = targets >= 0
    chosen = logits[counted].gather(1, targets[counted][:, None])[:, 0]
    return (torch.logsumexp(logits[counted], dim=-1) - chosen).mean()


def alpha_of(weights_BLHTT):
    """alpha_k = sum over rows i >= k of A[i, k], over the T - k + 1 rows that see key k (k from 1)."""
    length = weights_BLHTT.shape[-1]
    rows = torch.arange(length, 0, -1, dtype=torch.float64)
    return (weights_BLHTT.sum(dim=-2) / rows)[..., :ALPHA_POSITIONS]


def sinks_of(alpha_BLHK):
    """Percent of (layer, head) whose alpha_k exceeds epsilon, per sequence, then averaged over sequences: [eps, K]."""
    for epsilon in SINK_EPSILON:
        assert (alpha_BLHK - epsilon).abs().min() > 1e-5, "an alpha lies on a threshold: take another seed"
    return torch.stack([100 * (alpha_BLHK > epsilon).double().mean(dim=(1, 2)).mean(dim=0) for epsilon in SINK_EPSILON])


def measurements(seen):
    weights = torch.stack(seen["weights"], dim=0)
    raw = weights.transpose(0, 1)
    # Softmax rows sum to one already and are their own proxy.
    sums = raw.abs().sum(dim=-1, keepdim=True)
    proxy = raw if torch.allclose(sums, torch.ones_like(sums), atol=1e-12) else raw.abs() / (sums + PROXY_EPS)
    return {
        "attention_map": weights,
        "metrics/alpha_raw": alpha_of(raw),
        "metrics/alpha_proxy": alpha_of(proxy),
        "metrics/sink_raw": sinks_of(alpha_of(raw)),
        "metrics/sink_proxy": sinks_of(alpha_of(proxy)),
        "metrics/row_mass": raw.sum(dim=-1).mean(),
        "metrics/hidden_norm": torch.stack([h.norm(dim=-1) for h in seen["hidden"]], dim=1),
        "metrics/key_norm": torch.stack([k.norm(dim=-1) for k in seen["keys"]], dim=1),
        "metrics/value_norm": torch.stack([v.norm(dim=-1) for v in seen["values"]], dim=1),
    }


def train(learned, kind, tokens, targets):
    parameters = make_parameters(learned)
    t = TRAINING
    optimizer = torch.optim.AdamW(parameters.values(), lr=t["learning_rate"], betas=(t["beta1"], t["beta2"]),
                                  eps=t["adam_eps"], weight_decay=t["weight_decay"], foreach=False)
    losses, norms = [], []
    for _ in range(t["training_steps"]):
        optimizer.zero_grad()
        loss = loss_of(forward(parameters, tokens, learned, kind)[0], targets)
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(parameters.values(), t["clip"]))
        optimizer.step()
        losses.append(loss.detach())
    values = {"training/loss": torch.stack(losses), "training/grad_norm": torch.stack(norms)}
    values.update({f"training/parameters/{name}": p.float() for name, p in parameters.items()})
    return values


def golden(ablation):
    """Every dataset of one file, name -> numpy array."""
    learned, kind = ABLATIONS[ablation]
    parameters, (tokens, targets) = make_parameters(learned), make_batch()
    logits, seen = forward(parameters, tokens, learned, kind)
    loss = loss_of(logits, targets)
    loss.backward()
    values = {"tokens": tokens.int(), "targets": targets.int(), "logits": logits, "loss": loss}
    values.update({f"parameters/{name}": p for name, p in parameters.items()})
    values.update({f"gradients/{name}": p.grad for name, p in parameters.items()})
    values.update(measurements(seen))
    values.update(train(learned, kind, tokens, targets))
    return {name: value.detach().numpy() for name, value in values.items()}


def attributes(ablation):
    made = f"tests/golden/model/make_golden.py, float64, CPU, torch {torch.__version__.split('+')[0]}, seed {SEED}"
    return dict(SIZES, ablation=ablation, made=made, norm_eps=NORM_EPS, rotary_base=ROTARY_BASE, proxy_eps=PROXY_EPS,
                sink_epsilon=SINK_EPSILON, alpha_positions=ALPHA_POSITIONS, seed=SEED, **TRAINING)


def write(path, ablation):
    # Kept small: the 1.10 format has the smaller headers; parameters exact in bfloat16 are mostly zero bytes and the map
    # is half zeros, so both pack well.
    values = golden(ablation)
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        file.attrs.update(attributes(ablation))
        for name, value in values.items():
            packed = name.startswith("parameters/") or name == "attention_map"
            options = dict(compression="gzip", compression_opts=9, shuffle=True, chunks=value.shape) if packed else {}
            file.create_dataset(name, data=value, **options)


def check(path, ablation):
    """Number of datasets that differ from the stored ones."""
    wrong = 0
    expected = golden(ablation)
    with h5py.File(path) as file:
        stored = {}
        file.visititems(lambda name, item: stored.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    if set(stored) != set(expected):
        print(f"{path}: datasets differ: {sorted(set(stored) ^ set(expected))}")
        wrong += 1
    for name in sorted(set(stored) & set(expected)):
        tolerance = 1e-6 if name.startswith("training/") else 1e-11  # Adam amplifies rounding; stored as float32
        scale = np.abs(expected[name]).max()
        if stored[name].shape != expected[name].shape:
            print(f"{path}: {name}: shape {stored[name].shape}, recomputed {expected[name].shape}")
            wrong += 1
        elif (worst := np.abs(stored[name] - expected[name]).max()) > tolerance * scale:
            print(f"{path}: {name}: off by {worst:.3g}, tolerance {tolerance * scale:.3g}")
            wrong += 1
    return wrong


def verify(ablation):
    """Largest relative error of autograd against central differences along one random direction per parameter."""
    learned, kind = ABLATIONS[ablation]
    parameters, (tokens, targets) = make_parameters(learned), make_batch()
    loss_of(forward(parameters, tokens, learned, kind)[0], targets).backward()
    worst, step = 0.0, 1e-6
    with torch.no_grad():
        for name, parameter in parameters.items():
            direction = torch.from_numpy(random_state("direction" + name).standard_normal(tuple(parameter.shape)))
            losses = []
            for sign in (1, -1):
                moved = dict(parameters, **{name: parameter + sign * step * direction})
                losses.append(loss_of(forward(moved, tokens, learned, kind)[0], targets))
            numeric = (losses[0] - losses[1]) / (2 * step)
            exact = (parameter.grad * direction).sum()
            worst = max(worst, (abs(numeric - exact) / (parameter.grad.norm() * direction.norm())).item())
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="recompute and compare with the stored files")
    parser.add_argument("--verify", action="store_true", help="compare gradients with central differences")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent, help="folder of the files")
    options = parser.parse_args()
    torch.set_num_threads(1)
    wrong = 0
    for ablation in ABLATIONS:
        path = options.out / f"{ablation}.h5"
        if options.verify:
            error = verify(ablation)
            print(f"{ablation}: largest relative gradient error {error:.2g}")
            wrong += error > 1e-7
        elif options.check:
            wrong += check(path, ablation)
        else:
            write(path, ablation)
            print(f"{path}: {path.stat().st_size} bytes")
    if options.check and not wrong:
        print("all golden files agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
