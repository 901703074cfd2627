#!/usr/bin/env python3
"""Writes optimizers.safetensors: ten training steps of every optimiser, from independent float64 implementations in PyTorch.

The model, its initial values and its batch are those of tests/golden/model/make_golden.py. AdamW and SGD are torch.optim's
own (SGD with the decay done by hand, as it is decoupled here). The others are written from their papers and not from the
C++, by other means where there are any: Lion from its algorithm 2; Muon's Newton-Schulz iteration as its polynomial on the
singular values of torch.linalg.svd; OrthoAdam's rotations from numpy's QR and whole block-diagonal matrices, with
torch.optim.Adam inside.

  make_optimizer_golden.py            writes the file
  make_optimizer_golden.py --check    recomputes and compares; and Muon with torch.optim.Muon, which has bf16 inside
                                      (exit 1 on a difference; 77 without PyTorch)

Values <case>/<optimizer>-<decay>/: training [loss or gradient norm, step]; weights: summaries of the parameters after
ten steps, in the order of the case's text `parameters`. Text `settings`: the lines `<optimizer> <setting> <value>`.
"""
import argparse
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "model"))
import make_golden as golden  # noqa: E402  (exits with 77 where a package is missing)
from make_golden import files  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

FILE = pathlib.Path(__file__).parent / "optimizers.safetensors"
CASES = ["baseline", "bias_kv"]
STEPS = 10
SEED = 0  # of the rotations
COMMON = {"weight_decay": 0.5, "clip": 1.0}
SETTINGS = {
    "adamw": {"learning_rate": 1e-2, "beta1": 0.9, "beta2": 0.95, "adam_epsilon": 1e-8},
    "sgd": {"learning_rate": 0.1, "momentum": 0.9},
    "lion": {"learning_rate": 2e-3, "beta1": 0.9, "beta2": 0.99},
    "muon": {"learning_rate": 1e-2, "momentum": 0.95, "beta1": 0.9, "beta2": 0.95, "adam_epsilon": 1e-8},
    "orthoadam": {"learning_rate": 1e-2, "beta1": 0.9, "beta2": 0.95, "adam_epsilon": 1e-8},
}


def is_embedding(name):
    return name.startswith("embedding.")


def is_product(name):
    """Weights of products y = x W^T: what decays under --decay matrices."""
    return name.endswith(".weight") and not is_embedding(name)


def is_hidden(name):
    return is_product(name) and name != "unembedding.weight"


# ---------------------------------------------------------------------------------------------------------------------
# One class per optimiser: step(decays) reads .grad and changes the parameters; decays[name] is the decay of each.


class AdamW:
    def __init__(self, parameters, t, decays):
        groups = [{"params": [p], "weight_decay": decays[name]} for name, p in parameters.items()]
        self.inner = torch.optim.AdamW(groups, lr=t["learning_rate"], betas=(t["beta1"], t["beta2"]),
                                       eps=t["adam_epsilon"], foreach=False)

    def step(self):
        self.inner.step()


class SGD:
    def __init__(self, parameters, t, decays):
        self.parameters, self.t, self.decays = parameters, t, decays
        self.inner = torch.optim.SGD(parameters.values(), lr=t["learning_rate"], momentum=t["momentum"], foreach=False)

    def step(self):
        with torch.no_grad():
            for name, p in self.parameters.items():
                p.mul_(1 - self.t["learning_rate"] * self.decays[name])
        self.inner.step()


class Lion:
    """Chen et al. 2023, algorithm 2."""

    def __init__(self, parameters, t, decays):
        self.parameters, self.t, self.decays = parameters, t, decays
        self.m = {name: torch.zeros_like(p) for name, p in parameters.items()}

    @torch.no_grad()
    def step(self):
        for name, theta in self.parameters.items():
            g, m = theta.grad, self.m[name]
            c = torch.lerp(g, m, self.t["beta1"])
            theta -= self.t["learning_rate"] * (torch.sign(c) + self.decays[name] * theta)
            self.m[name] = torch.lerp(g, m, self.t["beta2"])


def newton_schulz(x):
    """Five times 3.4445 s - 4.7750 s^3 + 2.0315 s^5 on each singular value s of x / (|x| + 1e-7)."""
    u, s, vt = torch.linalg.svd(x / (torch.linalg.matrix_norm(x) + 1e-7), full_matrices=False)
    for _ in range(5):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    return u @ torch.diag(s) @ vt


class Muon:
    """Jordan et al. 2024 with Nesterov's momentum, on the matrices inside the blocks; the factor of Liu et al. 2025."""

    def __init__(self, parameters, t, decays, orthogonal=newton_schulz):
        self.t, self.decays, self.orthogonal = t, decays, orthogonal
        self.matrices = {name: p for name, p in parameters.items() if is_hidden(name)}
        self.m = {name: torch.zeros_like(p) for name, p in self.matrices.items()}
        self.others = AdamW({name: p for name, p in parameters.items() if not is_hidden(name)}, t, decays)

    @torch.no_grad()
    def step(self):
        lr, mu = self.t["learning_rate"], self.t["momentum"]
        for name, w in self.matrices.items():
            self.m[name] = mu * self.m[name] + w.grad
            direction = self.orthogonal(w.grad + mu * self.m[name])
            w.mul_(1 - lr * self.decays[name])
            w -= lr * 0.2 * math.sqrt(max(w.shape)) * direction
        self.others.step()


def philox_normals(seed, stream, count):
    """Normal numbers of engine/rng.h: Philox 4x32-10 (Salmon et al. 2011) and Box-Muller."""
    low = np.uint64(0xFFFFFFFF)
    h = 0xCBF29CE484222325
    for byte in stream.encode():
        h = ((h ^ byte) * 0x100000001B3) % 2**64
    key = (seed * 0x9E3779B97F4A7C15 % 2**64) ^ h
    k = [np.uint64(key % 2**32), np.uint64(key >> 32)]
    i = np.arange(count, dtype=np.uint64)
    c = [i & low, i >> np.uint64(32), np.zeros_like(i), np.full_like(i, h >> 32)]
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ k[0], p1 & low, (p0 >> np.uint64(32)) ^ c[3] ^ k[1], p0 & low]
        k = [(k[0] + np.uint64(0x9E3779B9)) & low, (k[1] + np.uint64(0xBB67AE85)) & low]

    def fraction(a, b):
        return ((a << np.uint64(32) | b) >> np.uint64(11)).astype(np.float64)

    u, v = (fraction(c[0], c[1]) + 1) * 2.0**-53, fraction(c[2], c[3]) * 2.0**-53
    return np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v)


def orthogonal_axis(size, stream):
    """Block-diagonal: one orthogonal block, of the largest divisor of `size` up to 256, repeated."""
    b = max(n for n in range(1, min(size, 256) + 1) if size % n == 0)
    if b == 1:
        return torch.eye(size, dtype=torch.float64)
    q, r = np.linalg.qr(philox_normals(SEED, stream, b * b).reshape(b, b).T)
    block = torch.from_numpy((q * np.sign(np.diag(r))).T.copy())
    return torch.block_diag(*[block] * (size // b))


class OrthoAdam:
    """Kaul et al. 2024, algorithm 1, with Q = Q_rows x Q_columns; Adam's step is what it makes of a parameter of zeros."""

    def __init__(self, parameters, t, decays):
        self.parameters, self.t, self.decays = parameters, t, decays
        self.rows, self.columns, self.step_of = {}, {}, {}
        for name, p in parameters.items():
            turned = p.dim() == 2 and (is_hidden(name) or not name.endswith(".weight"))
            self.rows[name] = orthogonal_axis(p.shape[0], f"rotation/{name}/rows") if turned else None
            self.columns[name] = orthogonal_axis(p.shape[-1], f"rotation/{name}/columns")
            self.step_of[name] = torch.zeros_like(p).requires_grad_(True)
        self.inner = torch.optim.Adam(self.step_of.values(), lr=t["learning_rate"], betas=(t["beta1"], t["beta2"]),
                                      eps=t["adam_epsilon"], foreach=False)

    @torch.no_grad()
    def step(self):
        for name, p in self.parameters.items():
            g = p.grad @ self.columns[name].T
            self.step_of[name].zero_()
            self.step_of[name].grad = g if self.rows[name] is None else self.rows[name] @ g
        self.inner.step()
        for name, p in self.parameters.items():
            s = self.step_of[name] @ self.columns[name]
            p.mul_(1 - self.t["learning_rate"] * self.decays[name])
            p += s if self.rows[name] is None else self.rows[name].T @ s


OPTIMIZERS = {"adamw": AdamW, "sgd": SGD, "lion": Lion, "muon": Muon, "orthoadam": OrthoAdam}


def train(case, optimizer, decay):
    ablation, s = golden.ABLATIONS[golden.CASES[case][0]], golden.CASES[case][1]
    parameters, (tokens, targets) = golden.make_parameters(ablation, s), golden.make_batch(s)
    t = {**COMMON, **SETTINGS[optimizer]}
    decays = {name: t["weight_decay"] if decay == "all" or is_product(name) else 0.0 for name in parameters}
    updates = OPTIMIZERS[optimizer](parameters, t, decays)
    losses, norms = [], []
    for _ in range(STEPS):
        for p in parameters.values():
            p.grad = None
        loss = golden.loss_of(golden.forward(ablation, s, parameters, tokens)[0], targets)
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(parameters.values(), t["clip"]).item())
        updates.step()
        losses.append(loss.item())
    weights = torch.cat([golden.summary(name, p.detach()) for name, p in parameters.items()])
    return {"training": np.array([losses, norms]), "weights": weights.numpy()}


def datasets():
    return {f"{case}/{optimizer}-{decay}/{name}": values for case in CASES for optimizer in OPTIMIZERS
            for decay in ("all", "matrices") for name, values in train(case, optimizer, decay).items()}


def settings_text():
    return "".join(f"{optimizer} {name} {value}\n" for optimizer, t in SETTINGS.items()
                   for name, value in {**COMMON, **t}.items())


def differs_from_torch_muon():
    """How far an update is from torch.optim.Muon's, relative to its norm, for a tall, a wide and a square matrix."""
    worst = 0
    for shape in ((24, 40), (40, 24), (16, 16)):
        torch.manual_seed(1)
        ours, theirs = (torch.zeros(shape, dtype=torch.float64, requires_grad=True) for _ in range(2))
        t = {**SETTINGS["muon"], "learning_rate": 1.0}
        muon = Muon({"blocks.0.up.weight": ours, "gain": torch.zeros(1, requires_grad=True)}, t,
                    {"blocks.0.up.weight": 0.0, "gain": 0.0})
        other = torch.optim.Muon([theirs], lr=1.0, momentum=t["momentum"], weight_decay=0.0, nesterov=True,
                                 adjust_lr_fn="match_rms_adamw")
        for _ in range(3):
            ours.grad = torch.randn(shape, dtype=torch.float64)
            theirs.grad = ours.grad.clone()
            muon.step()
            other.step()
        worst = max(worst, ((ours - theirs).norm() / theirs.norm()).item())
    return worst


def check():
    wrong = 0
    values, texts = files.read(FILE)
    if texts["settings"] != settings_text():
        print("the settings differ")
        wrong += 1
    for name, expected in datasets().items():
        stored = values.get(name)
        if stored is None or stored.shape != expected.shape:
            print(f"{name}: missing, or of another shape")
            wrong += 1
        elif not (worst := np.abs(stored - expected).max()) <= 1e-8 * np.abs(expected).max():
            print(f"{name}: off by {worst:.3g}")
            wrong += 1
    if hasattr(torch.optim, "Muon") and not (off := differs_from_torch_muon()) < 0.05:
        print(f"Muon is {off:.3g} of an update away from torch.optim.Muon, more than its bf16 explains")
        wrong += 1
    print(f"{wrong} differences" if wrong else "optimizers.safetensors is current")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="recompute and compare with the stored file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.check:
        return check()
    made = f"make_optimizer_golden.py, float64, torch {torch.__version__.split('+')[0]}"
    files.write(FILE, datasets(), {"settings": settings_text(), "made": made})
    return 0


if __name__ == "__main__":
    sys.exit(main())
