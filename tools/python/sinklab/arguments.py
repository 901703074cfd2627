"""Checks of arguments."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np

from sinklab._core import Error


def whole(name: str, value: Any, low: int, high: int) -> int:
    """The value as an int. Throws sinklab.Error for other numbers, and for those outside low ... high."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or not low <= value <= high:  # type: ignore[operator]
        raise Error(f"{name} must be a whole number from {low} to {_power(high)}, got {value!r}")
    return int(value)


def real(name: str, value: Any, low: float, high: float) -> float:
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not low <= value <= high:  # type: ignore[operator]
        raise Error(f"{name} must be a number from {low} to {high}, got {value!r}")
    return float(value)


def _power(bound: int) -> str:
    return f"2^{bound.bit_length()} - 1" if bound > 10**9 and bound & (bound + 1) == 0 else str(bound)


def file_name(path: str | os.PathLike) -> bytes:
    name = os.fsencode(path)
    if not name or b"\0" in name:
        raise Error(f"expected the path of a file or folder, got {os.fsdecode(name)!r}")
    return name


def utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise Error(f"the text is not Unicode: {error.reason} at position {error.start}") from None


def array_of(what: str, values: Any) -> np.ndarray:
    """The values as an array. Throws sinklab.Error for lists of unequal length, which are no array."""
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.dtype.kind == "O" and isinstance(values, (list, tuple)) and any(isinstance(v, (list, tuple, np.ndarray)) for v in values):
        raise Error(f"expected {what}, got lists of unequal length; give sequences of one length, one at a time, or padded with an attention_mask")
    return array


def token_ids(ids: Any, vocabulary: int) -> np.ndarray:
    """int32 (batch, pos), contiguous. Throws sinklab.Error for floats, other shapes and ids outside the vocabulary."""
    if isinstance(ids, (list, tuple)) and any(isinstance(one, str) for one in ids):
        raise Error(f"expected one text or integer token ids, got a list of {len(ids)} with a text in it; give one text at a time")
    array = array_of("token ids of shape (pos,) or (batch, pos)", ids)
    if array.ndim in (1, 2) and array.size == 0:
        raise Error(f"expected token ids, not empty, got shape {array.shape}")
    if array.dtype.kind not in "iu":
        raise Error(f"expected a text or integer token ids, got an array of {array.dtype}")
    if array.ndim not in (1, 2):
        raise Error(f"expected token ids of shape (pos,) or (batch, pos), got shape {array.shape}")
    if array.min() < 0 or array.max() >= vocabulary:
        bad = array.min() if array.min() < 0 else array.max()
        raise Error(f"expected token ids from 0 to {vocabulary - 1}, got {bad}")
    return np.ascontiguousarray(np.atleast_2d(array), dtype=np.int32)


def places_of_texts(attention_mask: Any, shape: tuple[int, ...]) -> list[slice]:
    """Where the text of each row is. Throws sinklab.Error for a mask that is no single run of ones in every row."""
    mask = np.atleast_2d(array_of(f"an attention_mask of shape {shape}", attention_mask))
    if mask.shape != shape or mask.dtype.kind not in "iub" or not np.isin(mask, (0, 1)).all():
        raise Error(f"expected an attention_mask of zeros and ones of shape {shape}, got {mask.dtype} of shape {mask.shape}")
    places = []
    for row, of_row in enumerate(mask):
        ones = np.flatnonzero(of_row)
        if len(ones) == 0 or ones[-1] - ones[0] + 1 != len(ones):
            raise Error(f"row {row} of the attention_mask has {'no token' if len(ones) == 0 else 'zeros inside of its text'}: expected the "
                        "ones of one text, with zeros before or after it")
        places.append(slice(int(ones[0]), int(ones[-1]) + 1))
    return places
