"""Attention in PyTorch from its formulas, float64: explicit maps, autograd, and the operations of tests/golden/model/make_golden.py."""
import math
import sys

import torch
from golden import MODELS

sys.path.insert(0, str(MODELS.parents[1] / "model"))
import make_golden as golden  # noqa: E402

OPERATIONS = {
    "Softmax": golden.softmax, "ScaledSoftmax": golden.scaled_softmax(2), "PNormExp": golden.p_norm_exp(2),
    "PNormSigmoid": golden.p_norm_sigmoid(2), "Sigmoid": golden.plain(torch.sigmoid),
    "SigmoidNorm": golden.over_sum(torch.sigmoid), "SigmoidLogN": lambda s, M, n: torch.sigmoid(s - torch.log(n)) * M,
    "Elu": golden.plain(golden.elu_plus_one), "EluNorm": golden.over_sum(golden.elu_plus_one), "Relu": golden.plain(torch.relu),
    "ReluN": lambda s, M, n: torch.relu(s) * M / n, "Linear": golden.plain(golden.identity),
    "LinearNorm": golden.over_sum(golden.identity), "LinearMaxAbs": golden.linear_max_abs, "Softpick": golden.softpick,
    "ClippedSoftmax": golden.clipped_softmax(-0.03, 1), "Sparsemax": golden.sparsemax, "Entmax15": golden.entmax15,
    "SoftCappedSoftmax": golden.soft_capped(50), "ConSmax": golden.con_smax(2.5, 100)}


def visible(T, K, window=0, prefix=0, documents=None):
    """M (1 or B, 1, T, K): which keys each query sees."""
    i, j = torch.arange(K - T, K)[:, None], torch.arange(K)[None]
    own = (j <= i) & (i - j < (window or K))
    if documents is None:
        return (own | (j < prefix))[None, None].double()
    same = documents[:, K - T:, None] == documents[:, None, :]
    return ((own & same) | (j < prefix))[:, None].double()


def pattern(op, q, k, scale=None, window=0, prefix=0, bias=None, extra_key=None, extra_logit=None, documents=None):
    """The weights (B, H, T, E + K), the extra key first, and the mask."""
    T, K, D = q.shape[2], k.shape[2], q.shape[3]
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    s = q @ k.transpose(-1, -2) * (1 / math.sqrt(D) if scale is None else scale)
    if bias is not None:
        distance = (torch.arange(K - T, K)[:, None] - torch.arange(K)[None]).clamp(min=0)
        s = s + bias[:, distance]
    mask = visible(T, K, window, prefix, documents)
    n = mask.sum(-1, keepdim=True)
    if extra_key is not None:
        extra = torch.einsum("bhtd,hd->bht", q, extra_key) * (1 / math.sqrt(D) if scale is None else scale)
    elif extra_logit is not None:
        extra = extra_logit[:, None].expand(q.shape[:3])
    else:
        return OPERATIONS[op](s, mask, n), mask
    mask = torch.nn.functional.pad(mask, (1, 0), value=1.0)
    return OPERATIONS[op](torch.cat([extra[..., None], s], -1), mask, n), mask


def attention(op, q, k, v, extra_value=None, **settings):
    a, _ = pattern(op, q, k, **settings)
    extra = a.shape[-1] - k.shape[2]
    o = a[..., extra:] @ v.repeat_interleave(q.shape[1] // v.shape[1], 1)
    return o if extra_value is None else o + a[..., :1] * extra_value[:, None]
