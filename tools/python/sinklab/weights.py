"""Weights of all layers, with TransformerLens's names and shapes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from sinklab import _core
from sinklab._core import Error
from sinklab.config import Config


def _stacked(layers: Iterable[np.ndarray]) -> np.ndarray:
    """A copy, which cannot be changed as if it were the model's."""
    stacked = np.stack(list(layers))
    stacked.flags.writeable = False
    return stacked


class Weights:
    """The weights of a model, as ``x @ W``. Those with a layer axis are copies. All are read-only.

    Keys and values have the ``n_key_value_heads`` of the model (grouped-query attention), as in TransformerLens's bridge.
    Weights are those that the model multiplies: a multiplier of the file, such as Granite's, is in them, norms are not.
    """

    _core: _core.Model
    cfg: Config

    @property
    def W_Q(self) -> np.ndarray:
        """(layer, head, d_model, d_head)"""
        return self._projection("W_Q", 0, "weight")

    @property
    def W_K(self) -> np.ndarray:
        """(layer, key head, d_model, d_head)"""
        return self._projection("W_K", 1, "weight")

    @property
    def W_V(self) -> np.ndarray:
        """(layer, key head, d_model, d_head)"""
        return self._projection("W_V", 2, "weight")

    @property
    def b_Q(self) -> np.ndarray:
        """(layer, head, d_head)"""
        return self._projection("b_Q", 0, "bias")

    @property
    def b_K(self) -> np.ndarray:
        """(layer, key head, d_head)"""
        return self._projection("b_K", 1, "bias")

    @property
    def b_V(self) -> np.ndarray:
        """(layer, key head, d_head)"""
        return self._projection("b_V", 2, "bias")

    @property
    def W_O(self) -> np.ndarray:
        """(layer, head, d_head, d_model)"""
        heads, width = self.cfg["n_heads"], self.cfg["d_head"]
        return _stacked(matrix.reshape(-1, heads, width).transpose(1, 2, 0)
                        for matrix in self._of_layers("W_O", "out.weight", (self.cfg["d_model"], heads * width)))

    @property
    def W_E(self) -> np.ndarray:
        """The embedding of tokens: (d_vocab, d_model)"""
        return self._of_model("W_E", "embedding.token.weight")

    @property
    def W_pos(self) -> np.ndarray:
        """The embedding of positions: (n_ctx, d_model)"""
        return self._of_model("W_pos", "embedding.position.weight")

    @property
    def W_U(self) -> np.ndarray:
        """The unembedding: (d_model, d_vocab). The embedding, transposed, where both are the same."""
        tied = "unembedding=Tied" in self._core.policies.split()
        return self._of_model("W_U", "embedding.token.weight" if tied else "unembedding.weight").T

    def _of_model(self, name: str, parameter: str) -> np.ndarray:
        if parameter not in self._core.parameter_names():
            raise Error(f"the model has no {name}: it has no parameter {parameter}, and model.parameter_names() lists those it has")
        return self._core.parameter(parameter)

    def _of_layers(self, name: str, parameter: str, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
        names = [f"blocks.{layer}.attention.{parameter}" for layer in range(self.cfg["n_layers"])]
        known = set(self._core.parameter_names())
        missing = [str(layer) for layer, one in enumerate(names) if one not in known]
        if len(missing) == len(names):
            raise Error(f"the model has no {name}: there is no attention.{parameter}, and model.parameter_names() lists what there is")
        if missing:
            raise Error(f"the model has no {name} of all layers: there is no attention.{parameter} in layers {', '.join(missing)}; "
                        "model.parameter_names() lists what they have, and model.parameter(name) gives it")
        for one in names:
            found = self._core.parameter(one)
            if found.shape != shape:
                raise Error(f"the model has no {name}: {one} has shape {found.shape}, not the {shape} of its heads; "
                            "model.parameter(name) gives it as it is")
            yield found

    def _projection(self, name: str, which: int, kind: str) -> np.ndarray:
        """Queries, keys and values are rows of one matrix, by heads."""
        heads, groups, width = self.cfg["n_heads"], self.cfg["n_key_value_heads"], self.cfg["d_head"]
        start, stop = ((0, heads), (heads, heads + groups), (heads + groups, heads + 2 * groups))[which]
        shape: tuple[int, ...] = ((heads + 2 * groups) * width, self.cfg["d_model"])
        if kind == "bias":
            return _stacked(bias.reshape(-1, width)[start:stop] for bias in self._of_layers(name, "qkv.bias", shape[:1]))
        return _stacked(matrix.reshape(-1, width, shape[1])[start:stop].transpose(0, 2, 1)
                        for matrix in self._of_layers(name, "qkv.weight", shape))
