"""The folder of a training run: its metrics, settings, sink scores and attention patterns."""

from __future__ import annotations

import functools
import json
import operator
import os
import pathlib
import tomllib
from typing import TYPE_CHECKING, Any

import numpy as np

from sinklab._core import Error
from sinklab.checkpoint import Checkpoint
from sinklab.model import Model, load
from sinklab.tables import imported_pandas

if TYPE_CHECKING:
    import pandas


class Maps:
    """The attention patterns that the evaluation of a run keeps: a few sequences, as the weights act."""

    def __init__(self, maps: dict[str, Any]):
        self._maps = maps
        #: The tokens of each sequence, as text.
        self.tokens: list[list[str]] = maps["tokens"]
        #: Whether the first key of every row is an extra key, which is no token.
        self.extra_key: bool = maps["extra_key"]
        #: (sequences, layers, heads).
        self.shape: tuple[int, int, int] = (len(maps["weights"]), maps["layers"], maps["heads"])

    def __getitem__(self, index: tuple[int, int, int]) -> np.ndarray:
        """``maps[sequence, layer, head]``: (query, key)."""
        try:
            sequence, layer, head = map(operator.index, index)
            rows = self._maps["weights"][sequence][layer][head]
        except (IndexError, TypeError, ValueError):
            raise IndexError(f"expected sequence, layer and head below {self.shape}, got {index}") from None
        if rows is None:
            raise IndexError(f"the run keeps no pattern of sequence {sequence}, layer {layer}, head {head}")
        pattern = np.zeros((len(rows), len(rows) + self.extra_key))
        for i, row in enumerate(rows):
            pattern[i, :len(row)] = [float(weight) for weight in row]
        return pattern

    def __repr__(self) -> str:
        return "Maps of {} sequences, {} layers, {} heads".format(*self.shape)


# Keys of evaluation.json under which a text can be "nan": names, and the texts of tokens.
_TEXTS_OF_USERS = ("run", "data", "domains", "maps")


def _with_numbers(value: Any) -> Any:
    """The value with floats for "nan", "inf" and "-inf", which JSON has no numbers for."""
    if isinstance(value, list):
        return [_with_numbers(element) for element in value]
    if isinstance(value, dict):
        return {key: _with_numbers(element) for key, element in value.items()}
    return float(value) if isinstance(value, str) and value in ("nan", "inf", "-inf") else value


class Run:
    """The folder of a run, ``runs/NAME``.

    >>> run = Run("runs/first")
    >>> run.metrics[["step", "train_loss", "sink_1"]]      # pandas
    >>> run.settings["learning-rate"]
    >>> run.maps[0, 2, 1]                                  # (query, key)
    """

    def __init__(self, path: str | os.PathLike):
        self.path = pathlib.Path(os.fsdecode(path))
        if not (self.path / "config.toml").is_file():
            raise Error(f"{self.path} is not the folder of a run: it has no config.toml")

    def _text(self, name: str, made_by: str) -> str:
        try:
            return (self.path / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise Error(f"{self.path / name} does not exist: {made_by}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise Error(f"cannot read {self.path / name}: {error}") from None

    @functools.cached_property
    def metrics(self) -> pandas.DataFrame:
        """metrics.jsonl as a table, one row per step; NaN where a step has no evaluation. Needs pandas."""
        pandas = imported_pandas()
        rows = []
        for number, line in enumerate(self._text("metrics.jsonl", "the run has no step yet").splitlines(), 1):
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                raise Error(f"{self.path / 'metrics.jsonl'}, line {number}, is not JSON: the run may still write it") from None
            rows.append(_with_numbers(row))
        return pandas.DataFrame(rows)

    @functools.cached_property
    def settings(self) -> dict[str, Any]:
        """config.toml: every setting by its name there, such as learning-rate."""
        try:
            return tomllib.loads(self._text("config.toml", "the folder is not that of a run"))
        except tomllib.TOMLDecodeError as error:
            raise Error(f"{self.path / 'config.toml'} is not TOML: {error}") from None

    @functools.cached_property
    def evaluation(self) -> dict[str, Any]:
        """evaluation.json: the measurements at the end (MEASURES.md and evaluation_json.h of eval/sink describe the keys)."""
        text = self._text("evaluation.json", "a run writes it at its end")
        try:
            evaluation = json.loads(text)
        except json.JSONDecodeError as error:
            raise Error(f"{self.path / 'evaluation.json'} is not JSON: {error}") from None
        return {key: value if key in _TEXTS_OF_USERS else _with_numbers(value) for key, value in evaluation.items()}

    @property
    def maps(self) -> Maps:
        """The attention patterns of evaluation.json."""
        if "maps" not in self.evaluation:
            raise Error(f"{self.path / 'evaluation.json'} keeps no patterns: its sequences are too long")
        return Maps(self.evaluation["maps"])

    @property
    def checkpoint(self) -> Checkpoint:
        """The last checkpoint. Each access reads the file."""
        return Checkpoint(self.path / "checkpoint.h5")

    def model(self, dtype: str = "float32", device: str = "cpu") -> Model:
        """The model of the last checkpoint."""
        return load(self.path / "checkpoint.h5", dtype, device)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"
