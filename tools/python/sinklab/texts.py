"""Lists of texts, and texts as tokens and back, by TransformerLens's names."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, Union, overload

import numpy as np

from sinklab import _core
from sinklab._core import Error
from sinklab.arguments import array_of, token_ids, utf8
from sinklab.config import Config

Ids = Union[Sequence[int], Sequence[Sequence[int]], np.ndarray]
Input = Union[str, Ids]
Texts = Union[list[str], tuple[str, ...]]
Result = TypeVar("Result")


def is_texts(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and len(given) > 0 and all(isinstance(one, str) for one in given)


_progress: bool | None = None


def set_progress(shown: bool | None) -> None:
    """Whether lists of texts and ``generate`` write to stderr how far they are; None, the default: on a terminal, after a second."""
    global _progress
    if shown not in (True, False, None):
        raise Error(f"shown must be True, False or None, got {shown!r}")
    _progress = shown


class Progress:
    """A line on stderr, "text 3 of 10, 7 s left", until the end of a with statement."""

    def __init__(self, what: str, count: int):
        self.shown = _progress if _progress is not None else bool(sys.stderr and sys.stderr.isatty())
        self._what, self._count, self._done = what, count, 0
        self._start = time.monotonic()
        self._next = self._start + (0 if _progress else 1)
        self._written = False

    def __enter__(self) -> Progress:
        return self

    def step(self) -> None:
        self._done += 1
        now = time.monotonic()
        if self.shown and (now >= self._next or (self._written and self._done == self._count)):
            self._next, self._written = now + 0.2, True
            left = (now - self._start) / self._done * (self._count - self._done)
            print(f"\r{self._what} {self._done} of {self._count}, {left:.0f} s left ", end="", file=sys.stderr, flush=True)

    def __exit__(self, *_: object) -> None:
        if self._written:
            print(file=sys.stderr)


def of_each(texts: Sequence[str], of_one: Callable[[str], Result]) -> list[Result]:
    """What each text gives alone, so texts may have any lengths. An error carries a note with the text that it is of."""
    results = []
    with Progress("text", len(texts)) as progress:
        for n, text in enumerate(texts):
            try:
                results.append(of_one(text))
            except (Error, MemoryError) as error:
                error.add_note(f"in text {n} of a list of {len(texts)}")
                raise
            progress.step()
    return results


class TextMethods:
    """The methods of a model that need its tokenizer alone."""

    _core: _core.Model
    cfg: Config

    @overload
    def to_tokens(self, text: str, prepend_bos: bool | None = None) -> np.ndarray: ...
    @overload
    def to_tokens(self, text: Texts, prepend_bos: bool | None = None) -> list[np.ndarray]: ...

    def to_tokens(self, text: Any, prepend_bos: bool | None = None) -> Any:
        """The token ids of a text, int32 (1, pos); of a list of texts, a list of such arrays, since nothing is padded.

        Args:
            text: a text or a list of texts.
            prepend_bos: None: as the model reads a text, with its begin token if it has one. False leaves that out; True
                is refused for a model without one.
        """
        if is_texts(text):
            return of_each(text, lambda one: self.to_tokens(one, prepend_bos))
        if not isinstance(text, str):
            raise Error(f"expected a text or a list of texts, got {type(text).__name__}")
        if prepend_bos not in (None, False, True):
            raise Error(f"prepend_bos must be True, False or None, got {prepend_bos!r}")
        ids = self._core.encode(utf8(text))
        if prepend_bos is not None:
            begins = self._core.begin_token >= 0
            if prepend_bos and not begins:
                raise Error("the model reads texts without a begin token: leave out prepend_bos, or give ids that begin with one")
            ids = ids[1:] if begins and not prepend_bos else ids
        return token_ids(ids, self.cfg["d_vocab"])

    @overload
    def to_str_tokens(self, text: Input, prepend_bos: bool | None = None) -> list[str]: ...
    @overload
    def to_str_tokens(self, text: Texts, prepend_bos: bool | None = None) -> list[list[str]]: ...

    def to_str_tokens(self, text: Any, prepend_bos: bool | None = None) -> Any:
        """The tokens of a text, or of ids (pos,) or (1, pos), as printable texts; of a list of texts, a list of such lists."""
        if is_texts(text):
            return of_each(text, lambda one: self.to_str_tokens(one, prepend_bos))
        if isinstance(text, str):
            ids = self.to_tokens(text, prepend_bos)
        elif prepend_bos is not None:
            raise Error("prepend_bos is for texts: ids are taken as they are, so leave it out")
        else:
            ids = token_ids(text, self.cfg["d_vocab"])
        return self._core.token_texts(_one_sequence(ids).tolist())

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        """The text of token ids (pos,); "" of none."""
        if array_of("token ids of shape (pos,)", ids).size == 0:
            return ""
        return self._text(_one_sequence(token_ids(ids, self.cfg["d_vocab"])))

    @overload
    def to_string(self, tokens: Sequence[int]) -> str: ...
    @overload
    def to_string(self, tokens: Sequence[Sequence[int]]) -> list[str]: ...
    @overload
    def to_string(self, tokens: np.ndarray) -> Any: ...

    def to_string(self, tokens: Any) -> Any:
        """The text of token ids (pos,); of ids (batch, pos), a list of texts."""
        array = array_of("token ids of shape (pos,) or (batch, pos)", tokens)
        if array.ndim == 1:
            return self.decode(array)
        return [self._text(ids) for ids in token_ids(array, self.cfg["d_vocab"])]

    def _text(self, ids: np.ndarray) -> str:
        return self._core.decode(ids.tolist()).decode("utf-8", "replace")


def _one_sequence(ids: np.ndarray) -> np.ndarray:
    if ids.shape[0] != 1:
        raise Error(f"expected one sequence, got {ids.shape[0]}")
    return ids[0]
