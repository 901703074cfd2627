#!/usr/bin/env python3
"""Greedy text of a model by eval_llama against a float32 computation that has no part in ours.

  check_generation.py EVAL_PROGRAM MODEL [TOKENS]      exit 1 unless all tokens are equal; 77 without the packages

MODEL is a GGUF file (computed eagerly by transformers; needs torch, transformers, accelerate, gguf) or a .bin of
llama2.c, its vocabulary beside it (computed here, from the file's format and LLaMA's formulas; needs numpy). Both read
the same ids; each continues alone, theirs without a cache. Prints how many tokens are equal, how far apart the two best
logits come at the closest, and at the first token that differs the two logits that decide.
"""
import json
import os
import subprocess
import sys

PROMPTS = ["Once upon a time, in a small village", "The capital of France is", "def fibonacci(n):\n",
           "Water boils at", "1, 2, 3, 4, 5,"]


def gguf_model(path):
    """Last logits of a list of ids."""
    import torch
    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_pretrained(os.path.dirname(path) or ".", gguf_file=os.path.basename(path),
                                                 dtype=torch.float32, attn_implementation="eager").eval()

    def logits(ids):
        with torch.no_grad():
            return model(torch.tensor([ids])).logits[0, -1].numpy()
    return logits


def llama2c_model(path):
    """The same of version 0 of llama2.c's files: seven int32, then the tensors, those of all layers together."""
    import numpy as np
    width, hidden, layers, heads, kv_heads, words, context = (int(size) for size in np.fromfile(path, "<i4", 7))
    numbers, at, head = np.fromfile(path, "<f4", offset=28), 0, width // heads

    def take(*shape):
        nonlocal at
        at += int(np.prod(shape))
        return numbers[at - int(np.prod(shape)):at].reshape(shape)

    embedding, attention_gain = take(abs(words), width), take(layers, width)
    to_q, to_k = take(layers, width, width), take(layers, kv_heads * head, width)
    to_v, to_o = take(layers, kv_heads * head, width), take(layers, width, width)
    forward_gain, gate = take(layers, width), take(layers, hidden, width)
    down, up, last_gain = take(layers, width, hidden), take(layers, hidden, width), take(width)
    take(2, context, head // 2)  # tables of the rotation, which follow from its formula
    unembedding = embedding if words > 0 else take(abs(words), width)
    assert at == len(numbers), "not a file of llama2.c's version 0"

    def norm(x, gain):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-5)) * gain

    def by_head(x, count):  # [T, count * head] as [count, T, head], each pair of neighbours turned as complex number
        return x.reshape(len(x), count, head).transpose(1, 0, 2)

    def rotate(x):
        angles = np.arange(x.shape[1])[:, None] * 10000.0 ** (-np.arange(0, head, 2) / head)
        turned = np.ascontiguousarray(x).view(np.complex64) * np.exp(1j * angles).astype(np.complex64)
        return turned.view(np.float32)

    def logits(ids):
        x, later = embedding[ids], np.triu(np.full((len(ids), len(ids)), -np.inf, np.float32), 1)
        for n in range(layers):
            h = norm(x, attention_gain[n])
            q = rotate(by_head(h @ to_q[n].T, heads))
            k, v = (np.repeat(each, heads // kv_heads, 0)
                    for each in (rotate(by_head(h @ to_k[n].T, kv_heads)), by_head(h @ to_v[n].T, kv_heads)))
            scores = q @ k.transpose(0, 2, 1) / np.float32(head ** 0.5) + later
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            o = weights / weights.sum(-1, keepdims=True) @ v
            x = x + o.transpose(1, 0, 2).reshape(len(ids), width) @ to_o[n].T
            h = norm(x, forward_gain[n])
            g = h @ gate[n].T
            x = x + (g / (1 + np.exp(-g)) * (h @ up[n].T)) @ down[n].T
        assert x.dtype == np.float32
        return unembedding @ norm(x[-1], last_gain)
    return logits


def main():
    program, path = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 64
    try:
        model = llama2c_model(path) if path.endswith(".bin") else gguf_model(path)
    except ImportError as error:
        print(f"check_generation.py: {error}", file=sys.stderr)
        sys.exit(77)
    wrong, closest = 0, float("inf")
    for prompt in PROMPTS:
        made = subprocess.run([program, "generate", path, "--text", prompt, "--most", str(count), "--json",
                               "--past-stops"], check=True, capture_output=True, text=True)
        ours = json.loads(made.stdout)
        ids, theirs = list(ours["prompt"]), []
        while len(theirs) < count:
            logits = model(ids + theirs)
            best, other = int(logits.argmax()), ours["tokens"][len(theirs)]
            if best != other:
                print(f"{prompt!r}: token {len(theirs)} is {best} (logit {logits[best]:.6f}), "
                      f"ours {other} ({logits[other]:.6f})")
                wrong += 1
                break
            first, second = sorted(logits)[:-3:-1]
            closest = min(closest, float(first - second))
            theirs.append(best)
        print(f"{prompt!r}: {len(theirs)} of {count} tokens equal")
    print(f"the two best logits are at least {closest:.3g} apart")
    sys.exit(1 if wrong else 0)


main()
