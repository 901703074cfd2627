#!/usr/bin/env python3
"""One row of attention, computed twice: by `eval_* explain` and here, forward from the formulas, backward by PyTorch.

Writes initial checkpoints with `train_* init`, takes queries, keys, values and hidden states of the last layer from
`eval_* logits` in double, and computes that layer, what follows it and the loss with PyTorch's autograd. Shares no code with
Sinklab. Operations: softmax, sigmoid, a signed one, clipped, softpick; an extra key, a bare score, biases, grouped queries,
window and prefix.

Usage: explain_elsewhere.py BUILD_FOLDER     exit 77: h5py, numpy or torch is missing
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

try:
    import h5py
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TOLERANCE = 1e-9
L, H, D, F, V = 2, 4, 6, 20, 31
C = H * D
TOKENS = [3, 14, 15, 9, 2, 6, 5, 30, 0, 7, 9]
T = len(TOKENS)
torch.set_default_dtype(torch.float64)


def softpick(s, seen, detach):
    u = (-s.masked_fill(~seen, 0).amax(-1, keepdim=True).clamp(min=0)).exp().detach()  # changes no weight
    e = torch.where(seen, (s.exp() - 1), 0)
    return e.clamp(min=0) * u, detach(e.abs().sum(-1, keepdim=True)) * u + 1e-8 * u


# (what is divided, by what), from scores and which are seen; `detach` cuts the gradient through the sum, if asked to.
def softmax(s, seen, detach):
    m = s.masked_fill(~seen, -math.inf).amax(-1, keepdim=True).detach()
    g = torch.where(seen, (s - m).exp(), 0)
    return g, detach(g.sum(-1, keepdim=True))


def sigmoid(s, seen, detach):
    g = torch.where(seen, s.sigmoid(), 0)
    return g, torch.ones_like(g[..., :1])


def linear_max_abs(s, seen, detach):
    g = torch.where(seen, s, 0)
    return g, detach(g.sum(-1, keepdim=True)).abs().clamp(min=1)


def linear_norm(s, seen, detach):
    g = torch.where(seen, s, 0)
    return g, detach(g.sum(-1, keepdim=True)) + 1e-8


def clip(w):
    return (1.03 * w - 0.03).clamp(0, 1)


CASES = {  # ablation: (operation, post, extra flags of init)
    "baseline": (softmax, None, "--kv-heads 2 --window 5 --prefix 2"),
    "op_sigmoid_none": (sigmoid, None, "--window 4"),
    "kern_id_norm": (linear_max_abs, None, "--kv-heads 1"),
    "kern_elu_norm": (linear_norm, None, ""),
    "op_clipped": (softmax, clip, ""),
    "op_softpick": (softpick, None, "--prefix 3"),
    "bias_k": (softmax, None, "--kv-heads 2"),
    "bias_kv": (softmax, None, "--window 4 --prefix 1"),
    "op_sink_logit": (softmax, None, ""),
    "pos_alibi": (softmax, None, ""),
    "pos_t5": (softmax, None, "--window 6"),
}


def run(*command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} left with {result.returncode}: {result.stderr}")
    return result.stdout


def rms_norm(x, gain):
    return gain * x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5)


def alibi(h, distance):  # H = 4 is a power of two
    return -(2.0 ** (-8 * (h + 1) / H)) * distance


def t5(table):
    def bucket(distance):
        if distance < 16:
            return distance
        return min(31, 16 + int(math.log(distance / 16) / math.log(128 / 16) * 16))
    return lambda h, distance: table[h, bucket(distance)]


class Layer:
    """The last layer and what follows it, from its queries, keys and values on."""

    def __init__(self, ablation, p, numbers, window, prefix, detach):
        operation, post, _ = CASES[ablation]
        block = f"blocks/{L - 1}/"
        leaf = lambda name: torch.tensor(numbers[block + name][0]).requires_grad_()
        self.q, self.k, self.v = leaf("query"), leaf("key"), leaf("value")
        G, here = self.k.shape[0], f"blocks.{L - 1}.attention."
        k, v = (x.repeat_interleave(H // G, 0) for x in (self.k, self.v))
        i, j = torch.arange(T)[:, None], torch.arange(T)[None, :]
        seen = (j <= i) & (j > i - window) if window else j <= i
        seen = (seen | (j < prefix)).expand(H, T, T)
        self.bias = torch.zeros(H, T, T)
        if ablation in ("pos_alibi", "pos_t5"):
            of = alibi if ablation == "pos_alibi" else t5(p["position.bias.weight"])
            for h in range(H):
                for a in range(T):
                    for b in range(T):
                        self.bias[h, a, b] = of(h, max(0, a - b))
        self.s = self.q @ k.transpose(-1, -2) / math.sqrt(D) + self.bias
        if ablation.startswith("bias_k"):
            extra = p[here + "extra.key"]
            self.s = torch.cat([self.s, (self.q * extra[:, None]).sum(-1, keepdim=True) / math.sqrt(D)], -1)
        elif ablation == "op_sink_logit":
            self.s = torch.cat([self.s, p[here + "extra.logit"][:, None, None].expand(H, T, 1)], -1)
        if self.s.shape[-1] > T:
            seen = torch.cat([seen, torch.ones(H, T, 1, dtype=torch.bool)], -1)
            value = p[here + "extra.value"] if here + "extra.value" in p else torch.zeros(H, D)
            v = torch.cat([v, value[:, None]], 1)
        self.seen = seen
        self.s.retain_grad()
        g, self.z = operation(self.s, seen, (lambda x: x.detach()) if detach else lambda x: x)
        self.a = g / self.z
        if post:
            self.a = torch.where(seen, post(self.a), 0)
        self.a.retain_grad()
        self.o = self.a @ v
        self.o.retain_grad()
        x = torch.tensor(numbers[f"hidden/{L - 1}"][0])
        x = x + self.o.transpose(0, 1).reshape(T, C) @ p[here + "out.weight"].T
        there = f"blocks.{L - 1}.feed_forward."
        gate, up = (rms_norm(x, p[there + "norm.gain"]) @ p[there + "gate_up.weight"].T).split(F, -1)
        x = x + (torch.nn.functional.silu(gate) * up) @ p[there + "down.weight"].T
        logits = rms_norm(x, p["final_norm.gain"]) @ p["unembedding.weight"].T
        token_loss = torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(TOKENS[1:]), reduction="none")
        self.loss = token_loss[max(0, prefix - 1):].mean()
        self.loss.backward()


def agree(ablation, name, ours, theirs):
    ours, theirs = torch.as_tensor(ours, dtype=torch.float64), torch.as_tensor(theirs, dtype=torch.float64)
    assert ours.shape == theirs.shape, (ablation, name, ours.shape, theirs.shape)
    difference = (ours - theirs).abs().max().item() / max(theirs.abs().max().item(), 1e-6)
    if not difference <= TOLERANCE:
        sys.exit(f"{ablation}: {name} differs by {difference:.3g} of its largest number, at most {TOLERANCE} allowed\n"
                 f"  explain: {ours.tolist()}\n  here: {theirs.tolist()}")
    return difference


def check_row(ablation, explained, whole, cut, h, i):
    """explained: the JSON; whole: the layer; cut: the same without the gradient through the sum."""
    group = h // (H // whole.k.shape[0])
    extra = whole.s.shape[-1] > T
    columns = [j for j in range(T) if whole.seen[h, i, j]] + ([T] if extra else [])
    keys, backward = explained["keys"], explained["backward"]
    assert [k["j"] for k in keys] == [j if j < T else -1 for j in columns], (ablation, columns)
    of = lambda name: [k[name] for k in keys]
    q = whole.q[h, i].detach()
    pick = lambda x: x[h, i, columns].detach()
    a, s, ds, ds_by_g = pick(whole.a), pick(whole.s), pick(whole.s.grad), pick(cut.s.grad)
    o, do, own = whole.o[h, i].detach(), whole.o.grad[h, i], columns[:-1] if extra else columns
    v = torch.stack([whole.v[group, j].detach() for j in own])
    k = torch.stack([whole.k[group, j].detach() for j in own])
    n = len(own)
    checks = {
        "q": (explained["q"], q), "o": (explained["o"], o), "s": (of("s"), s), "a": (of("a"), a),
        "z of g / z": ([k["g"] / explained["z"] for k in keys], of("w")),
        "row sum": ([explained["row_sum"]], a.sum()[None]),
        "bias": (of("bias")[:n], whole.bias[h, i, own]),
        "cosine": (of("cosine")[:n], k @ q / (q.norm() * k.norm(dim=-1))),
        "k_norm": (of("k_norm")[:n], k.norm(dim=-1)),
        "mixed_norm": (of("mixed_norm")[:n], a[:n].abs() * v.norm(dim=-1)),
        "share": (of("share")[:n], a[:n] * (v @ o) / (o @ o)),
        "loss": ([backward["loss"]], whole.loss.detach()[None]),
        "do": (backward["do"], do), "da": (of("da"), pick(whole.a.grad)),
        "ds": (of("ds"), ds), "ds through g": (of("ds_by_g"), ds_by_g), "ds through S": (of("ds_by_S"), ds - ds_by_g),
        "dq": (backward["dq"], whole.q.grad[h, i]),
        "dk": ([x["dk"] for x in keys[:n]], ds[:n, None] * q / math.sqrt(D)),
        "dv": ([x["dv"] for x in keys[:n]], a[:n, None] * do),
    }
    return max(agree(ablation, name, *pair) for name, pair in checks.items())


def check(build, folder, ablation):
    flags = CASES[ablation][2].split()
    setting = lambda flag: int(flags[flags.index(flag) + 1]) if flag in flags else 0
    checkpoint, tokens, numbers = folder / f"{ablation}.h5", folder / "tokens", folder / "numbers.h5"
    tokens.write_text(" ".join(map(str, TOKENS)))
    run(build / f"train_{ablation}", "init", "--layers", L, "--heads", H, "--width", C, "--feed-forward", F, "--context", T + 2,
        "--task", "text", "--vocabulary", V, "--seed", 8, "--init", "formula", "--out", checkpoint, *flags)
    run(build / f"eval_{ablation}", "logits", "--checkpoint", checkpoint, "--tokens", tokens, "--out", numbers,
        "--precision", "f64")
    with h5py.File(checkpoint) as file:
        p = {n: torch.tensor(x[()], dtype=torch.float64) for n, x in file["parameters"].items()}
    with h5py.File(numbers) as file:
        found = {}
        file.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    whole, cut = (Layer(ablation, p, found, setting("--window"), setting("--prefix"), detach) for detach in (False, True))
    worst = 0
    for h, i in ((0, 9), (H - 1, 6), (1, 1)):
        explained = json.loads(run(build / f"eval_{ablation}", "explain", "--checkpoint", checkpoint, "--tokens", tokens,
                                   "--layer", L - 1, "--head", h, "--query", i, "--backward", "--json"))
        assert explained["head"] == h and explained["query"] == i and not explained["trained"]
        assert [t["id"] for t in explained["tokens"]] == TOKENS
        worst = max(worst, check_row(ablation, explained, whole, cut, h, i))
    print(f"{ablation}: rows agree to {worst:.2g}")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        for ablation in CASES:
            check(build, pathlib.Path(name), ablation)


main()
