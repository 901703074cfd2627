"""attention: checks and converts arguments, and calls the custom operators."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sinklab import _core
from sinklab._core import Error
from sinklab.arguments import real, whole
from sinklab.torch import custom_ops
from sinklab.torch.attention_statistics import AttentionStatistics
from sinklab.torch.own_operation import Operation

_LARGEST = 2**31 - 1
_ENGINE = tuple(_core.attention_operations())  # before others are loaded
_DTYPES = (torch.float32, torch.bfloat16, torch.float64)


def operation_names() -> list[str]:
    """The names of the engine's operations, such as "Softmax" and "Sigmoid"."""
    return list(_ENGINE)


def attention(q: Tensor, k: Tensor, v: Tensor, op="Sigmoid", scale: float | None = None, window: int = 0, prefix: int = 0,
              bias: Tensor | None = None, extra_key: Tensor | None = None, extra_logit: Tensor | None = None,
              extra_value: Tensor | None = None, documents: Tensor | None = None, statistics: bool = False):
    """Causal attention with an operation of the engine, and its gradients. No T x T matrix is stored.

    Args:
        q: queries (batch, head, query, d_head): float32, bfloat16, or float64, which runs the reference in plain loops.
        k, v: keys and values (batch, key head, key, d_head). A number of key heads that divides that of q is grouped-query
            attention. With more keys than queries, the queries are the last positions, as in generation.
        op: one of ``operation_names()``, or what ``operation`` returns.
        scale: of the scores; by default 1 / sqrt(d_head).
        window: how many keys a query sees, its own included; 0: all.
        prefix: how many of the first keys every query sees.
        bias: (head, distance), added to the score of the key at this distance; at least as many distances as keys.
        extra_key, extra_logit, extra_value: a key without a position that every query sees: its vector (head, d_head) or its
            logit (head,), and its value (head, d_head), by default 0. A logit with softmax is the sink logit of gpt-oss.
        documents: (batch, key), whole numbers. A query sees the keys of its own document, a run of equal numbers.
        statistics: also returns ``AttentionStatistics``, by a second pass.

    Returns:
        o (batch, head, query, d_head), or (o, statistics). The results have the same bits in every run.
    """
    o, call = attend(q, k, v, op, scale, window, prefix, bias, extra_key, extra_logit, extra_value, documents)
    return (o, statistics_of(call)) if statistics else o


def attend(q, k, v, op, scale=None, window=0, prefix=0, bias=None, extra_key=None, extra_logit=None, extra_value=None, documents=None):
    """o, and what statistics_of needs: the arguments of the custom operator and m and S, detached."""
    given = {"q": q, "k": k, "v": v, "bias": bias, "extra_key": extra_key, "extra_logit": extra_logit, "extra_value": extra_value,
             "documents": documents}
    for name, x in given.items():
        if x is not None or name in ("q", "k", "v"):
            _check_tensor(name, x, q)
    _check_shapes(**given)
    if isinstance(op, Operation):
        key = op._key
        if q.device.type == "cuda":
            raise Error(f"{op.name} runs on the CPU only, and q is on {q.device}: an operation of your own has no CUDA kernels")
    elif op in _ENGINE:
        key = op
    else:
        raise Error(f"there is no attention operation {op!r}: expected one of {', '.join(operation_names())}, or what "
                    "sinklab.torch.operation returns")
    scale = 1 / math.sqrt(q.shape[3]) if scale is None else real("scale", scale, -1e30, 1e30)
    settings = scale, whole("window", window, 0, _LARGEST), whole("prefix", prefix, 0, _LARGEST)
    sums = torch.float64 if q.dtype == torch.float64 else torch.float32
    extras = [None if x is None else x.to(sums).contiguous() for x in (bias, extra_key, extra_logit, extra_value)]
    runs = None
    if documents is not None:  # numbered, since an int64 need not fit
        runs = torch.zeros(documents.shape, dtype=torch.int32, device=documents.device)
        runs[:, 1:] = (documents[:, 1:] != documents[:, :-1]).cumsum(1)
    call = key, q.contiguous(), k.contiguous(), v.contiguous(), *settings, *extras, runs
    o, m, S = custom_ops.attention(*call)
    return o, tuple(x.detach() if isinstance(x, Tensor) else x for x in (*call, m, S))


def statistics_of(call) -> AttentionStatistics:
    with torch.no_grad():
        sums = custom_ops.attention_statistics(*call)
    return AttentionStatistics._of_sums(sums, call[1].shape[2], call[8] is not None or call[9] is not None)


def _check_tensor(name, x, q):
    if not isinstance(x, Tensor):
        raise Error(f"{name} must be a torch.Tensor, got {type(x).__name__}")
    if x.layout != torch.strided:
        raise Error(f"{name} must be a dense tensor, got the layout {x.layout}")
    if x.device.type not in ("cpu", "cuda", "meta"):
        raise Error(f"{name} must be on the CPU or on a CUDA device, got {x.device}")
    if x.is_cuda and (x.device.index or 0) != 0:
        raise Error(f"the engine computes on cuda:0, and {name} is on {x.device}")
    if x.device != q.device:
        raise Error(f"all tensors must be on the device of q, {q.device}: {name} is on {x.device}")
    if name == "documents":
        if x.is_floating_point() or x.is_complex():
            raise Error(f"documents must be whole numbers, got {x.dtype}")
    elif name in ("k", "v"):
        if x.dtype != q.dtype:
            raise Error(f"{name} must have the dtype of q: {name} is {x.dtype}, q is {q.dtype}")
    elif x.dtype not in _DTYPES:
        raise Error(f"{name} must be float32, bfloat16 or float64, got {x.dtype}")


def _check_shapes(q, k, v, bias, extra_key, extra_logit, extra_value, documents):
    if q.ndim != 4 or q.numel() == 0:
        raise Error(f"q must be of shape (batch, head, query, d_head) and not empty, got {tuple(q.shape)}")
    B, H, T, D = q.shape
    if k.ndim != 4 or k.numel() == 0 or k.shape[0] != B or H % k.shape[1] or k.shape[3] != D:
        raise Error("k must be of shape (batch, key head, key, d_head) like q, with a number of heads that divides q's: "
                    f"k is {tuple(k.shape)}, q is {tuple(q.shape)}")
    K = k.shape[2]
    if K < T:
        raise Error(f"there are {T} queries and {K} keys: every query needs a key at its position")
    if v.shape != k.shape:
        raise Error(f"v must have the shape of k: v is {tuple(v.shape)}, k is {tuple(k.shape)}")
    if bias is not None and (bias.ndim != 2 or bias.shape[0] != H or bias.shape[1] < K):
        raise Error(f"bias must be of shape ({H}, at least {K}), got {tuple(bias.shape)}")
    for name, x, shape in (("extra_key", extra_key, (H, D)), ("extra_logit", extra_logit, (H,)), ("extra_value", extra_value, (H, D)),
                           ("documents", documents, (B, K))):
        if x is not None and tuple(x.shape) != shape:
            raise Error(f"{name} must be of shape {shape}, got {tuple(x.shape)}")
    if extra_key is not None and extra_logit is not None:
        raise Error("an extra key has a vector or a logit, not both: leave out extra_key or extra_logit")
    if extra_value is not None and extra_key is None and extra_logit is None:
        raise Error("an extra value needs an extra key: give extra_key or extra_logit")
