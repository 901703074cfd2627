"""The synthetic task of the studies."""

from __future__ import annotations

import numpy as np

from sinklab import _core
from sinklab.arguments import whole


_MOST_TOKENS = 2**28  # of a batch


class BigramBackcopy:
    """The Bigram-Backcopy task (Guo et al. 2024), the smallest known task with attention sinks, as train_<ablation> reads it.

    A sequence begins with token 0. The token after one of the triggers 1, 2 and 3 is a copy of the token before it; every
    other token is drawn from the row of the one before it. Seeds give other rows.

    >>> task = sinklab.BigramBackcopy(context=64)
    >>> model.train_step(*task.batch(step, 16))
    """

    #: Token ids are below this.
    vocabulary = 64

    def __init__(self, context: int = 64, seed: int = 0):
        self._context = whole("context", context, 2, 65536)
        self._core = _core.bigram_backcopy(self._context, whole("seed", seed, 0, 2**64 - 1))
        #: The expected loss in nats of the best predictor.
        self.entropy_floor: float = self._core.entropy_floor

    def batch(self, step: int, sequences: int = 16) -> tuple[np.ndarray, np.ndarray]:
        """The batch of a step, from 0: tokens and targets, int32 (sequences, context). A target of -1 does not count."""
        return self._core.train_batch(whole("step", step, 0, 2**40), self._count(sequences, 65536))

    def validation(self, sequences: int = 100) -> tuple[np.ndarray, np.ndarray]:
        """Tokens and targets that no step has: the first of 100 sequences."""
        return self._core.validation_batch(self._count(sequences, self._core.validation_sequences))

    def _count(self, sequences: int, most: int) -> int:
        return whole("sequences", sequences, 1, min(most, _MOST_TOKENS // self._context))
