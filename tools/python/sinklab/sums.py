"""Attention sums: how much attention every key of a text gets, in memory that is linear in its length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from sinklab._core import Error
from sinklab.model import Model
from sinklab.tables import table_of
from sinklab.texts import Input, Texts, is_texts, of_each

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class AttentionSums:
    """What every key of every head gets in one text. Weights are proxy weights, |a_ij| / sum_j |a_ij|, except ``alpha_raw``.

    Keys are positions, from 0; the extra tokens of a model come first.
    """

    #: The mean weight of each key in the rows that see it: (layer, head, key). alpha[..., 0] is alpha_1.
    alpha: np.ndarray
    #: The same of the weights as they are.
    alpha_raw: np.ndarray
    #: The largest weight of each key in a row: (layer, head, key).
    largest: np.ndarray
    #: The mean weight of the key d positions before a query, over the queries that have one: (layer, head, d).
    by_distance: np.ndarray
    #: How many rows see each key: (layer, key).
    rows: np.ndarray
    #: Mean of the sum of a row, as it is, without an extra key: (layer, head).
    row_sum: np.ndarray
    #: Of an extra key, whose own row has weight 1 on itself: (layer, head); None without one.
    alpha_star: np.ndarray | None = None

    def sinks(self, epsilon: float = 0.3, least_rows: int = 8) -> list[tuple[int, int]]:
        """(key, number of heads whose alpha is above epsilon), most heads first, of keys that at least so many rows see."""
        counts = ((self.alpha > epsilon) & (self.rows >= least_rows)[:, None]).sum((0, 1))
        return [(int(key), int(counts[key])) for key in np.argsort(-counts, kind="stable") if counts[key] > 0]

    def to_frame(self) -> pandas.DataFrame:
        """A row for each key of each head: ``layer`` (of those with attention), ``head`` and ``key``, from 0, ``alpha``,
        ``alpha_raw``, ``largest`` and ``rows``. Needs pandas."""
        rows = np.broadcast_to(self.rows[:, None], self.alpha.shape)
        return table_of(("layer", "head", "key"), {"alpha": self.alpha, "alpha_raw": self.alpha_raw, "largest": self.largest, "rows": rows})

    def __repr__(self) -> str:
        layers, heads, keys = self.alpha.shape
        return f"AttentionSums({keys} keys, {layers} layers, {heads} heads, alpha_1 {self.alpha[..., 0].mean():.3f})"


@overload
def attention_sums(model: Model, text: Input) -> AttentionSums: ...
@overload
def attention_sums(model: Model, text: Texts) -> list[AttentionSums]: ...


def attention_sums(model: Any, text: Any) -> Any:
    """What every key of one text, or of token ids (pos,), gets; of a list of texts, a list. Stores no pattern, so the text can
    be long."""
    if not isinstance(model, Model):
        raise Error(f"expected a model and a text, got {type(model).__name__}")
    if is_texts(text):
        return of_each(text, lambda one: attention_sums(model, one))
    ids = model._ids(text)
    if len(ids) != 1:
        raise Error(f"expected one text, got {len(ids)}; give them one by one")
    sums = model._core.key_sums(ids)
    rows = sums["rows"]
    keys = rows.shape[1]
    return AttentionSums(alpha=sums["proxy"] / rows[:, None], alpha_raw=sums["raw"] / rows[:, None], largest=sums["largest"],
                         by_distance=sums["by_distance"] / np.arange(keys, 0, -1), rows=rows, row_sum=sums["row_sum"],
                         alpha_star=(1 + sums["extra"]) / (keys + 1) if "extra" in sums else None)
