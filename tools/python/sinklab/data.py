"""The synthetic task of the studies."""

from __future__ import annotations

import numpy as np

from sinklab import _core
from sinklab._core import Error


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
        if not 2 <= context <= 65536:
            raise Error(f"context must be from 2 to 65536, got {context}")
        if not 0 <= seed < 2**64:
            raise Error(f"seed must be from 0 to 2^64 - 1, got {seed}")
        self._core = _core.bigram_backcopy(context, seed)
        #: The expected loss in nats of the best predictor.
        self.entropy_floor: float = self._core.entropy_floor

    def batch(self, step: int, sequences: int = 16) -> tuple[np.ndarray, np.ndarray]:
        """The batch of a step, from 0: tokens and targets, int32 (sequences, context). A target of -1 does not count."""
        if step < 0:
            raise Error(f"step must be at least 0, got {step}")
        return self._core.train_batch(step, _checked(sequences))

    def validation(self, sequences: int = 100) -> tuple[np.ndarray, np.ndarray]:
        """Tokens and targets that no step has."""
        return self._core.validation_batch(_checked(sequences))


def _checked(sequences: int) -> int:
    if not 1 <= sequences <= 65536:
        raise Error(f"sequences must be from 1 to 65536, got {sequences}")
    return sequences
