"""What the keys of one call of attention get."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class AttentionStatistics:
    """What every key gets, in float64 and in memory that is linear in the length. Weights are proxy weights, |a_ij| / sum_j |a_ij|,
    except ``alpha_raw`` and ``row_sum``. Means are over the rows of the call."""

    #: The mean weight of each key in the rows that see it: (batch, head, key). alpha[..., 0] is alpha_1.
    alpha: Tensor
    #: The same of the weights as they are.
    alpha_raw: Tensor
    #: The largest weight of each key in a row: (batch, head, key).
    largest: Tensor
    #: The mean weight of the key d positions before a query, over the queries that have one: (batch, head, d).
    by_distance: Tensor
    #: How many rows see each key: (batch, key).
    rows: Tensor
    #: Mean of the sum of a row, as it is, without an extra key: (batch, head).
    row_sum: Tensor
    #: Mean entropy of a row, in nats: (batch, head).
    entropy: Tensor
    #: Of an extra key, whose own row has weight 1 on itself: (batch, head); None without one.
    alpha_star: Tensor | None = None

    def sinks(self, epsilon: float = 0.3, least_rows: int = 8) -> list[tuple[int, int]]:
        """(key, number of heads whose alpha is above epsilon), most heads first, of keys that at least so many rows see."""
        counts = ((self.alpha > epsilon) & (self.rows >= least_rows)[:, None]).sum((0, 1))
        order = torch.argsort(counts, descending=True, stable=True)
        return [(key, int(counts[key])) for key in order.tolist() if counts[key] > 0]

    def __repr__(self) -> str:
        batch, heads, keys = self.alpha.shape
        return f"AttentionStatistics({batch} sequences, {heads} heads, {keys} keys, alpha_1 {self.alpha[..., 0].mean():.3f})"

    @staticmethod
    def _of_sums(sums: list[Tensor], queries: int, has_extra_key: bool) -> AttentionStatistics:
        raw, proxy, largest, by_distance, row_sum, extra, entropy, rows = sums
        seen = rows[:, None].clamp(min=1)
        keys = rows.shape[1]
        pairs = torch.arange(keys, 0, -1, dtype=torch.float64, device=raw.device).clamp(max=queries)
        return AttentionStatistics(alpha=proxy / seen, alpha_raw=raw / seen, largest=largest, by_distance=by_distance / pairs,
                                   rows=rows, row_sum=row_sum, entropy=entropy,
                                   alpha_star=(1 + extra) / (queries + 1) if has_extra_key else None)
