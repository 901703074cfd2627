"""Checkpoints of Sinklab: tensors and attributes by name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

import numpy as np

from sinklab import _core
from sinklab._core import Error
from sinklab.arguments import file_name

_PARAMETERS = "parameters/"


class Checkpoint(Mapping):
    """A checkpoint, ``runs/NAME/checkpoint.h5``, or that of the folder of a run. Its checksum is verified.

    ``checkpoint["blocks.0.attention.qkv.weight"]`` is a parameter, ``checkpoint["optimizer/first_moment/..."]`` the state of
    the optimizer. Arrays are read-only and not copied.
    """

    def __init__(self, path: str | os.PathLike):
        if os.path.isdir(file_name(path)):
            path = os.path.join(path, "checkpoint.h5")
        self.path = os.fsdecode(path)
        attributes, self._tensors, axes = _core.load_checkpoint(file_name(path))
        #: Texts, such as ablation, policies, step, seed and config_toml.
        self.attributes: dict[str, str] = attributes
        #: The names of the axes of a tensor, such as "V C".
        self.axes: dict[str, str] = {name.removeprefix(_PARAMETERS): text for name, text in axes.items()}

    def __getitem__(self, name: str) -> np.ndarray:
        for full in (f"{_PARAMETERS}{name}", name):
            if full in self._tensors:
                return self._tensors[full]
        raise KeyError(f"{self.path} has no tensor {name}: list(checkpoint) names them")

    def __iter__(self) -> Iterator[str]:
        return (name.removeprefix(_PARAMETERS) for name in self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __repr__(self) -> str:
        return (f"Checkpoint({self.path!r}: {self.attributes.get('ablation')}, step {self.attributes.get('step')}, "
                f"{len(self)} tensors)")
