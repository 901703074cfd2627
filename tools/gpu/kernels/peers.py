"""PyTorch's attention kernels that compute the same as an operation of ours: FlashAttention-2 and cuDNN through
scaled_dot_product_attention, and FlexAttention.

FlexAttention is softmax(score_mod(s)) v. With score_mod = log f it computes f(s) / sum f(s), the normalized operation
of any positive f; times exp(lse) = sum f(s), it computes the operation that is not normalized. All are causal.

  peers.py    compares every peer with float64 on the CPU, without the compiler
"""
import math

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

for _limit in ("recompile_limit", "cache_size_limit"):  # every shape and operation compiles the same function again
    if hasattr(torch._dynamo.config, _limit):
        setattr(torch._dynamo.config, _limit, 64)


def _log_sigmoid(s):
    return torch.minimum(s, torch.zeros_like(s)) - torch.log1p(torch.exp(-torch.abs(s)))


def _log_elu_plus_1(s):
    return torch.where(s > 0, torch.log1p(torch.clamp(s, min=0.0)), s)


def _sdpa(backend):
    def make(T, D, device):
        def attention(q, k, v):
            with sdpa_kernel([backend]):
                return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return attention
    return make


def _flex(log_f, normalized):
    def make(T, D, device):
        score_mod = log_f and (lambda s, b, h, q, k: log_f(s))
        mask = create_block_mask(lambda b, h, q, k: q >= k, B=None, H=None, Q_LEN=T, KV_LEN=T, device=device)
        wants_sum = {} if normalized else {"return_lse": True}
        if not normalized:
            try:
                from torch.nn.attention.flex_attention import AuxRequest
                wants_sum = {"return_aux": AuxRequest(lse=True)}
            except ImportError:
                pass
        flex = flex_attention if device == "cpu" else torch.compile(flex_attention, dynamic=False)

        def attention(q, k, v):
            result = flex(q, k, v, score_mod=score_mod, block_mask=mask, scale=1 / math.sqrt(D), **wants_sum)
            if normalized:
                return result
            o, lse = result
            lse = getattr(lse, "lse", lse)
            return o * torch.exp(lse).unsqueeze(-1).to(o.dtype)
        return attention
    return make


# (name, operation, make(T, D, device) -> attention(q, k, v)); the cheap ones to compile first.
PEERS = [
    ("FlashAttention-2", "Softmax", _sdpa(SDPBackend.FLASH_ATTENTION)),
    ("cuDNN", "Softmax", _sdpa(SDPBackend.CUDNN_ATTENTION)),
    ("FlexAttention", "Softmax", _flex(None, True)),
    ("FlexAttention", "Sigmoid", _flex(_log_sigmoid, False)),
    ("FlexAttention", "SigmoidNorm", _flex(_log_sigmoid, True)),
    ("FlexAttention", "EluNorm", _flex(_log_elu_plus_1, True)),
]


def check_on_cpu():
    import numpy
    from attention_reference import Case, compute, make_mask
    T, D = 150, 32
    torch.manual_seed(0)
    for name, operation, make in PEERS:
        if name == "cuDNN":
            continue  # has no CPU kernel
        q, k, v = (torch.randn(1, 2, T, D, dtype=torch.float32) for _ in range(3))
        o = make(T, D, "cpu")(q, k, v).double().numpy()
        to_f64 = lambda x: x.numpy().astype(numpy.float64)
        case = Case(to_f64(q), to_f64(k), to_f64(v), to_f64(v), 1 / math.sqrt(D), make_mask(T, T))
        error = abs(o - compute(operation, case).tensors["o"]).max()
        assert error < 1e-4, (name, operation, error)
        print(f"{name}, {operation}: largest error {error:.1e}")


if __name__ == "__main__":
    check_on_cpu()
