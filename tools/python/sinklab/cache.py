"""ActivationCache: the activations of a forward pass, by TransformerLens's names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sinklab._core import Error
from sinklab.names import GRAD, Key, full_name, heads_first


class ActivationCache(Mapping):
    """The activations of one forward pass.

    ``cache["pattern", 3]`` is ``cache["blocks.3.attn.hook_pattern"]``. Layers count from 0, and -1 is the last one.

    ========================================  =======================================  ==========================================
    short name                                full name                                shape
    ========================================  =======================================  ==========================================
    ``"embed"``                               ``hook_embed``                           (batch, pos, d_model)
    ``"resid_pre", l`` ``"resid_post", l``    ``blocks.l.hook_resid_pre``              (batch, pos, d_model)
    ``"resid_mid", l``                        ``blocks.l.hook_resid_mid``              (batch, pos, d_model)
    ``"attn_out", l`` ``"mlp_out", l``        ``blocks.l.hook_attn_out``               (batch, pos, d_model)
    ``"normalized", l, "ln1"`` or ``"ln2"``   ``blocks.l.ln1.hook_normalized``         (batch, pos, d_model)
    ``"q", l``, ``"k", l``                    ``blocks.l.attn.hook_q``                 (batch, pos, head, d_head)
    ``"rot_q", l``, ``"rot_k", l``            ``blocks.l.attn.hook_rot_q``             (batch, pos, head, d_head)
    ``"v", l``, ``"z", l``                    ``blocks.l.attn.hook_v``                 (batch, pos, head, d_head)
    ``"attn_scores", l`` ``"pattern", l``     ``blocks.l.attn.hook_pattern``           (batch, head, query, key)
    ``"mlp_post", l``                         ``blocks.l.mlp.hook_post``               (batch, pos, d_mlp), of a mixture
                                                                                       (batch, pos, num_experts * d_mlp)
    ========================================  =======================================  ==========================================

    - ``q`` and ``k`` are before query-key norm and rotation; ``rot_q`` and ``rot_k`` are what attention multiplies.
    - ``k`` and ``v`` have the key-value heads of the model (grouped-query attention).
    - ``normalized`` includes gain and bias of the norm. It exists where sublayers read a norm (not in OLMo 2 and post-norm).
      ``attn_out`` and ``mlp_out`` are before a norm that follows the sublayer (Gemma 3, sandwich norm).
    - ``z`` is the pattern times the values, before a learned value bias and before a gate.
    - ``resid_mid`` exists where the blocks are pre-norm. It is resid_pre + attn_out.
    - With ``incl_bwd=True`` a cache also has the gradients of the loss: ``cache["z_grad", l]``, full name
      ``blocks.l.attn.hook_z_grad``. That of a pattern is as in TransformerLens: also of keys that a query does not see.
    - A model with extra tokens (a sink token) has them before the text. An extra key is the first key of patterns.

    Arrays are float32, or float64 for a model of that dtype. They share the engine's memory and are read-only: ``.copy()``
    gives one that you can change.
    """

    def __init__(self, activations: dict[str, np.ndarray], n_layers: int, pre_norm: bool, sizes: dict | None = None):
        self._activations = {name: np.swapaxes(array, 1, 2) if heads_first(name) else array
                             for name, array in activations.items()}
        self._n_layers = n_layers
        self._pre_norm = pre_norm
        self._sizes = sizes or {}
        self.has_batch_dim = True

    def _name(self, key: Key) -> str:
        if isinstance(key, tuple) and len(key) > 1 and isinstance(key[1], (int, np.integer)):
            layer = int(key[1])
            if not -self._n_layers <= layer < self._n_layers:
                raise KeyError(f"layer {layer} of {key!r}: the model has layers 0 to {self._n_layers - 1}")
            key = (key[0], layer % self._n_layers, *key[2:])
        try:
            return full_name(key)
        except Error as error:
            raise KeyError(str(error)) from None

    def __getitem__(self, key: Key) -> np.ndarray:
        name = self._name(key)
        terms = self._terms(name)
        if terms != [name] and not self._pre_norm:
            raise KeyError(f"{name}: the blocks of this model are not pre-norm, so there is no resid_mid")
        for term in terms:
            if term not in self._activations:
                raise KeyError(f"{term} is not in the cache: run_with_cache(..., names=...) chooses what is kept"
                               + (", and incl_bwd=True adds gradients" if name.endswith(GRAD) else ""))
        first, *rest = (self._activations[term] for term in terms)
        return first + rest[0] if rest else first

    def _terms(self, name: str) -> list[str]:
        """The activations that sum to it: itself, but for resid_mid = resid_pre + attn_out, whose gradient attn_out has."""
        block, mid, grad = name.rpartition("hook_resid_mid")
        if not mid:
            return [name]
        return [block + "hook_attn_out" + grad] if grad else [block + "hook_resid_pre", block + "hook_attn_out"]

    def __contains__(self, key: object) -> bool:
        try:
            name = self._name(key)  # type: ignore[arg-type]
            terms = self._terms(name)
            return (self._pre_norm or terms == [name]) and all(term in self._activations for term in terms)
        except (KeyError, TypeError, ValueError):
            return False

    def __iter__(self) -> Iterator[str]:
        return iter(self._activations)

    def __len__(self) -> int:
        return len(self._activations)

    def remove_batch_dim(self) -> ActivationCache:
        """Removes the batch axis of all activations, for a batch of one sequence. Returns the cache."""
        if self.has_batch_dim:
            if any(array.shape[0] != 1 for array in self._activations.values()):
                raise Error("remove_batch_dim needs a batch of one sequence")
            self._activations = {name: array[0] for name, array in self._activations.items()}
            self.has_batch_dim = False
        return self

    def stack(self, name: str) -> np.ndarray:
        """The activations of that short name in all layers: (layer, ...). A copy."""
        return np.stack([self[name, layer] for layer in range(self._n_layers)])

    def __repr__(self) -> str:
        size = sum(array.nbytes for array in self._activations.values())
        return f"ActivationCache of {len(self)} activations in {self._n_layers} layers, {size / 1e6:.1f} MB"
