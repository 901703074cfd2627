"""Models of every ablation, with random weights, to train."""

from __future__ import annotations

import difflib
import numbers
from typing import Union

import numpy as np

from sinklab import _core
from sinklab._core import Error
from sinklab.arguments import whole
from sinklab.model import Model

_LARGEST_VOCABULARY = 2**24  # that a checkpoint can have


def ablation_names() -> list[str]:
    """The names of all ablations, such as "baseline" and "op_sigmoid_none"."""
    return _core.ablation_names()


def ablation(name: str, vocabulary: int = 64, **settings: Union[str, int, float, bool]) -> Model:
    """A new model of an ablation. ``Model.train_step`` trains it.

    Args:
        name: one of ``ablation_names()``.
        vocabulary: the number of token ids.
        settings: settings of train_<ablation> by their names in config.toml, with _ for -: ``layers``, ``heads``, ``width``,
            ``feed_forward``, ``context``, ``seed``, ``precision``, ``optimizer``, ``learning_rate``, ``warmup``,
            ``weight_decay``, ... Models with the same seed and sizes share their initial weights. A setting that neither
            the model nor its steps read is refused.

    >>> model = sinklab.ablation("op_sigmoid_none", width=64, layers=2, warmup=0)
    >>> model.train_step(ids)
    """
    count = whole("vocabulary", vocabulary, 1, _LARGEST_VOCABULARY)
    names = ablation_names()
    if name not in names:
        near = difflib.get_close_matches(str(name), names)
        raise Error(f"{name!r} is not one of the {len(names)} ablations that sinklab.ablation_names() lists"
                    + (f"; did you mean {' or '.join(near)}?" if near else ""))
    lines = [f"{key} = {_toml(key, value)}\n" for key, value in settings.items()]
    return Model(_core.ablation(name, "".join(lines), count), name)


def _toml(key: str, value: Union[str, int, float, bool]) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return repr(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, str) and value.isprintable() and not set(value) & {'"', "\\"}:
        return f'"{value}"'
    raise Error(f"{key} must be a number, a text or a bool, got {value!r}")
