#!/usr/bin/env python3
"""Writes the golden values of the small model, cases.safetensors, from an independent PyTorch float64 implementation.

One model, written from the formulas of the paper and not from the C++: ABLATIONS lists what differs. Attention is an
explicit map of T rows and T columns (one more in front for an extra key), the mask is the explicit set allowed(i, j), and an
operation that does not normalise is multiplied by the mask after its similarity; autograd, AdamW and clipping are
PyTorch's own.

  make_golden.py                 writes every case
  make_golden.py --check         recomputes a few cases and compares (exit 1 on a difference; 77 without PyTorch)
  make_golden.py --check --all   recomputes every case and compares
  make_golden.py --verify        compares autograd's gradients of every case with central differences
  make_golden.py --only NAME     that case alone, with any of the above

Initial values are not stored: both sides compute them from an integer hash, unit() below and UnitStream in
golden_case.h, times a power of two that stands beside the parameter's name in the file. Of many values a sample is
stored, their Euclidean norm, and their sum weighted by another such stream, so that an error anywhere is seen.
Everything is float64.

Needs: torch, numpy. Axes: B batch, L layers, H heads, G key heads, T query and key position (with a sink token
1 + T, the sink token first), D head width, C width, F feed-forward width, V vocabulary, K = 10 first keys.
"""
import argparse
import dataclasses
import math
import pathlib
import sys

try:
    import numpy as np
    import torch
    from torch.nn.functional import pad
except ImportError as error:
    print(f"make_golden.py: {error}; python3 -m venv venv && venv/bin/pip install torch numpy", file=sys.stderr)
    sys.exit(77)  # CTest's SKIP_RETURN_CODE

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import expected as files  # noqa: E402

NORM_EPS = 1e-5
ROTARY_BASE = 10000.0
SUM_EPS = 1e-8  # of the divisors that are sums, and of the proxy weights
ALPHA_KEYS = 10
SINK_EPSILON = (0.2, 0.3, 0.4)
SAMPLE = 19  # a prime: its stride does not walk down one column of a matrix
TRAINING = dict(training_steps=10, learning_rate=1e-2, beta1=0.9, beta2=0.95, adam_eps=1e-8, weight_decay=0.1, clip=1.0)

# ---------------------------------------------------------------------------------------------------------------------
# Attention operations: weights from scores s [B, H, T, S], M [T, S] (1 where the row sees the column, the extra key
# included) and n [T, 1], the number of keys a row sees (the extra key not counted).


def softmax(s, M, n):
    return torch.softmax(s.masked_fill(M == 0, -math.inf), dim=-1)


def scaled_softmax(alpha):
    return lambda s, M, n: alpha * softmax(s, M, n)


def p_norm_exp(p):  # e^s / (sum e^(p s))^(1/p)
    def weights(s, M, n):
        s = s.masked_fill(M == 0, -math.inf)
        return torch.exp(s - torch.logsumexp(p * s, dim=-1, keepdim=True) / p)

    return weights


def p_norm_sigmoid(p):
    def weights(s, M, n):
        g = torch.sigmoid(s) * M
        return g / ((g**p).sum(-1, keepdim=True) + SUM_EPS) ** (1 / p)

    return weights


def elu_plus_one(x):
    return torch.where(x > 0, x + 1, torch.exp(x.clamp(max=0)))


def plain(similarity):
    return lambda s, M, n: similarity(s) * M


def over_sum(similarity):
    return lambda s, M, n: similarity(s) * M / ((similarity(s) * M).sum(-1, keepdim=True) + SUM_EPS)


def absolute_share(s, M, n):
    """What scores sinks where a weight is s / (sum s + 1e-8): the 1e-8 is not added a second time."""
    return (s * M).abs() / ((s * M).abs().sum(-1, keepdim=True) + SUM_EPS)


def linear_max_abs(s, M, n):
    return s * M / (s * M).sum(-1, keepdim=True).abs().clamp(min=1)


def softpick(s, M, n):
    e = torch.exp(s) - 1
    return torch.relu(e) * M / ((e.abs() * M).sum(-1, keepdim=True) + SUM_EPS)


def clipped_softmax(gamma, eta):
    return lambda s, M, n: torch.clamp((eta - gamma) * softmax(s, M, n) + gamma, 0, 1)


def projected(s, M, candidates, weight):
    """Weights of a threshold, in closed form: candidates(scores in descending order, their counts k) are the thresholds if
    the k largest scores alone have a weight; the right k is the last whose k-th score is above its own."""
    s = s.masked_fill(M == 0, -math.inf)
    top = s.sort(dim=-1, descending=True).values
    top = top.masked_fill(top == -math.inf, -1e4)  # never in the support; finite, so that no sum is NaN
    k = torch.arange(1, s.shape[-1] + 1).double()
    tau = candidates(top, k)
    chosen = (top > tau).sum(-1, keepdim=True) - 1
    return weight(torch.relu(torch.where(M == 0, -math.inf, s) - tau.gather(-1, chosen)))


def sparsemax(s, M, n):  # Martins and Astudillo 2016, algorithm 1
    return projected(s, M, lambda top, k: (top.cumsum(-1) - 1) / k, identity)


def entmax15(s, M, n):  # Peters et al. 2019, algorithm 2
    def candidates(top, k):
        mean, mean_square = top.cumsum(-1) / k, (top**2).cumsum(-1) / k
        return mean - torch.sqrt(((1 - k * (mean_square - mean**2)) / k).clamp(min=1e-30))  # sqrt has a slope there

    return projected(s / 2, M, candidates, lambda x: x**2)


def soft_capped(cap):
    return lambda s, M, n: softmax(cap * torch.tanh(s / cap), M, n)


def con_smax(beta, gamma):
    return lambda s, M, n: torch.exp(s - beta) / gamma * M


def identity(x):
    return x


# ---------------------------------------------------------------------------------------------------------------------
# The ablations: what differs from the baseline.


@dataclasses.dataclass
class Ablation:
    position: str = "rotary"  # none absolute learnable relative alibi t5 rotary
    placement: str = "pre"  # pre post sandwich output parallel
    norm: str = "rms"  # rms layer
    glu: bool = True
    activation: object = torch.nn.functional.silu
    add_heads: bool = False
    qk_norm: str = "none"  # none head all: what queries and keys are normed over
    features: str = "none"  # none elu mlp, of q and k after rotary
    op: object = softmax
    proxy: object = None  # of s, M, n: the weights that score sinks, where they are not |a| / (sum |a| + 1e-8)
    sink_token: bool = False
    # An extra key that every row sees: its logit is q.k* (extra_key: head, shared, or the number of learned coordinates), or
    # extra_logit: a number, "learned" or "windowed" (in blocks with a window). Its value is zero, learned, or fixed: v_fixed = (m, "e1" or "u").
    extra_key: object = None
    extra_logit: object = None
    extra_value: str = "none"  # none head shared
    v_fixed: tuple = None
    bias_value: str = "none"  # none head shared: v* added to every head's output
    gate: str = "none"  # none head element truncated swish value affine exclusive
    gated_norm: bool = False  # norms times a gate of rank 16
    learned_offset: bool = False  # added to all scores of a head
    log_scale: float = 0  # scores times this and ln of the number of tokens up to the query
    biases: str = "none"  # none qkv all: products that add one
    logit_cap: float = 0  # logits are cap tanh(logit / cap)
    tied: bool = False  # the unembedding is the token embedding
    turns: str = "plain"  # plain llama3 yarn: how rotations are slowed down
    experts: str = "none"  # none clamped swiglu: the unit of a mixture of them, in place of a feed-forward block
    shared_expert: bool = False  # next to them, gated
    delta_net: bool = False  # a gated delta rule in place of attention, except in every attention_every-th block

    @property
    def has_extra_key(self):
        return self.extra_key is not None or self.extra_logit is not None


def gelu(x):
    return x * (1 + torch.erf(x / math.sqrt(2))) / 2


def gelu_tanh(x):
    return x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


silu, relu, sigmoid = torch.nn.functional.silu, torch.relu, torch.sigmoid
A = Ablation
ABLATIONS = {
    "baseline": A(),
    "pos_nope": A(position="none"),
    "pos_absolute": A(position="absolute"),
    "pos_learnable": A(position="learnable"),
    "pos_relative": A(position="relative"),
    "pos_alibi": A(position="alibi"),
    "pos_t5": A(position="t5"),
    "norm_post": A(placement="post"),
    "norm_sandwich": A(placement="sandwich"),
    "norm_layer": A(norm="layer"),
    "ffn_relu": A(glu=False, activation=relu),
    "ffn_gelu": A(glu=False, activation=gelu),
    "ffn_swish": A(glu=False, activation=silu),
    "ffn_reglu": A(activation=relu),
    "ffn_geglu": A(activation=gelu),
    "head_add": A(add_heads=True),
    "bias_sinktoken": A(sink_token=True),
    "bias_kv": A(extra_key="head", extra_value="head"),
    "bias_k": A(extra_key="head"),
    "bias_v": A(bias_value="head"),
    "bias_kv_shared": A(extra_key="shared", extra_value="shared"),
    "bias_k_shared": A(extra_key="shared"),
    "bias_v_shared": A(bias_value="shared"),
    "bias_k_v1e1": A(extra_key="head", v_fixed=(1, "e1")),
    "bias_k_v5e1": A(extra_key="head", v_fixed=(5, "e1")),
    "bias_k_v20e1": A(extra_key="head", v_fixed=(20, "e1")),
    "bias_k_v1u": A(extra_key="head", v_fixed=(1, "u")),
    "bias_k_v5u": A(extra_key="head", v_fixed=(5, "u")),
    "bias_k_v20u": A(extra_key="head", v_fixed=(20, "u")),
    **{f"bias_k_d{d}": A(extra_key=d) for d in (1, 2, 4, 8, 16, 32, 64)},
    "op_sigmoid_none": A(op=plain(sigmoid)),
    "op_sigmoid_norm": A(op=over_sum(sigmoid)),
    "op_elu_none": A(op=plain(elu_plus_one)),
    "op_elu_norm": A(op=over_sum(elu_plus_one)),
    "kern_elu_norm": A(features="elu", op=over_sum(identity), proxy=absolute_share),
    "kern_elu_none": A(features="elu", op=plain(identity)),
    "kern_id_norm": A(op=linear_max_abs),
    "kern_id_none": A(op=plain(identity)),
    "kern_mlp_norm": A(features="mlp", op=linear_max_abs),
    "kern_mlp_none": A(features="mlp", op=plain(identity)),
    "scale_2": A(op=scaled_softmax(2.0), proxy=softmax),
    "scale_0_2": A(op=scaled_softmax(0.2), proxy=softmax),
    "scale_0_1": A(op=scaled_softmax(0.1), proxy=softmax),
    "scale_0_05": A(op=scaled_softmax(0.05), proxy=softmax),
    **{f"pnorm_exp_{p}": A(op=p_norm_exp(p)) for p in (2, 3, 4)},
    **{f"pnorm_exp_1_{q}": A(op=p_norm_exp(1 / q)) for q in (2, 3, 4)},
    **{f"pnorm_sig_{p}": A(op=p_norm_sigmoid(p)) for p in (1, 2, 3, 4)},
    "op_relu": A(op=plain(relu)),
    "op_relu_n": A(op=lambda s, M, n: relu(s) * M / n),
    "op_sigmoid_logn": A(op=lambda s, M, n: sigmoid(s - torch.log(n)) * M),
    "op_softmax1": A(extra_logit=0.0),
    "op_sink_logit": A(extra_logit="learned"),
    "op_softpick": A(op=softpick),
    "op_clipped": A(op=clipped_softmax(-0.03, 1)),
    "op_sparsemax": A(op=sparsemax, proxy=sparsemax),
    "op_entmax15": A(op=entmax15, proxy=entmax15),
    "op_sigmoid_norm_sink_logit": A(op=over_sum(sigmoid), extra_logit="learned"),
    "op_sparsemax_sink_logit": A(op=sparsemax, proxy=sparsemax, extra_logit="learned"),
    "op_entmax15_sink_logit": A(op=entmax15, proxy=entmax15, extra_logit="learned"),
    "qk_norm": A(qk_norm="head"),
    "gate_head": A(gate="head"),
    "gate_element": A(gate="element"),
    "gate_truncated": A(gate="truncated"),
    "gate_swish": A(gate="swish"),
    "gate_value": A(gate="value"),
    "gate_affine": A(gate="affine"),
    "gate_xsa": A(gate="exclusive"),
    "op_consmax": A(op=con_smax(2.5, 100), learned_offset=True),
    "op_ssmax": A(log_scale=0.25),
    "op_sink_logit_windowed": A(extra_logit="windowed"),
    "norm_gated": A(gated_norm=True),
    "pos_learnable_sigmoid": A(position="learnable", op=plain(sigmoid)),
    "pos_learnable_relu": A(position="learnable", op=plain(relu)),
    "gpt2": A(position="learnable", norm="layer", glu=False, activation=gelu_tanh, biases="all", tied=True),
    "opt": A(position="learnable", norm="layer", glu=False, activation=relu, biases="all", tied=True),
    "gpt_neox": A(placement="parallel", norm="layer", glu=False, activation=gelu, biases="all"),
    "falcon": A(placement="parallel", norm="layer", glu=False, activation=gelu),
    "llama": A(),
    "llama3": A(turns="llama3"),
    "qwen2": A(biases="qkv"),
    "qwen3": A(qk_norm="head"),
    "qwen3_5": A(qk_norm="head", gate="element", delta_net=True),
    "gemma2": A(placement="sandwich", activation=gelu_tanh, op=soft_capped(50.0), proxy=soft_capped(50.0), logit_cap=30.0),
    "gemma3": A(placement="sandwich", activation=gelu_tanh, qk_norm="head"),
    "gpt_oss": A(extra_logit="learned", biases="all", turns="yarn", experts="clamped"),
    "mixtral": A(experts="swiglu"),
    "qwen3_moe": A(qk_norm="head", experts="swiglu"),
    "qwen2_moe": A(biases="qkv", experts="of softmax", shared_expert=True),
    "olmoe": A(qk_norm="all", experts="of softmax"),
    "gemma": A(activation=gelu_tanh),
    "starcoder2": A(norm="layer", glu=False, activation=gelu_tanh, biases="all"),
    "cohere": A(placement="parallel", norm="layer"),
    "olmo": A(norm="layer"),
    "stablelm": A(norm="layer", biases="qkv"),
    "nemotron": A(norm="layer", glu=False, activation=lambda x: torch.relu(x) ** 2),
    "glm4": A(placement="sandwich", biases="qkv"),
    "exaone4": A(placement="output", qk_norm="head", turns="llama3"),
    "olmo2": A(placement="output", qk_norm="all"),
}


@dataclasses.dataclass
class Sizes:
    layers: int = 2
    heads: int = 3
    kv_heads: int = 3
    head_width: int = 4
    feed_forward: int = 10
    vocabulary: int = 17
    context: int = 13  # longer than the sequences: learned positions that nobody reads
    batch: int = 2
    length: int = 11
    window: int = 0
    prefix: int = 0
    # 0: the usual one
    norm_epsilon: float = 0
    attention_scale: float = 0
    global_every: int = 0  # layers n, 2 n, ... have no window
    rotary_base: float = 0
    rotary_part: float = 0
    rotary_factor: float = 0
    rotary_context: int = 0
    rotary_local_base: float = 0  # of layers with a window
    no_rope_every: int = 0  # layers n, 2 n, ... do not rotate
    experts: int = 0
    chosen_experts: int = 0
    shared_feed_forward: int = 0
    attention_every: int = 0
    delta_heads: int = 0
    delta_key_heads: int = 0
    delta_key_width: int = 0
    delta_value_width: int = 0
    convolution: int = 0

    @property
    def width(self):
        return self.heads * self.head_width


def cases():
    """case -> (ablation, sizes)"""
    own_sizes = {f"bias_k_d{d}": dict(layers=1, heads=1, kv_heads=1, head_width=d + 2) for d in (8, 16, 32, 64)}
    own_sizes["bias_k_d4"] = dict(head_width=6)
    own_sizes["pos_alibi"] = dict(heads=6, kv_heads=6)  # two slopes of the doubled set
    # Long enough for most of the 32 buckets.
    own_sizes["pos_relative"] = dict(length=131, context=131, batch=1, vocabulary=5, layers=1)
    own_sizes["pos_t5"] = dict(length=131, context=131, batch=1, vocabulary=5)
    # Of families of open models, with numbers as theirs.
    own_sizes["gpt2"] = own_sizes["opt"] = dict(norm_epsilon=1e-4)
    own_sizes["falcon"] = dict(heads=4, kv_heads=2)
    own_sizes["gpt_neox"] = dict(rotary_part=0.5, rotary_base=300.0)
    own_sizes["llama"] = dict(heads=4, kv_heads=2, rotary_base=500.0, rotary_factor=2.0, norm_epsilon=1e-6)
    own_sizes["llama3"] = dict(head_width=8, rotary_base=30.0, rotary_factor=8.0, rotary_context=40)
    own_sizes["qwen3"] = dict(heads=4, kv_heads=2, norm_epsilon=1e-3)
    own_sizes["qwen3_5"] = dict(layers=4, heads=4, kv_heads=2, rotary_part=0.5, rotary_base=300.0, norm_epsilon=1e-3, attention_every=2,
                                delta_heads=6, delta_key_heads=3, delta_key_width=3, delta_value_width=5, convolution=3)
    own_sizes["gemma3"] = dict(window=3, global_every=2, rotary_base=1000.0, rotary_local_base=10.0,
                               attention_scale=0.3, kv_heads=1)
    own_sizes["olmo2"] = dict(heads=4, kv_heads=2, rotary_base=500.0, norm_epsilon=1e-3)
    own_sizes["gpt_oss"] = dict(head_width=6, heads=4, kv_heads=2, window=3, global_every=2, rotary_base=500.0,
                                rotary_factor=8.0, rotary_context=300, experts=5, chosen_experts=2)
    own_sizes["op_sink_logit_windowed"] = dict(window=4, global_every=2)
    own_sizes["gemma2"] = dict(window=3, global_every=2, attention_scale=6.0, kv_heads=1)
    own_sizes["mixtral"] = dict(heads=4, kv_heads=2, window=5, rotary_base=500.0, experts=5, chosen_experts=2)
    own_sizes["qwen3_moe"] = own_sizes["olmoe"] = dict(heads=4, kv_heads=2, rotary_base=500.0, norm_epsilon=1e-3, experts=7, chosen_experts=3)
    own_sizes["starcoder2"] = own_sizes["gemma"] = dict(heads=4, kv_heads=2, rotary_base=500.0)
    own_sizes["olmo"] = dict(heads=4, kv_heads=2, rotary_base=500.0)
    own_sizes["stablelm"] = own_sizes["nemotron"] = dict(heads=4, kv_heads=2, rotary_part=0.5, rotary_base=300.0)
    own_sizes["cohere"] = dict(heads=4, kv_heads=2, window=3, global_every=2, no_rope_every=2)
    own_sizes["glm4"] = dict(heads=4, kv_heads=2, rotary_part=0.5, rotary_base=300.0)
    own_sizes["exaone4"] = dict(own_sizes["llama3"], heads=4, kv_heads=2)
    own_sizes["qwen2_moe"] = dict(heads=4, kv_heads=2, rotary_base=500.0, experts=7, chosen_experts=3, shared_feed_forward=6)
    window, prefix = dict(window=4), dict(prefix=3)
    both = {**window, **prefix}
    grouped = dict(heads=4, kv_heads=2)
    variants = {
        "window4": (window, ["baseline", "op_sigmoid_none", "bias_sinktoken"]),
        "prefix3": (prefix, ["baseline", "op_sigmoid_none", "bias_sinktoken", "norm_post"]),
        "window4-prefix3": (both, ["baseline", "op_sigmoid_none", "op_softpick", "op_relu_n", "op_sigmoid_logn",
                                   "op_clipped", "op_sink_logit", "op_sparsemax", "kern_id_norm", "bias_kv", "bias_sinktoken",
                                   "pos_alibi", "pos_relative", "pos_t5"]),
        "window2-prefix3": (dict(window=2, prefix=3), ["baseline"]),
        "norope2": (dict(no_rope_every=2), ["baseline"]),
        "kv1": (dict(kv_heads=1), ["baseline", "op_sigmoid_none"]),
        "heads4-kv2": (grouped, ["baseline", "bias_kv", "kern_mlp_norm", "qk_norm", "head_add", "gate_head",
                                 "gate_affine", "gate_truncated", "gate_swish", "gate_value", "gate_xsa", "op_consmax", "op_ssmax"]),
        "heads4-kv2-window4-prefix3": ({**grouped, **both}, ["op_softpick", "op_entmax15", "pos_t5"]),
    }
    table = {name: (name, Sizes(**own_sizes.get(name, {}))) for name in ABLATIONS}
    for suffix, (sizes, names) in variants.items():
        for name in names:
            table[f"{name}-{suffix}"] = (name, Sizes(**sizes))
    return table


CASES = cases()
CHECKED = ["baseline", "bias_sinktoken-window4-prefix3", "op_softpick-heads4-kv2-window4-prefix3", "bias_k_d64"]
MAPPED = ["baseline", "baseline-window4-prefix3", "bias_kv", "bias_sinktoken", "op_softpick"]  # have a map stored

# ---------------------------------------------------------------------------------------------------------------------
# Initial values


def unit(name, count):
    """The first `count` numbers of the stream of this name: multiples of 2^-15 in [-1, 1).

    FNV-1a of the name starts a SplitMix64 generator whose outputs keep their top 16 bits.
    """
    state = 14695981039346656037
    for byte in name.encode():
        state = ((state ^ byte) * 1099511628211) % 2**64
    with np.errstate(over="ignore"):
        z = np.uint64(state) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return ((z >> np.uint64(48)).astype(np.float64) - 32768) / 32768


def has_window(s, layer):
    return bool(s.window) and not (s.global_every and (layer + 1) % s.global_every == 0)


def has_delta_rule(ablation, s, layer):
    return ablation.delta_net and (layer + 1) % s.attention_every != 0


def parameter_shapes(ablation, s):
    c, f, h, d = s.width, s.feed_forward, s.heads, s.head_width
    norm_parts = ("gain", "bias") if ablation.norm == "layer" else ("gain",)
    shapes = {"embedding.token.weight": (s.vocabulary, c)}
    if ablation.position == "learnable":
        shapes["embedding.position.weight"] = (s.context + ablation.sink_token, c)
    if ablation.position == "t5":
        shapes["position.bias.weight"] = (h, 32)
    if ablation.learned_offset:
        shapes["position.offset.weight"] = (s.layers, h)
    if ablation.sink_token:
        shapes["embedding.sink_token.weight"] = (1, c)

    def add_norm(prefix):
        shapes.update({f"{prefix}.{part}": (c,) for part in norm_parts})
        if ablation.gated_norm:
            shapes.update({f"{prefix}.down.weight": (16, c), f"{prefix}.up.weight": (c, 16)})

    def add_attention(attention, layer):
        shapes[attention + "qkv.weight"] = ((h + 2 * s.kv_heads) * d, c)
        if ablation.biases != "none":
            shapes[attention + "qkv.bias"] = ((h + 2 * s.kv_heads) * d,)
        shapes[attention + "out.weight"] = (c, d if ablation.add_heads else h * d)
        if ablation.biases == "all":
            shapes[attention + "out.bias"] = (c,)
        if ablation.qk_norm != "none":
            every = ablation.qk_norm == "all"
            shapes[attention + "query_norm.gain"] = (h * d if every else d,)
            shapes[attention + "key_norm.gain"] = (s.kv_heads * d if every else d,)
        if ablation.features == "mlp":
            shapes[attention + "features.up.weight"] = shapes[attention + "features.down.weight"] = (d, d)
        key = ablation.extra_key
        if key is not None:
            shapes[attention + "extra.key"] = {"head": (h, d), "shared": (d,)}.get(key) or (h, key)
        for kind in (ablation.extra_value, ablation.bias_value):
            if kind != "none":
                shapes[attention + "extra.value"] = (h, d) if kind == "head" else (d,)
        if ablation.extra_logit == "learned" or (ablation.extra_logit == "windowed" and has_window(s, layer)):
            shapes[attention + "extra.logit"] = (h,)
        if ablation.gate not in ("none", "exclusive"):
            rows = dict(element=h * d, swish=h * d, value=s.kv_heads * d).get(ablation.gate, h)
            shapes[attention + "gate.weight"] = (rows, c // 8 if ablation.gate == "truncated" else c)
        if ablation.gate == "affine":
            shapes[attention + "gate.bias"] = (h,)

    for layer in range(s.layers):
        attention, feed_forward = f"blocks.{layer}.attention.", f"blocks.{layer}.feed_forward."
        for prefix in (attention, feed_forward):
            if ablation.placement != "output":
                add_norm(prefix + "norm")
            if ablation.placement in ("sandwich", "output"):
                add_norm(prefix + "post_norm")
        if has_delta_rule(ablation, s, layer):
            keys, values = s.delta_key_heads * s.delta_key_width, s.delta_heads * s.delta_value_width
            for part, shape in {"qkv.weight": (2 * keys + values, c), "convolution.weight": (2 * keys + values, s.convolution),
                                "a.weight": (s.delta_heads, c), "b.weight": (s.delta_heads, c), "log_rate": (s.delta_heads,),
                                "bias": (s.delta_heads,), "norm.gain": (s.delta_value_width,), "z.weight": (values, c),
                                "out.weight": (c, values)}.items():
                shapes[f"{attention}delta.{part}"] = shape
        else:
            add_attention(attention, layer)
        if ablation.experts != "none":
            E = s.experts
            for part, shape in dict(router=(E, c), gate_up=(E * 2 * f, c), down=(c, E * f)).items():
                bias = (c, E) if part == "down" else shape[:1]
                shapes[f"{feed_forward}{part}.weight"] = shape
                if ablation.biases == "all":
                    shapes[f"{feed_forward}{part}.bias"] = bias
            if ablation.shared_expert:
                S = s.shared_feed_forward
                for part, shape in dict(gate_up=(2 * S, c), down=(c, S), gate=(1, c)).items():
                    shapes[f"{feed_forward}shared.{part}.weight"] = shape
            continue
        first, rows = ("gate_up", 2 * f) if ablation.glu else ("up", f)
        shapes[feed_forward + first + ".weight"] = (rows, c)
        shapes[feed_forward + "down.weight"] = (c, f)
        if ablation.biases == "all":
            shapes.update({feed_forward + first + ".bias": (rows,), feed_forward + "down.bias": (c,)})
    if ablation.placement != "post":
        add_norm("final_norm")
    if not ablation.tied:
        shapes["unembedding.weight"] = (s.vocabulary, c)
    return shapes


def initial_range(name, shape):
    """Values are offset + scale * unit; the scale is a power of two, so that float32 holds them exactly."""
    if name.endswith(".gain"):
        return 1, 0.25
    if name.endswith((".bias", ".log_rate")):
        return 0, 0.25
    if name.startswith(("embedding", "position")) or ".extra." in name:
        return 0, 1
    return 0, 2.0 ** round(math.log2(2.25 / math.sqrt(shape[1])))


def make_parameters(ablation, s):
    parameters = {}
    for name, shape in parameter_shapes(ablation, s).items():
        offset, scale = initial_range(name, shape)
        values = offset + scale * unit(name, math.prod(shape)).reshape(shape)
        parameters[name] = torch.from_numpy(values).requires_grad_(True)
    return parameters


def make_batch(s):
    """Token ids and targets [B, T], -1 where a target does not count."""
    shape = (s.batch, s.length)

    def ids(name, count):
        return np.floor((unit(name, count) + 1) / 2 * s.vocabulary).astype(np.int64)

    tokens = ids("tokens", math.prod(shape)).reshape(shape)
    targets = np.concatenate([tokens[:, 1:], ids("last targets", s.batch)[:, None]], axis=1)
    targets[(unit("ignored", math.prod(shape)) > 0.7).reshape(shape)] = -1
    targets[:, : max(0, s.prefix - 1)] = -1  # tokens of the prefix see each other
    return torch.from_numpy(tokens), torch.from_numpy(targets)


# ---------------------------------------------------------------------------------------------------------------------
# The model


def rms_norm(x, gain, epsilon):
    return gain * x / torch.sqrt(x.square().mean(dim=-1, keepdim=True) + epsilon)


def layer_norm(x, gain, bias, epsilon):
    centred = x - x.mean(dim=-1, keepdim=True)
    return gain * centred / torch.sqrt(centred.square().mean(dim=-1, keepdim=True) + epsilon) + bias


def sinusoids(length, width):
    """sin of every frequency, then cos of every frequency: [T, C]."""
    angle = torch.outer(torch.arange(length).double(), 10000.0 ** (-torch.arange(0, width, 2).double() / width))
    return torch.cat([torch.sin(angle), torch.cos(angle)], dim=-1)


def slowed(frequency, turns, s):
    """What a longer context does to the rotations, by wavelength in the form of LLaMA 3."""
    factor = s.rotary_factor or 1.0
    if turns == "yarn":  # pairs from low to high go over from what they were to what is divided by the factor
        pairs, base = len(frequency), s.rotary_base or ROTARY_BASE

        def pair(rotations):
            return pairs * math.log(s.rotary_context / (rotations * 2 * math.pi)) / math.log(base)

        low, high = max(pair(32), 0), min(pair(1), 2 * pairs - 1)
        ramp = ((torch.arange(pairs).double() - low) / (high - low)).clamp(0, 1)
        return frequency / factor * ramp + frequency * (1 - ramp)
    if turns == "plain":
        return frequency / factor
    first = s.rotary_context or s.context
    wavelength = 2 * math.pi / frequency
    smooth = (first / wavelength - 1) / (4 - 1)
    between = (1 - smooth) * frequency / factor + smooth * frequency
    result = torch.where(wavelength > first, frequency / factor, between)
    return torch.where(wavelength < first / 4, frequency, result)


def rotate(x_BHTD, turns, s, is_local):
    """Coordinate i and coordinate i + R/2 as one complex number, turned by position * base^(-2i/R); R: what rotates."""
    R = round((s.rotary_part or 1) * x_BHTD.shape[3])
    positions, half = x_BHTD.shape[2], R // 2
    z = torch.complex(x_BHTD[..., :half], x_BHTD[..., half:R])
    local = is_local and s.rotary_local_base
    base = s.rotary_local_base if local else s.rotary_base or ROTARY_BASE
    frequency = base ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = torch.outer(torch.arange(positions, dtype=torch.float64), frequency if local else slowed(frequency, turns, s))
    z = z * torch.exp(1j * angle)
    if turns == "yarn":
        z = z * (0.1 * math.log(s.rotary_factor) + 1)
    return torch.cat([z.real, z.imag, x_BHTD[..., R:]], dim=-1)


def bucket(distance):
    """Exact below 16, then 16 more buckets up to distance 128, logarithmically."""
    if distance < 16:
        return distance
    return min(31, 16 + math.floor(16 * math.log(distance / 16) / math.log(8)))


def alibi_slopes(heads):
    """2^(-8h/H), h from 1; for another H those of the power of two below, then every other one of its double."""
    below = 2 ** math.floor(math.log2(heads))
    slopes = [2.0 ** (-8 * h / below) for h in range(1, below + 1)]
    doubled = [2.0 ** (-8 * h / (2 * below)) for h in range(1, 2 * below + 1)]
    return slopes + doubled[0::2][: heads - below]


def position_bias(kind, parameters, heads, length):
    """What is added to the scores [H, T, T] (or broadcasts to it); a key ahead of its query counts as distance 0."""
    distance = (torch.arange(length)[:, None] - torch.arange(length)[None, :]).clamp(min=0)
    if kind == "alibi":
        return -torch.tensor(alibi_slopes(heads), dtype=torch.float64)[:, None, None] * distance
    buckets = torch.tensor([[bucket(d) for d in row] for row in distance.tolist()])
    if kind == "relative":
        return buckets.double()
    if kind == "t5":
        return parameters["position.bias.weight"][:, buckets]
    return 0.0


def allowed_keys(length, window, prefix):
    """M[i, j] = 1 where query i sees key j."""
    i, j = torch.arange(length)[:, None], torch.arange(length)[None, :]
    causal = (j <= i) & (i - j < window if window else True)
    return (causal | (j < prefix)).double()


def delta_net(s, parameters, prefix, h_BTC):
    """Token by token: the state S maps keys to values (Yang, Kautz and Hatamizadeh 2025, equation 10)."""
    get = lambda name: parameters[f"{prefix}delta.{name}"]
    keys, K, D, H = s.delta_key_heads * s.delta_key_width, s.delta_key_width, s.delta_value_width, s.delta_heads
    w_EK = get("convolution.weight")
    x = pad(h_BTC @ get("qkv.weight").T, (0, 0, s.convolution - 1, 0))
    x = silu(sum(w_EK[:, n] * x[:, n: n + h_BTC.shape[1]] for n in range(s.convolution)))
    q, k, v = x.split([keys, keys, H * D], dim=-1)
    unit_length = lambda y: y / torch.sqrt(y.square().sum(-1, keepdim=True) + 1e-6)
    q, k = (unit_length(y.unflatten(-1, (-1, K))).repeat_interleave(H // s.delta_key_heads, dim=2) for y in (q, k))
    v, a = v.unflatten(-1, (H, D)), h_BTC @ get("a.weight").T + get("bias")
    decay = torch.exp(-torch.exp(get("log_rate")) * torch.log(1 + torch.exp(a)))
    beta = sigmoid(h_BTC @ get("b.weight").T)
    S, rows = torch.zeros(h_BTC.shape[0], H, K, D).double(), []
    for t in range(h_BTC.shape[1]):
        S = decay[:, t, :, None, None] * S
        change = beta[:, t, :, None] * (v[:, t] - torch.einsum("bhk,bhkd->bhd", k[:, t], S))
        S = S + torch.einsum("bhk,bhd->bhkd", k[:, t], change)
        rows.append(torch.einsum("bhk,bhkd->bhd", q[:, t], S) / math.sqrt(K))
    o = rms_norm(torch.stack(rows, dim=1), get("norm.gain"), s.norm_epsilon or NORM_EPS).flatten(2)
    return (o * silu(h_BTC @ get("z.weight").T)) @ get("out.weight").T


def attention(ablation, s, parameters, prefix, h_BTC, seen):
    block = int(prefix.split(".")[1]) + 1
    if has_delta_rule(ablation, s, block - 1):
        return delta_net(s, parameters, prefix, h_BTC)
    is_global = bool(s.global_every) and block % s.global_every == 0
    window, epsilon = 0 if is_global else s.window, s.norm_epsilon or NORM_EPS
    heads, groups, d = s.heads, s.kv_heads, s.head_width
    length, E = h_BTC.shape[1], int(ablation.has_extra_key)
    parts = [heads * d, groups * d, groups * d]
    rows = parameters[prefix + "qkv.weight"].split(parts)
    q, k, v = (torch.einsum("btc,hdc->bhtd", h_BTC, w.reshape(-1, d, s.width)) for w in rows)
    if ablation.biases != "none":
        biases = parameters[prefix + "qkv.bias"].split(parts)
        q, k, v = (x + b.reshape(1, -1, 1, d) for x, b in zip((q, k, v), biases))
    if ablation.qk_norm == "all":
        q, k = (rms_norm(x.transpose(1, 2).flatten(2), parameters[f"{prefix}{name}_norm.gain"], epsilon)
                .unflatten(2, (-1, d)).transpose(1, 2) for x, name in ((q, "query"), (k, "key")))
    if ablation.qk_norm == "head":
        q = rms_norm(q, parameters[prefix + "query_norm.gain"], epsilon)
        k = rms_norm(k, parameters[prefix + "key_norm.gain"], epsilon)
    if ablation.position == "rotary" and not (s.no_rope_every and block % s.no_rope_every == 0):
        q, k = (rotate(x, ablation.turns, s, is_local=window > 0) for x in (q, k))
    if ablation.log_scale:
        q = q * ablation.log_scale * torch.log(torch.arange(1, length + 1).double())[:, None]
    if ablation.features == "elu":
        q, k = elu_plus_one(q), elu_plus_one(k)
    if ablation.features == "mlp":
        up, down = parameters[prefix + "features.up.weight"], parameters[prefix + "features.down.weight"]
        q, k = (torch.relu(x @ up.T) @ down.T for x in (q, k))
    if ablation.gate == "value":  # each element of the values of each key head
        v = v * sigmoid(h_BTC @ parameters[prefix + "gate.weight"].T).unflatten(-1, (groups, d)).transpose(1, 2)
    seen["keys"].append(k)
    seen["values"].append(v)
    # Query head h reads key head h / (H / G).
    k, v = (x.repeat_interleave(heads // groups, dim=1) for x in (k, v))

    dots = torch.einsum("bhid,bhjd->bhij", q, k)
    scores = dots * (s.attention_scale or 1 / math.sqrt(d)) + position_bias(ablation.position, parameters, heads, length)
    # The sink token is one more token that every token sees, where there is such a prefix.
    mask = allowed_keys(length, window, s.prefix + 1 if s.prefix and ablation.sink_token else s.prefix)
    n = mask.sum(dim=-1, keepdim=True)
    if ablation.learned_offset:
        scores = scores + parameters["position.offset.weight"][block - 1][:, None, None]
    if ablation.has_extra_key:
        scores = torch.cat([extra_scores(ablation, parameters, prefix, q)[..., None], scores], dim=-1)
        mask = pad(mask, (1, 0), value=1.0)
    weights = ablation.op(scores, mask, n)
    # Softmax rows sum to one, the extra key included, and are their own proxy.
    if ablation.proxy is not None:
        proxy = ablation.proxy(scores, mask, n)
    else:
        proxy = weights if ablation.op is softmax else weights.abs() / (weights.abs().sum(-1, keepdim=True) + SUM_EPS)
    o = torch.einsum("bhij,bhjd->bhid", weights[..., E:], v)
    if ablation.has_extra_key:
        o = o + weights[..., :1] * extra_value(ablation, parameters, prefix, d)
    if ablation.bias_value != "none":
        value = parameters[prefix + "extra.value"]
        o = o + (value[:, None] if ablation.bias_value == "head" else value)
    for name, value in (("weights", weights), ("proxy", proxy), ("mask", mask[:, E:]), ("dots", dots),
                        ("norms", q.norm(dim=-1)[..., :, None] * k.norm(dim=-1)[..., None, :])):
        seen[name].append(value)

    out = parameters[prefix + "out.weight"]
    if ablation.add_heads:
        return o.sum(dim=1) @ out.T
    if ablation.gate == "exclusive":  # without the part along the own value
        own = v / v.norm(dim=-1, keepdim=True)
        o = o - (o * own).sum(dim=-1, keepdim=True) * own
    elif ablation.gate not in ("none", "value"):  # [B, T, H, 1 or D]
        w = parameters[prefix + "gate.weight"]
        gate = (silu if ablation.gate == "swish" else sigmoid)(h_BTC[..., : w.shape[1]] @ w.T).unflatten(-1, (heads, -1))
        o = o * gate.transpose(1, 2)
        if ablation.gate == "affine":  # weights alpha a + beta, beta the same for all keys that a query sees
            row_sum = torch.sigmoid(parameters[prefix + "gate.bias"])[:, None, None]
            beta = mask[:, E:] * (row_sum - gate.transpose(1, 2)) / n
            o = o + torch.einsum("bhij,bhjd->bhid", beta, v)
    o = torch.einsum("bhtd,chd->btc", o, out.reshape(s.width, heads, d))
    return o + parameters[prefix + "out.bias"] if ablation.biases == "all" else o


def extra_scores(ablation, parameters, prefix, q_BHTD):
    if ablation.extra_key is not None:
        key = parameters[prefix + "extra.key"]  # [H, D], [D], or [H, d_a]: the other coordinates are zero
        return torch.einsum("bhtd,hd->bht", q_BHTD[..., : key.shape[-1]],
                            key.expand(q_BHTD.shape[1], -1)) / math.sqrt(q_BHTD.shape[-1])
    logit = ablation.extra_logit
    if logit == "windowed":
        logit = "learned" if prefix + "extra.logit" in parameters else -math.inf
    logit = parameters[prefix + "extra.logit"] if logit == "learned" else torch.tensor([logit]).double()
    return logit[:, None].expand(q_BHTD.shape[:-1])


def extra_value(ablation, parameters, prefix, d):
    """[H, 1, D] or [D]"""
    if ablation.extra_value != "none":
        value = parameters[prefix + "extra.value"]
        return value[:, None] if ablation.extra_value == "head" else value
    value = torch.zeros(d, dtype=torch.float64)
    if ablation.v_fixed:
        m, direction = ablation.v_fixed
        if direction == "e1":
            value[0] = m
        else:
            value[:] = m / math.sqrt(d)
    return value


def mixtral_mixture(s, parameters, prefix, h_BTC, divided):
    """As transformers has it: the softmax of all of the router's logits, of which the largest are divided by their sum (OLMoE: are not)."""
    get = lambda name: parameters[prefix + name]
    gate_up_w, down_w = get("gate_up.weight").unflatten(0, (s.experts, -1)), get("down.weight").unflatten(1, (s.experts, -1))
    rows = []
    for h in h_BTC.flatten(0, 1):
        chosen = torch.topk(torch.softmax(get("router.weight") @ h, 0), s.chosen_experts)
        y = 0
        for p, e in zip(chosen.values / (chosen.values.sum() if divided else 1), chosen.indices.tolist()):
            gate, up = (gate_up_w[e] @ h).unflatten(0, (-1, 2)).unbind(1)
            y = y + p * (down_w[:, e] @ (silu(gate) * up))
        rows.append(y)
    return torch.stack(rows).reshape(h_BTC.shape)


def mixture(s, parameters, prefix, h_BTC):
    """Token by token and expert by expert: those with the largest of the router's logits, weighed by their softmax."""
    get = lambda name: parameters[prefix + name]
    gate_up_w, gate_up_b = (get(f"gate_up.{p}").unflatten(0, (s.experts, -1)) for p in ("weight", "bias"))
    down_w, down_b = get("down.weight").unflatten(1, (s.experts, -1)), get("down.bias")
    rows = []
    for h in h_BTC.flatten(0, 1):
        chosen = torch.topk(get("router.weight") @ h + get("router.bias"), s.chosen_experts)
        y = 0
        for p, e in zip(torch.softmax(chosen.values, 0), chosen.indices.tolist()):
            gate, up = (gate_up_w[e] @ h + gate_up_b[e]).unflatten(0, (-1, 2)).unbind(1)
            gate, up = gate.clamp(max=7), up.clamp(-7, 7)
            y = y + p * (down_w[:, e] @ ((up + 1) * gate * torch.sigmoid(1.702 * gate)) + down_b[:, e])
        rows.append(y)
    return torch.stack(rows).reshape(h_BTC.shape)


def feed_forward(ablation, s, parameters, prefix, h_BTC):
    if ablation.experts in ("swiglu", "of softmax"):
        y_BTC = mixtral_mixture(s, parameters, prefix, h_BTC, ablation.experts == "swiglu")
        if ablation.shared_expert:
            w = {part: parameters[f"{prefix}shared.{part}.weight"] for part in ("gate_up", "down", "gate")}
            gate, up = (h_BTC @ w["gate_up"].T).chunk(2, dim=-1)
            y_BTC = y_BTC + sigmoid(h_BTC @ w["gate"].T) * ((silu(gate) * up) @ w["down"].T)
        return y_BTC
    if ablation.experts == "clamped":
        return mixture(s, parameters, prefix, h_BTC)

    def product(name, x):
        y = x @ parameters[f"{prefix}{name}.weight"].T
        return y + parameters[f"{prefix}{name}.bias"] if ablation.biases == "all" else y

    if ablation.glu:
        gate, up = product("gate_up", h_BTC).chunk(2, dim=-1)
        activated = ablation.activation(gate) * up
    else:
        activated = ablation.activation(product("up", h_BTC))
    return product("down", activated)


def forward(ablation, s, parameters, tokens):
    """Logits [B, T, V] and what the measurements need, each a list over layers."""
    names = ("weights", "proxy", "mask", "dots", "norms", "keys", "values", "hidden", "hidden_before_norm")
    seen = {name: [] for name in names}

    def norm(name, x):
        gain = parameters[name + ".gain"]
        epsilon = s.norm_epsilon or NORM_EPS
        if ablation.norm == "rms":
            n = rms_norm(x, gain, epsilon)
            if ablation.gated_norm:
                down, up = (parameters[f"{name}.{part}.weight"] for part in ("down", "up"))
                n = n * sigmoid(silu(n @ down.T) @ up.T)
            return n
        return layer_norm(x, gain, parameters[name + ".bias"], epsilon)

    x = parameters["embedding.token.weight"][tokens]
    if ablation.sink_token:
        x = torch.cat([parameters["embedding.sink_token.weight"].expand(len(x), 1, -1), x], dim=1)
    if ablation.position == "absolute":
        x = x + sinusoids(x.shape[1], s.width)
    if ablation.position == "learnable":
        x = x + parameters["embedding.position.weight"][: x.shape[1]]
    seen["hidden"].append(x)
    for layer in range(s.layers):
        attend = f"blocks.{layer}.attention."
        feed = f"blocks.{layer}.feed_forward."
        if ablation.placement == "post":
            x = norm(attend + "norm", x + attention(ablation, s, parameters, attend, x, seen))
            x = x + feed_forward(ablation, s, parameters, feed, x)
            seen["hidden_before_norm"].append(x)
            x = norm(feed + "norm", x)
        elif ablation.placement == "output":
            x = x + norm(attend + "post_norm", attention(ablation, s, parameters, attend, x, seen))
            x = x + norm(feed + "post_norm", feed_forward(ablation, s, parameters, feed, x))
        else:
            sandwich = ablation.placement == "sandwich"
            y = attention(ablation, s, parameters, attend, norm(attend + "norm", x), seen)
            x = x + (norm(attend + "post_norm", y) if sandwich else y)
            before = seen["hidden"][-1] if ablation.placement == "parallel" else x
            y = feed_forward(ablation, s, parameters, feed, norm(feed + "norm", before))
            x = x + (norm(feed + "post_norm", y) if sandwich else y)
        seen["hidden"].append(x)
    if ablation.placement != "post":
        x = norm("final_norm", x)
    unembedding = parameters["embedding.token.weight" if ablation.tied else "unembedding.weight"]
    logits = x[:, int(ablation.sink_token):] @ unembedding.T
    return ablation.logit_cap * torch.tanh(logits / ablation.logit_cap) if ablation.logit_cap else logits, seen


def loss_of(logits, targets):
    """Mean over the targets that are not -1."""
    counted = targets >= 0
    chosen = logits[counted].gather(1, targets[counted][:, None])[:, 0]
    return (torch.logsumexp(logits[counted], dim=-1) - chosen).mean()


# ---------------------------------------------------------------------------------------------------------------------
# Measurements


def sinks_of(alpha_BLHK):
    """Percent of (layer, head) whose alpha_k exceeds epsilon, per sequence, then averaged over sequences: [eps, K]."""
    for epsilon in SINK_EPSILON:
        assert (alpha_BLHK - epsilon).abs().min() > 1e-6, "an alpha lies on a threshold: change the sizes"
    return torch.stack([100 * (alpha_BLHK > epsilon).double().mean(dim=(1, 2)).mean(dim=0) for epsilon in SINK_EPSILON])


def mean_over(values, pairs):
    """Mean over the pairs (i, j) of [..., T, T] that are 1; 0 if there are none."""
    return (values * pairs).sum(dim=(-2, -1)) / pairs.sum(dim=(-2, -1)).clamp(min=1)


def measurements(ablation, s, seen):
    T, E, ahead = s.length, int(ablation.has_extra_key), int(ablation.sink_token)
    raw = torch.stack(seen["weights"], dim=1)  # B, L, H, T, E + T
    proxy = torch.stack(seen["proxy"], dim=1)
    # alpha_k = the mean of A[i, k] over the rows that see key k: T - k + 1 in a causal model without a window (k from 1).
    mask = torch.stack(seen["mask"])[:, None]  # L, 1, T, T
    rows = mask.sum(dim=-2)
    columns = [weights.sum(dim=-2) for weights in (raw, proxy)]
    alphas = [(sums[..., E + ahead:] / rows[..., ahead:])[..., :ALPHA_KEYS] for sums in columns]
    values = {"measures/alpha": torch.stack(alphas).mean(dim=1),
              "measures/sink": torch.stack([sinks_of(alpha) for alpha in alphas])}
    if E or ahead:
        # The extra key in a map of 1 + T rows, whose own row has weight 1 on it; the sink token has its row already.
        alphas = [(sums[..., 0] + E) / (T + 1 if E else rows[..., 0]) for sums in columns]
        values["measures/extra_alpha"] = torch.stack(alphas).mean(dim=1)
        values["measures/extra_sink"] = torch.stack([sinks_of(alpha[..., None])[:, 0] for alpha in alphas])

    # The product q.k before scale and bias, over the rows i >= 2: with key 1, and with all other keys.
    dots, norms = (torch.stack(seen[name], dim=1) for name in ("dots", "norms"))  # B, L, H, T, T
    cosines = torch.where(norms > 0, dots / norms.clamp(min=1e-300), torch.zeros_like(dots))
    key1, others = mask.clone(), mask.clone()
    key1[..., 0, :], key1[..., 1:] = 0, 0
    others[..., 0, :], others[..., 0] = 0, 0
    extra_sums = [w[..., 0].sum(dim=-1) if E else torch.zeros(raw.shape[:3]).double() for w in (raw, proxy)]
    per_head = [raw[..., E:].sum(dim=-1).mean(dim=-1), torch.special.entr(proxy).sum(dim=-1).mean(dim=-1), *extra_sums,
                *(mean_over(x, pairs) for pairs in (key1, others) for x in (dots, norms, cosines))]
    values["measures/per_head"] = torch.stack(per_head).mean(dim=1)

    def lengths(name):  # means over sequences (and heads)
        norm = torch.stack([x.norm(dim=-1) for x in seen[name]])
        return norm.mean(dim=tuple(range(1, norm.dim() - 1)))

    values["measures/hidden_norm"] = lengths("hidden")
    values["measures/key_value_norm"] = torch.stack([lengths("keys"), lengths("values")])
    if seen["hidden_before_norm"]:
        values["measures/hidden_norm_before"] = lengths("hidden_before_norm")
    states = torch.stack(seen["hidden"] + seen["hidden_before_norm"]).norm(dim=-1)  # layer, B, T
    values["measures/massive_ratio"] = (states[..., 0] / states[..., 1:].mean(dim=-1)).mean(dim=-1)
    return values


# ---------------------------------------------------------------------------------------------------------------------
# The file. The values and texts of a case are <case>/<name>:
#
#   tokens, targets [B, T]; loss; logits: summary of [B, T, V]
#   gradients: summaries in the order of the text `parameters`, whose lines are name, offset, scale and shape
#   training [loss or gradient norm, step]
#   attention_map [H, T, extra key + T]: of the last layer and the first sequence
#   measures/, means over sequences
#     alpha [raw or proxy, L, H, K], sink [raw or proxy, epsilon, K]
#     extra_alpha [raw or proxy, L, H], extra_sink [raw or proxy, epsilon]: of the extra key or the sink token
#     per_head [10, L, H]: row mass, entropy, sums over rows of the extra key's raw and proxy weights, then the means of
#       q.k, |q||k| and cos(q, k) with key 1, and the same three with the other keys
#     hidden_norm [1 + L, T], hidden_norm_before [L, T], key_value_norm [key or value, L, T]: means over heads, too
#     massive_ratio [1 + L]: first position's norm of a hidden state over the others' mean; then L more before the norm


def summary(name, values):
    """A few values as they are; many as SAMPLE of them, their norm and their sum weighted by unit()."""
    flat = values.reshape(-1)
    if len(flat) <= SAMPLE:
        return flat
    weights = torch.from_numpy(unit("sum of " + name, len(flat)))
    sample = flat[[i * len(flat) // SAMPLE for i in range(SAMPLE)]]
    return torch.cat([sample, flat.norm()[None], (flat * weights).sum()[None]])


def train(ablation, s, tokens, targets):
    parameters = make_parameters(ablation, s)
    t = TRAINING
    optimizer = torch.optim.AdamW(parameters.values(), lr=t["learning_rate"], betas=(t["beta1"], t["beta2"]),
                                  eps=t["adam_eps"], weight_decay=t["weight_decay"], foreach=False)
    losses, norms = [], []
    for _ in range(t["training_steps"]):
        optimizer.zero_grad()
        loss = loss_of(forward(ablation, s, parameters, tokens)[0], targets)
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(parameters.values(), t["clip"]))
        optimizer.step()
        losses.append(loss.detach())
    return {"training": torch.stack([torch.stack(losses), torch.stack(norms)])}


def golden(case):
    """The values of a case, name -> numpy array."""
    ablation, s = ABLATIONS[CASES[case][0]], CASES[case][1]
    parameters, (tokens, targets) = make_parameters(ablation, s), make_batch(s)
    logits, seen = forward(ablation, s, parameters, tokens)
    loss = loss_of(logits, targets)
    loss.backward()
    values = {"tokens": tokens.int(), "targets": targets.int(), "loss": loss, "logits": summary("logits", logits),
              "gradients": torch.cat([summary(name, p.grad) for name, p in parameters.items()])}
    values.update(measurements(ablation, s, seen))
    values.update(train(ablation, s, tokens, targets))
    if case in MAPPED:
        values["attention_map"] = seen["weights"][-1][0]
    return {name: value.detach().numpy() for name, value in values.items()}


def texts(case):
    name, s = CASES[case]
    table = "".join(f"{name} {offset} {scale} {' '.join(map(str, shape))}\n"
                    for name, shape in parameter_shapes(ABLATIONS[name], s).items()
                    for offset, scale in [initial_range(name, shape)])
    numbers = {field.name for field in dataclasses.fields(Sizes) if field.default == 0} - {"window", "prefix"}
    sizes = {key: value for key, value in dataclasses.asdict(s).items() if value or key not in numbers}
    sizes["width"] = s.width
    settings = dict(sizes, sample=SAMPLE, **TRAINING)
    return dict(ablation=name, made=f"make_golden.py, float64, torch {torch.__version__.split('+')[0]}",
                settings="".join(f"{name} {value}\n" for name, value in settings.items()),
                parameters=table)  # name, offset, scale, shape; in the order of `gradients`


def check(file, case):
    """Number of values and texts that differ from the stored ones."""
    wrong = 0
    expected = golden(case)
    stored, stored_texts = ({name.removeprefix(case + "/"): value for name, value in of.items() if name.startswith(case + "/")}
                            for of in file)
    for name, value in texts(case).items():
        if name != "made" and stored_texts.get(name) != value:
            print(f"{case}: text {name}: {stored_texts.get(name)}, expected {value}")
            wrong += 1
    if set(stored) != set(expected):
        print(f"{case}: values differ: {sorted(set(stored) ^ set(expected))}")
        wrong += 1
    for name in sorted(set(stored) & set(expected)):
        tolerance = 1e-8 if name == "training" else 1e-11  # Adam amplifies rounding
        scale = np.abs(expected[name]).max()
        if stored[name].shape != expected[name].shape:
            print(f"{case}: {name}: shape {stored[name].shape}, recomputed {expected[name].shape}")
            wrong += 1
        elif not (worst := np.abs(stored[name] - expected[name]).max()) <= tolerance * scale:
            print(f"{case}: {name}: off by {worst:.3g}, tolerance {tolerance * scale:.3g}")
            wrong += 1
    return wrong


def verify(case):
    """Largest relative error of autograd against central differences along one random direction per parameter."""
    ablation, s = ABLATIONS[CASES[case][0]], CASES[case][1]
    parameters, (tokens, targets) = make_parameters(ablation, s), make_batch(s)
    loss_of(forward(ablation, s, parameters, tokens)[0], targets).backward()
    worst, step = (0.0, ""), 1e-6
    with torch.no_grad():
        for name, parameter in parameters.items():
            direction = torch.from_numpy(unit("direction of " + name, parameter.numel())).reshape(parameter.shape)
            losses = []
            for sign in (1, -1):
                moved = dict(parameters, **{name: parameter + sign * step * direction})
                losses.append(loss_of(forward(ablation, s, moved, tokens)[0], targets))
            numeric = (losses[0] - losses[1]) / (2 * step)
            exact = (parameter.grad * direction).sum()
            size = parameter.grad.norm() * direction.norm()
            worst = max(worst, ((abs(numeric - exact) / size).item(), name))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="recompute and compare with the stored values")
    parser.add_argument("--all", action="store_true", help="with --check: every case, not a few")
    parser.add_argument("--verify", action="store_true", help="compare gradients with central differences")
    parser.add_argument("--only", metavar="NAME", choices=CASES, help="this case alone")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "cases.safetensors", help="file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    wrong = 0
    few = CHECKED if options.check and not options.all else CASES
    stored = files.read(options.out) if options.out.exists() else ({}, {})
    for case in [options.only] if options.only else few:
        if options.verify:
            error, name = verify(case)
            print(f"{case}: largest relative gradient error {error:.2g} ({name})")
            wrong += error > 1e-7
        elif options.check:
            wrong += check(stored, case)
        else:
            files.replace(options.out, case, golden(case), texts(case))
            print(case)
    if not options.only and not options.verify:
        stray = {name.split("/")[0] for name in files.read(options.out)[0]} ^ set(CASES)
        if stray:
            print(f"{options.out}: in the file and no case, or a case and not in the file: {sorted(stray)}")
            wrong += 1
    if options.check and not wrong:
        print("all golden values agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
