"""Sink scores: how much attention the first tokens of a text get."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from sinklab._core import Error
from sinklab.cache import ActivationCache
from sinklab.model import Model
from sinklab.tables import table_of
from sinklab.texts import Input, Texts

if TYPE_CHECKING:
    import pandas

EPSILON = 0.3  # the threshold of Gu et al. 2025
EPSILON_INDEX = 1  # among the thresholds 0.2, 0.3 and 0.4
POSITIONS = 10  # k = 1 ... 10


@dataclass(frozen=True, eq=False)
class SinkScores:
    """The sink scores of one or more sequences of equal length T (Gu et al. 2025, section 3.2).

    alpha_k of a head is the mean attention weight of the k-th token in the rows that see it: T - k + 1, but at most the
    window in a layer with one. Scores without ``_raw`` use proxy weights, |a_ij| / sum_j |a_ij|; raw scores use the
    weights as they are. They are equal for softmax.
    """

    #: alpha_1 by layer with attention and head, mean over sequences: (layer, head).
    alpha_1_layer_head: np.ndarray
    alpha_1_raw_layer_head: np.ndarray
    #: alpha_k of the first tokens, k = 1 ... 10 at most: (layer, head, k).
    alpha_k: np.ndarray
    alpha_k_raw: np.ndarray
    #: Mean of the sum of a row, without an extra key: (layer, head).
    row_sum: np.ndarray
    #: Sink_1: the percentage of heads whose alpha_1 is above 0.3, mean over sequences.
    sink_1: float
    sink_1_raw: float
    #: alpha_1 if every row were even.
    even_alpha_1: float
    #: Of an extra key or sink token: alpha (layer, head) and the percentage of heads above 0.3; None without one.
    alpha_star: np.ndarray | None = None
    sink_star: float | None = None
    #: Every measure of eval/sink/MEASURES.md that the model has, by its key; None for the scores of a cache.
    measures: dict[str, float | np.ndarray] | None = None

    @property
    def alpha_1(self) -> float:
        """Mean over layers and heads."""
        return float(self.alpha_1_layer_head.mean())

    @property
    def alpha_1_raw(self) -> float:
        return float(self.alpha_1_raw_layer_head.mean())

    def __repr__(self) -> str:
        layers, heads = self.alpha_1_layer_head.shape
        star = "" if self.alpha_star is None else f", alpha_* {self.alpha_star.mean():.3f}"
        return (f"SinkScores(alpha_1 {self.alpha_1:.3f} (even: {self.even_alpha_1:.3f}), Sink_1 {self.sink_1:.1f} %, "
                f"{layers} layers, {heads} heads{star})")

    def to_frame(self) -> pandas.DataFrame:
        """A row for each head: ``layer`` (of those with attention) and ``head``, from 0, ``alpha_1`` ... ``alpha_10`` at most,
        ``alpha_1_raw``, ``row_sum`` and, with an extra key or token, ``alpha_star``. Needs pandas."""
        columns = {f"alpha_{k + 1}": self.alpha_k[..., k] for k in range(self.alpha_k.shape[-1])}
        columns |= {"alpha_1_raw": self.alpha_1_raw_layer_head, "row_sum": self.row_sum}
        return table_of(("layer", "head"), columns | ({} if self.alpha_star is None else {"alpha_star": self.alpha_star}))

    @classmethod
    def _of_tables(cls, tables: dict) -> SinkScores:
        of = tables["measures"]
        return cls(alpha_1_layer_head=of["alpha_1_layer_head"], alpha_1_raw_layer_head=of["alpha_1_layer_head_raw"],
                   alpha_k=of["alpha_layer_head_k"], alpha_k_raw=of["alpha_layer_head_k_raw"], row_sum=of["row_mass_layer_head"],
                   sink_1=float(of["sink_k"][0]), sink_1_raw=float(of["sink_k_raw"][0]), even_alpha_1=tables["even_alpha_1"],
                   alpha_star=of.get("alpha_star_layer_head"), measures=of,
                   sink_star=float(of["sink_star"][EPSILON_INDEX]) if "sink_star" in of else None)


@overload
def sink_scores(source: Model, text: Input) -> SinkScores: ...
@overload
def sink_scores(source: Model, text: Texts) -> list[SinkScores]: ...
@overload
def sink_scores(source: ActivationCache, text: None = None) -> SinkScores: ...


def sink_scores(source: Any, text: Any = None) -> Any:
    """The sink scores of a text, ``sink_scores(model, "...")``, or of the patterns of a cache, ``sink_scores(cache)``. Of a list
    of texts, a list.

    The cache must have the pattern of every layer, of a model without window, prefix, extra key or extra token.
    """
    if isinstance(source, Model):
        if text is None:
            raise Error("sink_scores(model, text) needs a text or token ids")
        return source.sink_scores(text)
    if not isinstance(source, ActivationCache):
        raise Error(f"expected a model and a text, or a cache, got {type(source).__name__}")
    if text is not None:
        raise Error("the scores of a cache are those of the cached text: leave out the second argument")
    return _of_patterns(source)


def _of_patterns(cache: ActivationCache) -> SinkScores:
    pattern = cache.stack("pattern").astype(np.float64)  # (layer, batch, head, query, key)
    if not cache.has_batch_dim:
        pattern = pattern[:, None]
    queries, keys = pattern.shape[-2:]
    sizes = cache._sizes
    if queries != keys or sizes.get("extra_tokens") or sizes.get("window_size") or sizes.get("prefix"):
        raise Error("the cache is of a model with a window, a prefix, an extra key or an extra token: use "
                    "sink_scores(model, text)")
    row = pattern.sum(-1)
    weight = np.abs(pattern).sum(-1, keepdims=True)
    # A NaN stays NaN. Weights that are all zero stay zero.
    proxy = np.divide(np.abs(pattern), weight, out=np.zeros_like(pattern), where=weight != 0)
    count = min(POSITIONS, keys)
    rows = np.arange(keys, keys - count, -1)
    alpha, raw = (weights.sum(-2)[..., :count] / rows for weights in (proxy, pattern))  # (layer, batch, head, k)
    return SinkScores(alpha_1_layer_head=alpha[..., 0].mean(1), alpha_1_raw_layer_head=raw[..., 0].mean(1),
                      alpha_k=alpha.mean(1), alpha_k_raw=raw.mean(1), row_sum=row.mean((1, -1)),
                      sink_1=_percentage_of_sinks(alpha[..., 0]), sink_1_raw=_percentage_of_sinks(raw[..., 0]),
                      even_alpha_1=float((1 / np.arange(1, keys + 1)).mean()))


def _percentage_of_sinks(alpha_1: np.ndarray) -> float:
    """The percentage of heads above the threshold; NaN where a head is not finite, whose comparison would mean nothing."""
    return 100 * float((alpha_1 > EPSILON).mean()) if np.isfinite(alpha_1).all() else float("nan")
