#!/usr/bin/env python3
"""Attention of sinklab.torch, SDPA, FlexAttention and eager PyTorch on the CPU, in one process: time, memory and error.

  compare_attention.py [--tokens 2048] [--heads 8] [--width 64] [--rounds 5] [--threads 2]

Prints a Markdown table. Seconds are CPU seconds of all threads, since other work may run on the machine: the median over rounds, in
each of which every implementation runs once. Memory is the most that the process had during the pass, minus what it had before.
Errors are the largest difference of o, and of dq, from eager PyTorch in float64, divided by the largest value. Needs torch and the module.
"""
import argparse
import ctypes
import math
import resource
import statistics

import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention

import sinklab
import sinklab.torch
from sinklab import _core

compiled_flex = torch.compile(flex_attention, dynamic=False)


def eager(weights):
    def attention(q, k, v):
        s = q @ k.mT / math.sqrt(q.shape[-1])
        mask = torch.ones(s.shape[-2:], dtype=torch.bool).tril()
        return weights(s, mask) @ v
    return attention


def flex(tokens, log_g=None):
    mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, tokens, tokens, device="cpu")
    if log_g is None:
        return lambda q, k, v: compiled_flex(q, k, v, block_mask=mask)

    def attention(q, k, v):  # softmax of log g(s), times its sum
        o, aux = compiled_flex(q, k, v, score_mod=lambda s, b, h, i, j: log_g(s), block_mask=mask, return_aux=AuxRequest(lse=True))
        return o * aux.lse.exp()[..., None]
    return attention


def implementations(tokens):
    ours = lambda op: lambda q, k, v: sinklab.torch.attention(q, k, v, op=op)
    softmax = eager(lambda s, mask: s.masked_fill(~mask, -math.inf).softmax(-1))
    sigmoid = eager(lambda s, mask: torch.sigmoid(s) * mask)
    return {"softmax": {"sinklab": ours("Softmax"), "SDPA": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
                        "FlexAttention": flex(tokens), "eager": softmax},
            "sigmoid": {"sinklab": ours("Sigmoid"), "FlexAttention": flex(tokens, F.logsigmoid), "eager": sigmoid}}


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def resident(field):
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def once(attention, inputs, backward):
    """CPU seconds, MiB, and the results, or the sentence of an error."""
    q, k, v, upstream = inputs
    q, k, v = (x.clone().requires_grad_(backward) for x in (q, k, v))
    _core.release_cached_memory()  # which the engine would use again, and so would malloc
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as clear:
        clear.write("5")  # VmHWM begins again
    before, began = resident("VmRSS"), cpu_seconds()
    with torch.set_grad_enabled(backward):
        o = attention(q, k, v)
    if backward:
        o.backward(upstream)
    return cpu_seconds() - began, resident("VmHWM") - before, (o.detach(), q.grad)


def error(found, exact):
    return (found - exact).abs().max().item() / exact.abs().max().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("tokens", 2048), ("heads", 8), ("width", 64), ("rounds", 5), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    a = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(a.threads)
    sinklab.set_threads(a.threads)
    inputs = [torch.randn(1, a.heads, a.tokens, a.width) for _ in range(4)]
    print(f"{a.heads} heads, {a.tokens} tokens, width {a.width}, float32, {a.threads} threads; torch {torch.__version__}\n")
    print("| operation | | forward, s | with backward, s | forward, MiB | with backward, MiB | error of o | error of dq |\n|---|---|---|---|---|---|---|---|")
    for operation, all_of_it in implementations(a.tokens).items():
        exact = once(all_of_it["eager"], [x.double() for x in inputs], True)[2]
        runs, refused = {name: {False: [], True: []} for name in all_of_it}, {}
        torch._dynamo.reset()
        for backward in (False, True):  # apart: after a backward pass that it refuses, FlexAttention is no longer compiled
            for n in range(a.rounds + 1):  # the first one compiles
                for name, attention in all_of_it.items():
                    if (name, backward) in refused:
                        continue
                    try:
                        run = once(attention, inputs, backward)
                    except (RuntimeError, NotImplementedError) as failure:
                        refused[name, backward] = str(failure).splitlines()[0]
                        continue
                    if n > 0:
                        runs[name][backward].append(run)
        for name, of_name in runs.items():
            forward, both = of_name[False], of_name[True]
            middle = lambda of, which: f"{statistics.median(run[which] for run in of):.3g}" if of else "-"
            worst = lambda of, which: f"{error(of[-1][2][which], exact[which]):.1e}" if of else "-"
            print(f"| {operation} | {name} | {middle(forward, 0)} | {middle(both, 0)} | {middle(forward, 1)} | {middle(both, 1)} | "
                  f"{worst(forward, 0)} | {worst(both, 1)} |")
        for (name, backward), sentence in refused.items():
            print(f"\n{name}{' with its backward pass' if backward else ''}: {sentence}")


if __name__ == "__main__":
    main()
