"""The names of activations: those of TransformerLens, and the short forms of its get_act_name."""

from __future__ import annotations

from typing import Union

import numpy as np

from sinklab._core import Error

Key = Union[str, tuple]

GRAD = "_grad"  # ends the name of the gradient of an activation

_ATTENTION = ("q", "k", "v", "z", "rot_q", "rot_k", "attn_scores", "pattern")
_BLOCK = ("resid_pre", "resid_mid", "resid_post", "attn_out", "mlp_out")
# The engine has the heads before the positions.
_HEADS_FIRST = ("q", "k", "v", "z", "rot_q", "rot_k")
_ALIASES = {"attn": "pattern", "attn_logits": "attn_scores", "post": "mlp_post", "key": "k", "query": "q", "value": "v"}


def full_name(key: Key) -> str:
    """The full name of an activation.

    >>> full_name(("pattern", 3))
    'blocks.3.attn.hook_pattern'
    >>> full_name(("normalized", 3, "ln1"))
    'blocks.3.ln1.hook_normalized'
    >>> full_name(("z_grad", 3))
    'blocks.3.attn.hook_z_grad'
    >>> full_name("blocks.3.hook_resid_pre")
    'blocks.3.hook_resid_pre'
    """
    parts = key if isinstance(key, tuple) else (key,)
    if not parts or not isinstance(parts[0], str):
        raise Error(f"an activation is named by a text or (text, layer), got {key!r}")
    if parts[0].endswith(GRAD):
        return full_name((parts[0].removesuffix(GRAD), *parts[1:])) + GRAD
    _, layer, kind = (*parts, None, None)[:3]
    name = _ALIASES.get(parts[0], parts[0])
    if len(parts) > 3 or (kind is not None and name != "normalized"):
        raise Error(f"an activation is named by a text or (text, layer), got {key!r}: give several as a list of such names")
    if layer is None:
        return "hook_embed" if name == "embed" else name
    if not isinstance(layer, (int, np.integer)):
        raise Error(f"a layer is a whole number, got {layer!r}")
    block = f"blocks.{layer}."
    if name in _ATTENTION:
        return f"{block}attn.hook_{name}"
    if name == "mlp_post":
        return f"{block}mlp.hook_post"
    if name == "normalized":
        if kind not in ("ln1", "ln2"):
            raise Error(f'("normalized", {layer}) needs "ln1" or "ln2" as third element')
        return f"{block}{kind}.hook_normalized"
    if name in _BLOCK:
        return f"{block}hook_{name}"
    raise Error(f"there is no activation {name!r}: expected one of {', '.join((*_ATTENTION, *_BLOCK, 'mlp_post', 'normalized'))}")


def heads_first(name: str) -> bool:
    """Whether the engine stores this activation as (batch, head, position, d_head); TransformerLens swaps the middle axes."""
    return name.removesuffix(GRAD).rpartition("attn.hook_")[2] in _HEADS_FIRST if "attn.hook_" in name else False
