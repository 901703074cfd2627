"""Models of every ablation, with random weights, to train."""

from __future__ import annotations

from typing import Union

from sinklab import _core
from sinklab._core import Error
from sinklab.model import Model

_OF_A_RUN = {"run", "resume", "force", "dry_run", "tensorboard", "nproc", "comm_timeout", "zero", "rate", "link", "threads",
             "eval_every", "checkpoint_every", "birth_checkpoints", "log_every", "batch", "accumulate", "task", "data",
             "initial", "vocabulary"}


def ablation_names() -> list[str]:
    """The names of all ablations, such as "baseline" and "op_sigmoid_none"."""
    return _core.ablation_names()


def ablation(name: str, vocabulary: int = 64, **settings: Union[str, int, float, bool]) -> Model:
    """A new model of an ablation. ``Model.train_step`` trains it.

    Args:
        name: one of ``ablation_names()``.
        vocabulary: the number of token ids.
        settings: settings of train_<ablation> by their names in config.toml: ``layers``, ``heads``, ``width``,
            ``feed_forward``, ``context``, ``seed``, ``precision``, ``optimizer``, ``learning_rate``, ``warmup``,
            ``weight_decay``, ... Models with the same seed and sizes share their initial weights.

    >>> model = sinklab.ablation("op_sigmoid_none", width=64, layers=2, warmup=0)
    >>> model.train_step(ids)
    """
    if not 1 <= vocabulary < 2**31:
        raise Error(f"vocabulary must be from 1 to 2^31 - 1, got {vocabulary}")
    lines = []
    for key, value in settings.items():
        if key in _OF_A_RUN:
            raise Error(f"{key} is a setting of a run, which sinklab.ablation does not make")
        lines.append(f"{key} = {_toml(key, value)}\n")
    return Model(_core.ablation(name, "".join(lines), vocabulary), name)


def _toml(key: str, value: Union[str, int, float, bool]) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str) and value.isprintable() and not set(value) & {'"', "\\"}:
        return f'"{value}"'
    raise Error(f"{key} must be a number, a text or a bool, got {value!r}")
