"""The custom operators sinklab::attention, attention_backward and attention_statistics: the engine's attention with autograd and
fake kernels. They take contiguous tensors of one device; attention_function.py checks and converts what users give."""

from __future__ import annotations

import torch
from torch import Tensor

from sinklab import _core

_COMMON = ("str op, Tensor q, Tensor k, Tensor v, float scale, int window, int prefix, Tensor? bias, Tensor? extra_key, "
           "Tensor? extra_logit, Tensor? extra_value, Tensor? documents")


def _operator(name, arguments, returns):
    return torch.library.custom_op(f"sinklab::{name}", mutates_args=(), schema=f"({arguments}) -> {returns}")


def _engine(function, given):
    """Calls the engine with tensors that need no gradient, after all work of the current stream on them."""
    tensors = [x for x in given if isinstance(x, Tensor)]
    if tensors and tensors[0].is_cuda:
        torch.cuda.current_stream(tensors[0].device).synchronize()
    return function(*(x.detach().contiguous() if isinstance(x, Tensor) else x for x in given))


@_operator("attention", _COMMON, "(Tensor, Tensor, Tensor)")
def attention(*given):
    """o, and the shift m and the sum S of each row."""
    return _engine(_core.attention, given)


def _rows_like(q):
    return q.new_empty(q.shape[:3], dtype=torch.float64 if q.dtype == torch.float64 else torch.float32)


@attention.register_fake
def _(op, q, *_):
    return torch.empty_like(q, memory_format=torch.contiguous_format), _rows_like(q), _rows_like(q)


@_operator("attention_backward", _COMMON + ", Tensor grad_o, Tensor o, Tensor m, Tensor S, bool bias_gradient", "Tensor[]")
def attention_backward(*given):
    """dq, dk, dv, and the gradients of bias, extra_key, extra_logit and extra_value; without elements where there is none."""
    return [given[1].new_empty(0) if d is None else d for d in _engine(_core.attention_backward, given)]


@attention_backward.register_fake
def _(op, q, k, v, scale, window, prefix, bias, extra_key, extra_logit, extra_value, *_):
    return [q.new_empty(0) if x is None else torch.empty_like(x, memory_format=torch.contiguous_format)
            for x in (q, k, v, bias, extra_key, extra_logit, extra_value)]


@_operator("attention_statistics", _COMMON + ", Tensor m, Tensor S", "Tensor[]")
def attention_statistics(*given):
    """The sums of AttentionStatistics._of_sums."""
    return list(_engine(_core.attention_statistics, given))


@attention_statistics.register_fake
def _(op, q, k, *_):
    (batch, heads), keys = q.shape[:2], k.shape[2]
    shapes = [(batch, heads, keys)] * 4 + [(batch, heads)] * 3 + [(batch, keys)]
    return [q.new_empty(shape, dtype=torch.float64) for shape in shapes]


_TENSORS = (1, 2, 3, 7, 8, 9, 10)  # of the arguments that have gradients


def _setup_context(ctx, inputs, output):
    ctx.settings = [None if isinstance(x, Tensor) else x for x in inputs]
    ctx.mark_non_differentiable(*output[1:])
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*(x if isinstance(x, Tensor) else None for x in inputs), *output)


def _backward(ctx, grad_o, *_):
    *inputs, o, m, S = ctx.saved_tensors
    if grad_o is None:
        return (None,) * len(inputs)
    inputs = [x if x is not None else setting for x, setting in zip(inputs, ctx.settings)]
    found = attention_backward(*inputs, grad_o.contiguous(), o, m, S, ctx.needs_input_grad[7])
    gradients = [None] * len(inputs)
    for index, gradient in zip(_TENSORS, found):
        if ctx.needs_input_grad[index]:
            gradients[index] = gradient
    return tuple(gradients)


attention.register_autograd(_backward, setup_context=_setup_context)
