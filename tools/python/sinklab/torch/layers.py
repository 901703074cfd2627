"""Layers whose attention the engine computes: SinkAttention, the statistics of a model, and transformers' models."""

from __future__ import annotations

import weakref

import torch
from torch import Tensor, nn

from sinklab._core import Error
from sinklab.arguments import whole
from sinklab.torch.attention_function import attend, statistics_of
from sinklab.torch.attention_statistics import AttentionStatistics

_calls: weakref.WeakKeyDictionary[nn.Module, tuple] = weakref.WeakKeyDictionary()  # the last of each layer


def attend_in(layer: nn.Module, *given, **settings) -> Tensor:
    """Like attend; keeps what statistics(model) needs, which the backward pass needs, too."""
    o, call = attend(*given, **settings)
    if not torch.compiler.is_compiling():
        _calls[layer] = call
    return o


def statistics(model: nn.Module) -> dict[str, AttentionStatistics]:
    """What every key got in the last forward pass of each layer, by the names of the layers, such as "model.layers.0.self_attn".

    Of SinkAttention, and of models of transformers after ``register_attention`` and
    ``model.set_attn_implementation("sinklab")``. With padding, means over rows include those of padding.
    """
    if not isinstance(model, nn.Module):
        raise Error(f"expected a torch.nn.Module, got {type(model).__name__}")
    found = {name: statistics_of(_calls[layer]) for name, layer in model.named_modules() if layer in _calls}
    if not found:
        raise Error('no layer of the model has run Sinklab\'s attention: call model.set_attn_implementation("sinklab") first, or '
                    "use SinkAttention, and run the model without torch.compile")
    return found


class SinkAttention(nn.Module):
    """Causal multi-head self-attention with an operation of the engine: (batch, token, d_model) to the same.

    Args:
        d_model, heads: as in nn.MultiheadAttention.
        key_heads: key and value heads, a divisor of heads; by default as many.
        op: see ``attention``.
        sink: an extra key that every query sees. None; "zero": its logit is 0, and so is its value (softmax1); "logit": a learned
            logit for each head; "key": a learned key; "key_value": a learned key and value.
        window, prefix: see ``attention``.
        bias: of both projections.
    """

    def __init__(self, d_model: int, heads: int, key_heads: int | None = None, op="Softmax", sink: str | None = None, window: int = 0,
                 prefix: int = 0, bias: bool = False, device=None, dtype=None):
        super().__init__()
        whole("d_model", d_model, 1, 2**24)
        whole("heads", heads, 1, d_model)
        key_heads = heads if key_heads is None else whole("key_heads", key_heads, 1, heads)
        if d_model % heads or heads % key_heads:
            raise Error(f"heads must divide d_model and key_heads must divide heads: {key_heads}, {heads} and {d_model} do not")
        if sink not in (None, "zero", "logit", "key", "key_value"):
            raise Error(f"sink must be None, zero, logit, key or key_value, got {sink!r}")
        self.heads, self.key_heads, self.d_head = heads, key_heads, d_model // heads
        self.op, self.window, self.prefix = op, window, prefix
        like = {"device": device, "dtype": dtype}
        self.qkv = nn.Linear(d_model, (heads + 2 * key_heads) * self.d_head, bias=bias, **like)
        self.out = nn.Linear(d_model, d_model, bias=bias, **like)
        if sink == "zero":
            self.register_buffer("extra_logit", torch.zeros(heads, **like), persistent=False)
        else:
            self.extra_logit = nn.Parameter(torch.zeros(heads, **like)) if sink == "logit" else None
        has_key = sink in ("key", "key_value")
        self.extra_key = nn.Parameter(torch.randn(heads, self.d_head, **like) * 0.02) if has_key else None
        self.extra_value = nn.Parameter(torch.zeros(heads, self.d_head, **like)) if sink == "key_value" else None

    def forward(self, x: Tensor, documents: Tensor | None = None) -> Tensor:
        sizes = [self.heads * self.d_head, *[self.key_heads * self.d_head] * 2]
        q, k, v = (y.unflatten(-1, (-1, self.d_head)).transpose(1, 2) for y in self.qkv(x).split(sizes, -1))
        o = attend_in(self, q, k, v, self.op, window=self.window, prefix=self.prefix, extra_key=self.extra_key,
                      extra_logit=self.extra_logit, extra_value=self.extra_value, documents=documents)
        return self.out(o.transpose(1, 2).flatten(2))

    def extra_repr(self) -> str:
        return f"op={self.op!r}, heads={self.heads}, key_heads={self.key_heads}, window={self.window}, prefix={self.prefix}"


class _Visible:
    """What transformers' layers get as their mask: a window, and documents, which keep padding apart from text."""

    def __init__(self, window: int, documents: Tensor | None):
        self.window, self.documents = window, documents


def register_attention(name: str = "sinklab", op="Softmax") -> None:
    """Makes ``model.set_attn_implementation(name)`` of transformers run the engine's attention, also in other operations than
    softmax. Masks that are not causal, of packed sequences and given as matrices are refused, and so is dropout.

    >>> sinklab.torch.register_attention()
    >>> model.set_attn_implementation("sinklab")
    >>> model(ids)
    >>> sinklab.torch.statistics(model)["model.layers.0.self_attn"].alpha[..., 0]
    """
    try:
        from transformers import AttentionInterface, AttentionMaskInterface
    except ImportError:
        raise Error("register_attention needs transformers: pip install transformers") from None

    def forward(module, query, key, value, attention_mask, **given):
        return _forward(op, module, query, key, value, attention_mask, **given)

    AttentionInterface.register(name, forward)
    AttentionMaskInterface.register(name, _mask)


def _window_of(mask_function) -> int:
    """0 for a causal mask; refuses what is neither causal nor a causal sliding window."""
    from transformers import masking_utils

    if mask_function is masking_utils.causal_mask_function:
        return 0
    inside = _closure(mask_function).get("mask_functions", ())
    if len(inside) == 2 and inside[1] is masking_utils.causal_mask_function:
        window = _closure(inside[0]).get("sliding_window")
        if inside[0].__qualname__.startswith("sliding_window_overlay.") and isinstance(window, int):
            return window
    raise Error("Sinklab's attention is causal, with a sliding window or without: packed sequences, chunks and other masks need "
                'set_attn_implementation("eager")')


def _closure(function) -> dict:
    cells = getattr(function, "__closure__", None) or ()
    return dict(zip(function.__code__.co_freevars, (cell.cell_contents for cell in cells))) if cells else {}


def _mask(q_length, kv_length, mask_function, q_offset=0, kv_offset=0, attention_mask=None, **_):
    window = _window_of(mask_function)
    if int(q_offset) + q_length != kv_offset + kv_length:
        raise Error("Sinklab's attention needs the last query at the last key: use a cache that grows, not a static one")
    documents = None
    if attention_mask is not None and not attention_mask.all():
        documents = attention_mask[:, -kv_length:].int()
        if documents.shape[1] != kv_length or ((documents.diff(dim=1) == 1).sum(1) + documents[:, 0] > 1).any():
            raise Error("padding must be before or after a text, not within it")
    return _Visible(window, documents) if window or documents is not None else None


def _forward(op, module, query, key, value, mask, scaling=None, dropout=0.0, sliding_window=None, softcap=None, s_aux=None,
             is_causal=None, **given):
    if mask is not None and not isinstance(mask, _Visible):
        raise Error("Sinklab's attention takes no mask of a matrix: give attention_mask as (batch, token), or use eager attention")
    if not (getattr(module, "is_causal", True) if is_causal is None else is_causal):
        raise Error("Sinklab's attention is causal: encoders and cross-attention need eager attention")
    refused = {"dropout": dropout, "softcap": softcap, "output_attentions": given.get("output_attentions"),
               "position_bias": given.get("position_bias"), "cu_seq_lens_q": given.get("cu_seq_lens_q")}
    for name, value_of in refused.items():
        if value_of is not None and value_of is not False and not (name == "dropout" and value_of == 0):
            raise Error(f"Sinklab's attention has no {name}: use eager attention"
                        + (", or sinklab.torch.statistics(model)" if name == "output_attentions" else ""))
    window = mask.window if mask is not None else sliding_window or 0
    o = attend_in(module, query, key, value, op, scale=scaling, window=window, extra_logit=s_aux,
                  documents=None if mask is None else mask.documents)
    return o.transpose(1, 2).contiguous(), None
