"""The twenty attention operations in float64, forward and backward, from their formulas (attention_op.h), and the same
as a naive program in BF16 computes them. With NumPy arrays or PyTorch tensors: `xp` is the module.

Independent of the engine: nothing here is derived from its code, and self_check() compares the gradients with
differences of the forward pass. Scores are not shifted by the row maximum, so they must be moderate.
"""
import math
from dataclasses import dataclass, field

import numpy

EPSILON = 1e-8  # of attention_op.h


class Operation:
    """a = post(g(x) / z(S, n)) with S = sum r(x); x is the score, minus log n for SigmoidLogN. reach: x is the score minus
    a threshold, at which the row's sum of g is 1 and which is less than `reach` below the largest score."""

    def __init__(self, g, dg, r=None, dr=None, z=None, dz=None, post=None, dpost=None, minus_log_count=False, reach=0):
        self.g, self.dg, self.r, self.dr = g, dg, r or g, dr or dg
        self.z = z or (lambda xp, S, n: S * 0 + 1)
        self.dz = dz or (lambda xp, S: S * 0)
        self.post, self.dpost = post, dpost
        self.minus_log_count, self.reach = minus_log_count, reach


def _exp(xp, x):
    return xp.exp(x)


def _sigmoid(xp, x):
    return 1 / (1 + xp.exp(-x))


def _dsigmoid(xp, x):
    return _sigmoid(xp, x) * _sigmoid(xp, -x)


def _elu(xp, x):
    return xp.where(x > 0, x + 1, xp.exp(xp.where(x > 0, x * 0, x)))


def _delu(xp, x):
    return xp.where(x > 0, x * 0 + 1, xp.exp(xp.where(x > 0, x * 0, x)))


def _relu(xp, x):
    return xp.where(x > 0, x, x * 0)


def _step(xp, x):
    return xp.where(x > 0, x * 0 + 1, x * 0)


def _linear(xp, x):
    return x


def _one(xp, x):
    return x * 0 + 1


def _sum(xp, S, n):
    return S


def _sum_epsilon(xp, S, n):
    return S + EPSILON


def _unit(xp, S):
    return S * 0 + 1


def _clip(xp, w):
    y = 1.03 * w - 0.03
    y = xp.where(y < 0, y * 0, y)
    return xp.where(y > 1, y * 0 + 1, y)


def _dclip(xp, w):
    y = 1.03 * w - 0.03
    return xp.where((y >= 0) & (y <= 1), y * 0 + 1.03, y * 0)


OPERATIONS = {
    "Softmax": Operation(_exp, _exp, z=_sum, dz=_unit),
    "ScaledSoftmax": Operation(_exp, _exp, z=lambda xp, S, n: S / 2, dz=lambda xp, S: S * 0 + 0.5),
    "ClippedSoftmax": Operation(_exp, _exp, z=_sum, dz=_unit, post=_clip, dpost=_dclip),
    "PNormExp": Operation(_exp, _exp, r=lambda xp, x: xp.exp(2 * x), dr=lambda xp, x: 2 * xp.exp(2 * x),
                          z=lambda xp, S, n: xp.sqrt(S), dz=lambda xp, S: 0.5 / xp.sqrt(S)),
    "PNormSigmoid": Operation(_sigmoid, _dsigmoid, r=lambda xp, x: _sigmoid(xp, x)**2,
                              dr=lambda xp, x: 2 * _sigmoid(xp, x) * _dsigmoid(xp, x),
                              z=lambda xp, S, n: xp.sqrt(S + EPSILON), dz=lambda xp, S: 0.5 / xp.sqrt(S + EPSILON)),
    "SoftCappedSoftmax": Operation(lambda xp, x: xp.exp(50 * xp.tanh(x / 50)),
                                   lambda xp, x: xp.exp(50 * xp.tanh(x / 50)) * (1 - xp.tanh(x / 50)**2), z=_sum, dz=_unit),
    "ConSmax": Operation(lambda xp, x: xp.exp(x - 2.5) / 100, lambda xp, x: xp.exp(x - 2.5) / 100),
    "Sigmoid": Operation(_sigmoid, _dsigmoid),
    "SigmoidNorm": Operation(_sigmoid, _dsigmoid, z=_sum_epsilon, dz=_unit),
    "SigmoidLogN": Operation(_sigmoid, _dsigmoid, minus_log_count=True),
    "Elu": Operation(_elu, _delu),
    "EluNorm": Operation(_elu, _delu, z=_sum_epsilon, dz=_unit),
    "Relu": Operation(_relu, _step),
    "ReluN": Operation(_relu, _step, z=lambda xp, S, n: n),
    "Linear": Operation(_linear, _one),
    "LinearNorm": Operation(_linear, _one, z=_sum_epsilon, dz=_unit),
    "LinearMaxAbs": Operation(_linear, _one, z=lambda xp, S, n: xp.where(xp.abs(S) > 1, xp.abs(S), S * 0 + 1),
                              dz=lambda xp, S: xp.where(xp.abs(S) > 1, xp.sign(S), S * 0)),
    "Softpick": Operation(lambda xp, x: _relu(xp, xp.exp(x) - 1), lambda xp, x: _step(xp, x) * xp.exp(x),
                          r=lambda xp, x: xp.abs(xp.exp(x) - 1), dr=lambda xp, x: xp.sign(x) * xp.exp(x),
                          z=_sum_epsilon, dz=_unit),
    "Sparsemax": Operation(_relu, _step, reach=1),
    "Entmax15": Operation(lambda xp, x: (_relu(xp, x) / 2)**2, lambda xp, x: _relu(xp, x) / 2, reach=2),
}


@dataclass
class Case:
    """float64 arrays. q, grad_o: (B, H, T, D); k, v: (B, G, K, D); mask: (1 or B, 1, T, K) of booleans."""
    q: object
    k: object
    v: object
    grad_o: object
    scale: float
    mask: object
    first_position: int = 0
    bias: object = None         # (H, columns), by distance
    extra_k: object = None      # (H, D)
    extra_logit: object = None  # (H)
    extra_v: object = None      # (H, D)
    settings: dict = field(default_factory=dict)  # of the mask, for the kernels


@dataclass
class Result:
    """`weights`, `gradients`: condition numbers of the worst row. A relative error e of the scores becomes an error
    weights * e of the weights; the terms of a score's gradient are as large as `gradients` for da = 1."""
    tensors: dict
    weights: float
    gradients: float
    extra_ds: object = None  # (B, H, T): the terms of dextra_logit


def make_mask(T, K, first_position=0, window=0, prefix=0, document_starts=None, lead=0):
    """(1 or B, 1, T, K) of booleans: whether query i sees key j (engine/key_range.h)."""
    i, j = first_position + numpy.arange(T)[:, None], numpy.arange(K)[None, :]
    first = numpy.maximum(0, i - window + 1)[None] if window > 0 else numpy.zeros((1, T, 1), int)
    if document_starts is not None:
        own = numpy.clip(i[:, 0] - lead, 0, document_starts.shape[1] - 1)
        starts = numpy.where(i[:, 0] < lead, 0, lead + document_starts[:, own])
        first = numpy.maximum(first, starts[:, :, None])
    return (((first <= j[None]) & (j <= i)[None]) | (j < prefix)[None])[:, None]


def round_to_bf16(x, xp=numpy):
    """The nearest BF16 values, ties to even, in the type of x."""
    if xp is not numpy:
        return x.to(xp.bfloat16).to(x.dtype)
    bits = numpy.ascontiguousarray(x, numpy.float32).view(numpy.uint32)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & numpy.uint32(0xFFFF0000)
    return bits.view(numpy.float32).astype(numpy.float64)


def threshold(xp, op, s):
    """The threshold of every row of s, by bisection."""
    above = s.max(-1) if xp is numpy else s.max(-1).values
    below = above - op.reach
    for _ in range(60):
        middle = (below + above) / 2
        enough = op.g(xp, s - middle[..., None]).sum(-1) >= 1
        below, above = xp.where(enough, middle, below), xp.where(enough, above, middle)
    return below


NAIVE = ("pattern", "weights")


def compute(name, c, xp=numpy, naive=None):
    """o and all gradients. naive: the attention pattern, its gradient and the results are rounded to BF16. In o
    "pattern" rounds after the division by z, as plain PyTorch does, "weights" only before, as FlashAttention does."""
    op = OPERATIONS[name]
    rounded = (lambda x: round_to_bf16(x, xp)) if naive else (lambda x: x)
    B, H, T, D = c.q.shape
    G, K = c.k.shape[1], c.k.shape[2]
    group = [h // (H // G) for h in range(H)]
    k, v = c.k[:, group], c.v[:, group]
    zero = c.q[0, 0, 0, 0] * 0
    position = numpy.arange(T)[:, None] + c.first_position
    distance = numpy.maximum(0, position - numpy.arange(K)[None])
    if xp is not numpy:
        distance = xp.as_tensor(distance, device=c.q.device)

    s = c.scale * (c.q @ k.swapaxes(-1, -2))
    if c.bias is not None:
        s = s + c.bias[:, distance][None]
    n = xp.where(c.mask, zero + 1, zero).sum(-1)
    shift = xp.log(n) if op.minus_log_count else n * 0
    has_extra = c.extra_k is not None or c.extra_logit is not None
    if has_extra:
        if c.extra_logit is not None:
            s_e = (zero + c.extra_logit)[None, :, None] + c.q[..., 0] * 0
        else:
            s_e = c.scale * (c.q * c.extra_k[None, :, None]).sum(-1)
    if op.reach:
        visible = xp.where(c.mask, s, zero - 1e300)
        join = xp.concatenate if xp is numpy else xp.cat
        shift = threshold(xp, op, join((visible, s_e[..., None]), -1) if has_extra else visible)
    x_e = s_e - shift if has_extra else None
    x = xp.where(c.mask, s - shift[..., None], zero)
    only = lambda values: xp.where(c.mask, values, zero)

    r = only(op.r(xp, x))
    S = r.sum(-1) + (op.r(xp, x_e) if has_extra else 0)
    z, dz = op.z(xp, S, n + S * 0), op.dz(xp, S)
    w = only(rounded(op.g(xp, x))) / z[..., None]
    post = (lambda w: op.post(xp, w)) if op.post else (lambda w: w)
    dpost = (lambda w: op.dpost(xp, w)) if op.post else (lambda w: w * 0 + 1)
    a = only(post(w))
    divides_last = naive == "weights" and not op.post
    o = (only(rounded(op.g(xp, x))) @ v) / z[..., None] if divides_last else rounded(a) @ v
    da = c.grad_o @ v.swapaxes(-1, -2)
    if has_extra:
        w_e = op.g(xp, x_e) / z
        a_e, da_e = post(w_e), z * 0
        if c.extra_v is not None:
            o = o + a_e[..., None] * c.extra_v[None, :, None]
            da_e = (c.grad_o * c.extra_v[None, :, None]).sum(-1)
    o = rounded(o)

    D_row = (c.grad_o * o).sum(-1)
    if op.post:
        D_row = (w * dpost(w) * da).sum(-1) + (w_e * dpost(w_e) * da_e if has_extra else 0)
    dg, dr = only(op.dg(xp, x)), only(op.dr(xp, x))
    if op.reach:  # what the threshold takes of every score in the support: the mean of da, weighted by g'
        dz = 1 / (dg.sum(-1) + (op.dg(xp, x_e) if has_extra else 0))
        D_row = (dg * da).sum(-1) + (op.dg(xp, x_e) * da_e if has_extra else 0)
    ds = only((dg * dpost(w) * da - dr * (dz * D_row)[..., None]) / z[..., None])
    by_group = lambda y: y.reshape(B, G, H // G, K, D).sum(2)
    dq = rounded(ds) @ k
    tensors, ds_e = {"o": o}, None
    if has_extra:
        ds_e = (op.dg(xp, x_e) * dpost(w_e) * da_e - op.dr(xp, x_e) * dz * D_row) / z
        if c.extra_k is not None:
            dq = dq + ds_e[..., None] * c.extra_k[None, :, None]
            tensors["dextra_k"] = c.scale * (ds_e[..., None] * c.q).sum(2).sum(0)
        else:
            tensors["dextra_logit"] = ds_e.sum(2).sum(0)
        if c.extra_v is not None:
            tensors["dextra_v"] = (a_e[..., None] * c.grad_o).sum(2).sum(0)
    tensors["dq"] = rounded(c.scale * dq)
    tensors["dk"] = rounded(c.scale * by_group(rounded(ds).swapaxes(-1, -2) @ c.q))
    tensors["dv"] = rounded(by_group(rounded(a).swapaxes(-1, -2) @ c.grad_o))
    if c.bias is not None:
        by_distance = [xp.bincount(distance.reshape(-1), weights=ds[:, h].sum(0).reshape(-1),
                                   minlength=c.bias.shape[1]) for h in range(H)]
        tensors["dbias"] = xp.stack(by_distance)

    sum_w = xp.abs(w).sum(-1) + (xp.abs(w_e) if has_extra else 0)
    sum_r = xp.abs(r).sum(-1) + (xp.abs(op.r(xp, x_e)) if has_extra else 0)
    largest_dg, largest_dr = xp.abs(dg).max(), xp.abs(dr).max()
    size_z = xp.abs(z)
    return Result(tensors, max(1.0, float((xp.abs(dz) * sum_r / size_z).max())),
                  float(((largest_dg + largest_dr * xp.abs(dz) * sum_w) / size_z).max()), ds_e)


def self_check():
    """Gradients against central differences of o. Raises AssertionError."""
    random = numpy.random.default_rng(5)
    normal = random.standard_normal
    for name in OPERATIONS:
        for extra in ("none", "key", "logit"):
            B, H, G, T, D = 2, 4, 2, 5, 8
            c = Case(normal((B, H, T, D)), normal((B, G, T, D)), normal((B, G, T, D)), normal((B, H, T, D)),
                     1 / math.sqrt(D), make_mask(T, T, prefix=1, window=3), bias=normal((H, T + 1)))
            inputs = {"dq": "q", "dk": "k", "dv": "v", "dbias": "bias"}
            if name.startswith("Linear"):  # sums that do not cancel
                c.q, c.k, c.bias = abs(c.q), abs(c.k), abs(c.bias)
            if extra == "key":
                c.extra_k, c.extra_v = abs(normal((H, D))), normal((H, D))
                inputs |= {"dextra_k": "extra_k", "dextra_v": "extra_v"}
            elif extra == "logit":
                c.extra_logit = abs(normal(H))
                inputs["dextra_logit"] = "extra_logit"
            gradients = compute(name, c).tensors
            for gradient, attribute in inputs.items():
                x = getattr(c, attribute)
                direction, step = normal(x.shape), 1e-6
                sides = []
                for sign in (1, -1):
                    setattr(c, attribute, x + sign * step * direction)
                    sides.append((compute(name, c).tensors["o"] * c.grad_o).sum())
                setattr(c, attribute, x)
                expected = (sides[0] - sides[1]) / (2 * step)
                found = (gradients[gradient] * direction).sum()
                assert abs(found - expected) <= 1e-6 * max(1, abs(expected)), (name, extra, gradient, found, expected)


if __name__ == "__main__":
    self_check()
    print("the gradients of", len(OPERATIONS), "operations agree with differences")
