"""Attention with any operation on the tensors of PyTorch, with gradients and the statistics of sinks.

    import sinklab.torch

    o = sinklab.torch.attention(q, k, v, op="Sigmoid")              # (batch, head, query, d_head)
    o, sinks = sinklab.torch.attention(q, k, v, op="Softmax", statistics=True)
    sinks.alpha[..., 0]                                             # alpha_1 of every head
    own = sinklab.torch.operation("ShiftedExp", g="exp(x - 1) / 8")    # compiled once
    o = sinklab.torch.attention(q, k, v, op=own)

Errors are sinklab.Error, a ValueError.
"""

from sinklab.torch.attention_function import attention, operation_names
from sinklab.torch.attention_statistics import AttentionStatistics
from sinklab.torch.layers import SinkAttention, register_attention, statistics
from sinklab.torch.own_operation import Operation, operation

__all__ = ["AttentionStatistics", "Operation", "SinkAttention", "attention", "operation", "operation_names", "register_attention",
           "statistics"]
